"""A Windows machine of the sandbox, booted under Wine from the user-data that the program gave the cloud."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lab import build
from lab.programs import WITHOUT_RUNTIME
from sandbox.boot import windows
from sandbox.boot.machine import Machine
from sandbox.boot.windows import winpwsh
from sandbox.boot.windows.kubelet_links import links
from sandbox.boot.windows.launch import first_name, launch
from sandbox.boot.windows.server import CRI, Failed, Server, no_runtime

WITH, RUNTIME = "winpwsh", "runtime.pid"
"""Files beside the disk: path of winpwsh, and process id of its container runtime."""
PAUSE = 5.0
"""Seconds between two rounds of the task scheduler."""


@dataclass
class WindowsMachine(Machine):
    """One machine with a disk in `folder` and a network namespace `space`."""

    server: Server = field(init=False)
    _off: threading.Event = field(default_factory=threading.Event)
    _life: "threading.Thread | None" = None

    def __post_init__(self) -> None:
        """Create the machine's Server."""
        document = self.network.document(self.record)
        cloud, place = document["facts"]["cloud"], self.network.cloud_state.path
        self.server = Server(
            tool=windows.tool(),
            folder=self.folder,
            space=self.space,
            address=self.network.address(self.record),
            launch=lambda: launch(cloud, place, self.record, self.server.put),
            fresh=first_name(cloud, document["machine"]["name"]),
            resolver=self.network.resolver,
        )

    def boot(self) -> None:
        """Power on, at the first boot with a new disk, and start user-data. Raises RuntimeError if that fails.

        Tasks of the boot, and of boots after restarts, run in a thread.
        """
        self._end()
        try:
            if not (self.folder / WITH).exists():
                self.server.install(self.plan["os"])
                (self.folder / WITH).write_text(self.server.tool)
            self._off.clear()
            with ExitStack() as powered:
                # before the services start: a kubelet without runtime ends, and Wine's service manager misses it
                powered.enter_context(runtime(self.folder, self.space))
                self.server.begin()
                self._life = threading.Thread(target=self._live, args=(powered.pop_all(),), daemon=True)
        except (Failed, subprocess.SubprocessError, OSError) as error:
            self.server.cut()
            raise RuntimeError(f"{self.name} did not boot: {error}\n{self.console()}") from error
        self._life.start()

    def cut(self) -> None:
        """Cut the power; the disk stays."""
        self._off.set()
        if (self.folder / WITH).exists():
            self.server.cut()
        self._end()

    def _end(self) -> None:
        """Wait until the boot before has ended."""
        if self._life:
            self._life.join()
            self._life = None
            self.server.cut()  # the thread may have started a process meanwhile

    def _live(self, powered: ExitStack) -> None:
        """Run tasks while the machine is on; print errors to the supervisor's log."""
        try:
            with powered, links(self.server):
                self.server.go_on(self._off.is_set)
                self._repeat()
        except (Failed, subprocess.SubprocessError, OSError) as error:
            if not self._off.is_set():
                print(f"{self.name}: {error}\n{self.console()}", flush=True)

    def _repeat(self) -> None:
        """Run repeated tasks, and those that were started by name, as the task scheduler does."""
        last = dict.fromkeys(self.server.repeated(), time.monotonic())
        while not self._off.wait(PAUSE):
            for name, (seconds, words) in self.server.repeated().items():
                if time.monotonic() - last.setdefault(name, time.monotonic()) >= seconds:
                    last[name] = time.monotonic()
                    self.server.pwsh(words, int(seconds))
            self.server.run_started(self._off.is_set)

    def run(self, *words: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a Windows program on the machine; it is killed after `seconds`."""
        return self.server.ran(*words, seconds=int(seconds))

    def file(self, path: str) -> Path:
        """Return the path on this host of a Windows path."""
        return self.server.path(path)

    def log(self) -> str:
        """Return the end of the logs of loader and executor."""
        return self.server.log()[-8000:]

    def console(self) -> str:
        """Return the end of the last run's output."""
        return last_output(self.folder)


def last_output(folder: Path) -> str:
    """Return the end of the last run's output, which is stored beside the disk."""
    output = folder / "output"
    return output.read_text(errors="replace")[-4000:] if output.exists() else ""


def is_one(folder: Path) -> bool:
    """Return whether a folder is that of a Windows machine under Wine."""
    return (folder / WITH).exists()


def stop(folder: Path) -> None:
    """Stop a machine whose supervisor was killed."""
    winpwsh.stop((folder / WITH).read_text(), folder)
    end_runtime(folder)


@contextmanager
def runtime(folder: Path, space: str, address: str = CRI) -> Iterator[None]:
    """Run a machine's container runtime; write its process id for `end_runtime`."""
    with no_runtime(build.place(WITHOUT_RUNTIME), space, address) as running:
        (folder / RUNTIME).write_text(str(running.pid))
        yield


def end_runtime(folder: Path) -> None:
    """End a machine's container runtime, if it runs."""
    with suppress(OSError, ValueError):
        pid = int((folder / RUNTIME).read_text())
        # the process id may belong to another process by now
        if os.fsencode(build.place(WITHOUT_RUNTIME)) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            os.kill(pid, signal.SIGKILL)
