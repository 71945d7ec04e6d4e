"""A Windows server in a network: what it does at a boot, and what Wine lacks and is done from outside."""

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from sandbox.boot import network_namespaces
from sandbox.boot.windows import registry
from sandbox.boot.windows.losses import reboot
from sandbox.boot.windows.winpwsh import BOOKS, WINE_CRASHED, Machine, inside, new_machine

FRESH = "ec2amaz-1"
"""The name that Windows gives itself on EC2 before anyone names it."""
CRI = "127.0.0.1:10233"
"""Where lab.yaml lets kubelets find a container runtime: named pipes do not work between Go programs under Wine."""
PKI, CURRENT = r"C:\var\lib\kubelet\pki", "kubelet-client-current.pem"
RESTARTS, RUNTIME_SECONDS = 5, 30
PATIENCE = 600
"""Seconds after which a run is taken for one that hangs."""
WMIC = "@echo off\r\necho UUID\r\necho 4C4C4544-0000-1000-8000-000000000000\r\n"
"""Old kubelets ask `wmic csproduct get UUID` and end where that fails, as Wine's own does (pkg/kubelet/winstats)."""
_SCRIPT = re.compile(r'-NoProfile -NonInteractive -ExecutionPolicy Bypass -(?:File "([^"]+)"|Command "(.*)")')
_MINUTES = re.compile(r"PT(\d+)M")


class Failed(Exception):
    """A machine did not do at its boot what Windows does; the text says what it did instead."""


