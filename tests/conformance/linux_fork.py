"""Starts Python programs in machines as forks of one process that has already imported their modules.

    python linux_fork.py    each line of standard input is a request: {pid, argv, out, fifo, environment}

For each request a fork enters the mount namespace and the root of process `pid`, and runs the script argv[0] with
output to `out`. The fifo receives the process id of the fork, then its exit code (negative: the signal).
"""

import ctypes
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path

MODULES = (
    "argparse concurrent.futures email.utils fcntl http.client ipaddress pwd ssl tarfile urllib.request uuid zipfile"
)
CLONE_NEWNS = 0x00020000


def enter(pid: int) -> None:
    """Move this process into the namespaces of another process."""
    with Path(f"/proc/{pid}/ns/mnt").open() as space:
        root = os.open(f"/proc/{pid}/root", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), f"no way into the mount namespace of {pid}")
    os.fchdir(root)
    os.chroot(".")


def run(request: dict) -> None:
    """In a fork: start another fork, which runs the script, and wait for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out = os.open(request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with Path(request["fifo"]).open("w") as fifo:
        child = os.fork()
        if child:
            print(child, file=fifo, flush=True)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=fifo, flush=True)
            return
    os.dup2(out, 1)
    os.dup2(out, 2)
    enter(request["pid"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["argv"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


def serve() -> None:
    """Serve requests until the standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps watchers, for which no process waits
    for each in MODULES.split():
        importlib.import_module(each)
    for line in sys.stdin:
        if os.fork() == 0:
            code = 1
            try:
                run(json.loads(line))
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException as error:
                traceback.print_exception(error)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


@cache
def server() -> "subprocess.Popen[str]":
    """Return the process that forks; it ends with this process."""
    words = [str(Path(sys.executable).resolve()), "-I", "-S", "-B", __file__]
    return subprocess.Popen(words, stdin=subprocess.PIPE, text=True)


def stop() -> None:
    """End the process now."""
    if server.cache_info().currsize:
        server().communicate()
        server.cache_clear()


class Fork:
    """A program in a machine, with the methods of subprocess.Popen that the runner needs."""

    returncode: int

    def __init__(self, pid: int, argv: list[str], environment: dict[str, str], folder: Path) -> None:
        """folder: empty, for this program only."""
        folder.mkdir()
        self.out = folder / "out"
        os.mkfifo(folder / "fifo")
        self.fifo = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        request = {"pid": pid, "argv": argv, "out": str(self.out), "fifo": str(folder / "fifo")}
        stdin = server().stdin
        assert stdin
        stdin.write(json.dumps(request | {"environment": environment}) + "\n")
        stdin.flush()
        self.said = b""
        self.pid = int(self.line(1, 30))

    def line(self, number: int, seconds: float) -> bytes:
        """Return line `number` of the fifo. Raises TimeoutExpired if it does not come."""
        end = time.monotonic() + seconds
        while self.said.count(b"\n") < number:
            if not select.select([self.fifo], [], [], max(0, end - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired("a run", seconds)
            block = os.read(self.fifo, 100)
            self.said += block
            if not block:
                time.sleep(0.005)  # the other side has not opened it yet
        return self.said.splitlines()[number - 1]

    def communicate(self, timeout: float) -> tuple[str, None]:
        """Return its output after its end."""
        self.returncode = int(self.line(2, timeout))
        os.close(self.fifo)
        return self.out.read_text(errors="replace"), None

    def kill(self) -> None:
        """Kill the program unless it has ended."""
        if self.said.count(b"\n") < 2:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until the program has ended; another thread may be reading its output."""
        while Path(f"/proc/{self.pid}").exists():
            time.sleep(0.005)


if __name__ == "__main__":
    serve()
