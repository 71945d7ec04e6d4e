"""A Windows machine of a world, booted for real from the user-data that the program gave the cloud."""

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
from sandbox.boot.windows.launch import first_name, launch
from sandbox.boot.windows.server import CRI, Failed, Server, no_runtime

WITH, RUNTIME = "winpwsh", "runtime.pid"
"""Files beside the disk: the tool that runs it, and the process that answers as its container runtime."""
PAUSE = 5.0
"""Seconds between two looks of the task scheduler."""


@dataclass
class WindowsMachine(Machine):
    """One machine: its disk is below the folder, its network is its own."""

    server: Server = field(init=False)
    _off: threading.Event = field(default_factory=threading.Event)
    _life: "threading.Thread | None" = None

    def __post_init__(self) -> None:
        """Know where it stands."""
        told = self.network.document(self.record)
        cloud, place = told["facts"]["cloud"], self.network.cloud_state.path
        self.server = Server(
            tool=windows.tool(),
            folder=self.folder,
            space=self.space,
            address=self.network.address(self.record),
            launch=lambda: launch(cloud, place, self.record, self.server.put),
            fresh=first_name(cloud, told["machine"]["name"]),
            resolver=self.network.resolver,
        )

    def boot(self) -> None:
        """Power on, the first time with a new disk: user-data was started when this returns. RuntimeError says why not.

        What is registered to run at a boot, also after the restarts that it asks for, goes on in a thread.
        """
        self._end()
        try:
            if not (self.folder / WITH).exists():
                self.server.install(self.plan["os"])
                (self.folder / WITH).write_text(self.server.tool)
            self._off.clear()
            with ExitStack() as powered:
                # before Windows starts its services: a kubelet without it ends, which Wine's service manager never sees
                powered.enter_context(runtime(self.folder, self.space))
                self.server.begin()
                self._life = threading.Thread(target=self._live, args=(powered.pop_all(),), daemon=True)
        except (Failed, subprocess.SubprocessError, OSError) as error:
            raise RuntimeError(f"{self.name} did not boot: {error}\n{self.console()}") from error
        self._life.start()

    def cut(self) -> None:
        """The power goes; the disk stays."""
        self._off.set()
        if (self.folder / WITH).exists():
            self.server.cut()
        self._end()

    def _end(self) -> None:
        """Until nothing of the boot before is left."""
        if self._life:
            self._life.join()
            self._life = None
            self.server.cut()  # it may have been about to start something

    def _live(self, powered: ExitStack) -> None:
        """What goes on by itself while it is on; its trouble stands in the keeper's log."""
        try:
            with powered, self.server.links():
                self.server.go_on(self._off.is_set)
                self._repeat()
        except (Failed, subprocess.SubprocessError, OSError) as error:
            if not self._off.is_set():
                print(f"{self.name}: {error}\n{self.console()}", flush=True)

    def _repeat(self) -> None:
        """What the task scheduler starts again and again."""
        last = dict.fromkeys(self.server.repeated(), time.monotonic())
        while not self._off.wait(PAUSE):
            for name, (seconds, words) in self.server.repeated().items():
                if time.monotonic() - last.setdefault(name, time.monotonic()) >= seconds:
                    last[name] = time.monotonic()
                    self.server.pwsh(words, int(seconds))

    def run(self, *words: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
        """A Windows program on it, ended after its time."""
        return self.server.ran(*words, seconds=int(seconds))

    def file(self, path: str) -> Path:
        """A file on its disk, as this host sees it. path: as Windows has it."""
        return self.server.path(path)

    def log(self) -> str:
        """The end of what loader and executor wrote."""
        return self.server.log()[-8000:]

    def console(self) -> str:
        """The end of what its last run said."""
        return last_output(self.folder)


def last_output(folder: Path) -> str:
    """The end of what the last run on a machine said, which is kept beside its disk."""
    output = folder / "output"
    return output.read_text(errors="replace")[-4000:] if output.exists() else ""


def is_one(folder: Path) -> bool:
    """Whether the disk in a folder is a Windows machine's."""
    return (folder / WITH).exists()


def stop(folder: Path) -> None:
    """End what a machine left whose keeper was killed."""
    winpwsh.stop((folder / WITH).read_text(), folder)
    end_runtime(folder)


@contextmanager
def runtime(folder: Path, space: str, address: str = CRI) -> Iterator[None]:
    """What answers as a machine's container runtime; its process is noted for `end_runtime`."""
    with no_runtime(build.place(WITHOUT_RUNTIME), space, address) as running:
        (folder / RUNTIME).write_text(str(running.pid))
        yield


def end_runtime(folder: Path) -> None:
    """End what answers as a machine's container runtime, if it lives."""
    with suppress(OSError, ValueError):
        pid = int((folder / RUNTIME).read_text())
        # the number may have become another's
        if os.fsencode(build.place(WITHOUT_RUNTIME)) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            os.kill(pid, signal.SIGKILL)