@dataclass(kw_only=True)
class Server(Machine):
    """One machine; `tool` and `folder` as elsewhere, and where it stands."""

    space: str
    """Its network namespace."""
    address: str
    launch: Callable[[], str]
    """Gives the command that starts user-data at this boot; nothing where it does not at this one."""
    fresh: str = FRESH
    """Its name before anyone named it."""
    hosts: Callable[[], str] = str
    """Lines of /etc/hosts besides its own and localhost's."""
    resolver: str = ""
    """Address of the name server; empty where hosts has every name."""
    linked: list[str] = field(default_factory=list[str])
    """Certificates of the kubelet that were linked, in order."""
    _started: set[str] = field(default_factory=set[str])
    _restarts: int = 0
    """How often it had asked for a restart when this boot began."""
    _written: "IO[str] | None" = None

    def install(self, os: str) -> None:
        """Give it a new disk with this operating system. os: as in a spec."""
        new_machine(self.tool, self.folder)
        registry.install(self.folder, os)
        self.path(r"C:\windows\system32\wmic.bat").write_text(WMIC)

    def start(self, command: str, seconds: int = PATIENCE) -> "subprocess.Popen[str]":
        """A run of PowerShell in the machine's network, with its name and its /etc, which Wine reads."""
        etc = self.folder / "etc"
        etc.mkdir(exist_ok=True)
        # its own name too: a name server that nobody reaches makes each start of Wine wait for it
        own = f"127.0.0.1 localhost\n{self.address} {self.name}\n"
        (etc / "hosts").write_text(own + self.hosts())
        if self.resolver:
            (etc / "resolv.conf").write_text(f"nameserver {self.resolver}\n")
        self.entry = inside(self.space, self.name, etc)
        return super().start(f"Import-Module boot -DisableNameChecking; {command}", seconds)

    def output(self) -> IO[str] | int:
        """A file: services that a run starts keep a pipe open for as long as they live."""
        self._close()
        self._written = (self.folder / "output").open("w")
        return self._written

    def _close(self) -> None:
        if self._written:
            self._written.close()

    def pwsh(self, command: str, seconds: int = 90, *, again: bool = True) -> tuple[int, str]:
        """Exit code and output of a run."""
        run = self.start(command, seconds)
        run.wait(seconds + 20)
        if run.returncode == WINE_CRASHED and again:
            return self.pwsh(command, seconds, again=False)
        return run.returncode, (self.folder / "output").read_text(errors="replace")

    def ran(self, *words: str, seconds: int = 60) -> "subprocess.CompletedProcess[str]":
        """A run of a Windows program where the machine's other programs run."""
        return subprocess.run(
            [*self.entry, self.tool, "run", str(self.folder), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + 20,
            check=False,
            env={**os.environ, "WINPWSH_TIMEOUT": str(seconds)},
        )

    def run(self, *words: str, seconds: int = 60) -> str:
        """What a Windows program says."""
        ran = self.ran(*words, seconds=seconds)
        return ran.stdout + ran.stderr

    @property
    def name(self) -> str:
        """The name of this boot: what was asked for before it."""
        asked = self.path(rf"{BOOKS}\name.txt")
        return asked.read_text() if asked.exists() else self.fresh

    def put(self, path: str, content: bytes) -> None:
        """Put a file on the disk where there is none."""
        file = self.path(path)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def power_on(self) -> None:
        """Boot, as often as the machine restarts itself, until nothing that was started runs any more."""
        self.begin()
        self.go_on()

    def begin(self) -> None:
        """Up to where the task scheduler starts tasks: the kernel, then what starts user-data."""
        seen, self._restarts = len(self.asked()), self.restarts()
        words = self.launch()
        code, said = self.pwsh(f"Start-Windows; {words}", 240)
        if code:
            raise Failed(f"user-data ({words}) ended with {code}: {said}")
        self._started = {
            one["asked"]["TaskName"] for one in self.asked()[seen:] if one["name"] == "Start-ScheduledTask"
        }

    def go_on(self, is_off: Callable[[], bool] = bool) -> None:
        """Run what starts at a boot that has begun, and at those after its restarts, unless the power went."""
        for _ in range(RESTARTS):
            for run in self.tasks():
                run.wait(PATIENCE + 60)
                if self.restarts() > self._restarts:
                    break
            if is_off() or self.restarts() == self._restarts:
                return
            self.cut()
            self.begin()
        raise Failed(f"it restarts for ever: {self.asked()}")

    def tasks(self) -> "Iterator[subprocess.Popen[str]]":
        """Run what is registered to start at boot, or was started by name; never the same task twice in a boot."""
        registered = self.kept("tasks")
        if unknown := self._started - set(registered):
            raise Failed(f"tasks were started that nobody registered: {unknown}")
        for name, task in registered.items():
            if task["trigger"]["AtStartup"] or name in self._started:
                yield self._again(command(name, task))

    def repeated(self) -> dict[str, tuple[float, str]]:
        """Tasks that come again and again: seconds between two runs, and the command, by name."""
        found: dict[str, tuple[float, str]] = {}
        for name, task in self.kept("tasks").items():
            interval = _MINUTES.fullmatch(str((task["trigger"].get("Repetition") or {}).get("Interval")))
            if interval:
                found[name] = (60.0 * int(interval[1]), command(name, task))
        return found

    def _again(self, command: str) -> "subprocess.Popen[str]":
        """A run; once more where Wine itself crashed."""
        run = self.start(command)
        return self.start(command) if run.poll() == WINE_CRASHED else run

    def cut(self) -> None:
        """The power goes, and with it what Windows keeps in memory alone."""
        super().cut()
        self._close()
        reboot(self.path(BOOKS))

    def restarts(self) -> int:
        """How often the machine asked for a restart."""
        return sum(one["name"] == "Restart-Computer" for one in self.asked())

    def log(self) -> str:
        """What the loader and the executor wrote."""
        folder = self.path(r"C:\ProgramData\mullion")
        return "\n".join(file.read_text(errors="replace") for file in sorted(folder.glob("*.log")))

    @contextmanager
    def links(self) -> Iterator[None]:
        """Meanwhile link the kubelet's certificate once it has one, and start the kubelet anew.

        The kubelet writes kubelet-client-<time>.pem, then fails to link it (symlinks are not in Wine 8), and would ask
        for another certificate again and again. Real Windows lets SYSTEM make links.
        """
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.3):
                self._link(done)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _link(self, done: threading.Event) -> None:
        folder = self.path(PKI)
        current = folder / CURRENT
        written = sorted(each for each in folder.glob("kubelet-client-*.pem") if each.name != CURRENT)
        if not written or current.exists():
            return
        while b"PRIVATE KEY" not in written[0].read_bytes():
            if done.wait(0.05):
                return
        self.run("sc.exe", "stop", "kubelet")
        current.symlink_to(written[0].name)
        self.linked.append(written[0].name)
        for _ in range(20):  # a service that stops cannot be started yet
            self.run("sc.exe", "start", "kubelet")
            if "RUNNING" in self.run("sc.exe", "query", "kubelet") or done.is_set():
                return
            time.sleep(0.5)


def command(name: str, task: dict[str, Any]) -> str:
    """What a registered task runs, for PowerShell; Failed where it is not one that SYSTEM runs with PowerShell."""
    action, principal = task["action"], task["principal"]
    words = _SCRIPT.fullmatch(action["Argument"])
    if principal["UserId"] != "SYSTEM" or not action["Execute"].endswith("powershell.exe") or not words:
        raise Failed(f"task {name} is not PowerShell's, run by SYSTEM: {action}, {principal}")
    return f"& '{words[1]}'" if words[1] else words[2]


@contextmanager
def no_runtime(program: Path, space: str, address: str = CRI) -> Iterator["subprocess.Popen[bytes]"]:
    """A container runtime that is never ready, on the machine's loopback; it answers when this begins."""
    words = ["nsenter", f"--net=/run/netns/{space}", str(program), address]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        network_namespaces.within(space, partial(_answers, address))
        yield running
    finally:
        running.terminate()
        running.wait(30)


def _answers(address: str) -> None:
    """Wait until somebody takes calls where the runtime is to be; Failed where nobody does."""
    host, port = address.split(":")
    end = time.monotonic() + RUNTIME_SECONDS
    while True:
        try:
            return socket.create_connection((host, int(port)), 1).close()
        except OSError as error:
            if time.monotonic() > end:
                raise Failed(f"no container runtime answers at {address}: {error}") from error
        time.sleep(0.02)
