"""A Windows machine under Wine in a network namespace: its boots, and the parts of Windows that Wine lacks."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from lab.hns.service import BUILDS, Service
from sandbox.boot import network_namespaces
from sandbox.boot.windows import registry
from sandbox.boot.windows.losses import reboot
from sandbox.boot.windows.winpwsh import BOOKS, WINE_CRASHED, Machine, inside, networking, new_machine

FRESH = "ec2amaz-1"
"""Default computer name on EC2."""
CRI = "127.0.0.1:10233"
"""Address of the container runtime in lab.yaml: named pipes do not work between Go programs under Wine."""
PKI, CURRENT = r"C:\var\lib\kubelet\pki", "kubelet-client-current.pem"
RELEASE = "release"
"""File beside the disk: its operating system (a name of the spec)."""
RESTARTS, RUNTIME_SECONDS = 5, 30
"""Most restarts of one boot; seconds until the container runtime answers."""
RUN_SECONDS = 600
"""Longest run of PowerShell."""
WMIC = "@echo off\r\necho UUID\r\necho 4C4C4544-0000-1000-8000-000000000000\r\n"
"""Older kubelets end if `wmic csproduct get UUID` fails, as it does under Wine (pkg/kubelet/winstats)."""
_SCRIPT = re.compile(r'-NoProfile -NonInteractive -ExecutionPolicy Bypass -(?:File "([^"]+)"|Command "(.*)")')
_MINUTES = re.compile(r"PT(\d+)M")


class Failed(Exception):
    """A boot that did not go as on Windows; the text says what happened."""


@dataclass(kw_only=True)
class Server(Machine):
    """One machine in a network namespace."""

    space: str
    """Its network namespace."""
    address: str
    launch: Callable[[], str]
    """Returns the command that starts user-data at this boot; empty if this boot starts none."""
    fresh: str = FRESH
    """Computer name of a new machine."""
    hosts: Callable[[], str] = str
    """Returns lines of /etc/hosts besides the machine's name and localhost."""
    resolver: str = ""
    """Address of the name server; empty if `hosts` has all names."""
    _started: set[str] = field(default_factory=set[str])
    _calls: int = 0
    """Calls of stand-ins whose tasks have been started."""
    _restarts: int = 0
    """Restarts requested before this boot."""
    _written: "IO[str] | None" = None
    _networking: ExitStack = field(default_factory=ExitStack)

    def install(self, os: str) -> None:
        """Create a disk with this operating system (a name of the spec)."""
        new_machine(self.tool, self.folder)
        registry.install(self.folder, os)
        (self.folder / RELEASE).write_text(os)
        self.path(r"C:\windows\system32\wmic.bat").write_text(WMIC)

    def start(self, command: str, seconds: int = RUN_SECONDS, output: IO[str] | None = None) -> "subprocess.Popen[str]":
        """Start PowerShell in the machine's namespace."""
        self._place()
        return super().start(f"Import-Module boot -DisableNameChecking; {command}", seconds, output)

    def _place(self) -> None:
        """Give the machine its namespace, with its name and its /etc, which Wine reads, and HNS."""
        etc = self.folder / "etc"
        etc.mkdir(exist_ok=True)
        # with its own name: each start of Wine looks it up, and would wait for an unreachable name server
        own = f"127.0.0.1 localhost\n{self.address} {self.name}\n"
        (etc / "hosts").write_text(own + self.hosts())
        if self.resolver:
            (etc / "resolv.conf").write_text(f"nameserver {self.resolver}\n")
        self.entry = inside(self.space, self.name, etc)
        if self.hns is None:
            self._serve_hns()

    def stay_on(self) -> None:
        """Keep the machine on between runs, until `cut`: Wine ends services when no other process runs."""
        self._place()
        super().stay_on()

    def _serve_hns(self) -> None:
        """Serve HNS until the power is cut; the disk has what an earlier boot left."""
        os = (self.folder / RELEASE).read_text()
        service = Service(BUILDS[os], {"Ethernet": self.address})
        self._networking.enter_context(networking(self, service, self.space))
        service.reboot()

    def output(self) -> IO[str] | int:
        """Return a file for the output: services that a run starts would keep a pipe open."""
        self._close()
        self._written = (self.folder / "output").open("w")
        return self._written

    def _close(self) -> None:
        if self._written:
            self._written.close()

    def pwsh(self, command: str, seconds: int = 90, *, again: bool = True) -> tuple[int, str]:
        """Run a command; return exit code and output."""
        run = self.start(command, seconds)
        run.wait(seconds + 20)
        if run.returncode == WINE_CRASHED and again:
            return self.pwsh(command, seconds, again=False)
        return run.returncode, (self.folder / "output").read_text(errors="replace")

    def ran(self, *words: str, seconds: int = 60) -> "subprocess.CompletedProcess[str]":
        """Run a Windows program on the machine; return the completed process."""
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
        """Run a Windows program; return its output and errors."""
        ran = self.ran(*words, seconds=seconds)
        return ran.stdout + ran.stderr

    @property
    def name(self) -> str:
        """Return the computer name of this boot: the name that was set before it."""
        file = self.path(rf"{BOOKS}\name.txt")
        return file.read_text() if file.exists() else self.fresh

    def put(self, path: str, content: bytes) -> None:
        """Write a file to the disk unless it exists."""
        file = self.path(path)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def power_on(self) -> None:
        """Boot, follow the machine's restarts, and return when no started task runs."""
        self.begin()
        self.go_on()

    def begin(self) -> None:
        """Boot up to the start of tasks: the kernel, then user-data. Raises Failed if user-data fails."""
        before, self._restarts = len(self.asked()), self.restarts()
        self.stay_on()
        start = self.launch()
        code, output = self.pwsh(f"Start-Windows; {start}", 240)
        if code:
            raise Failed(f"user-data ({start}) ended with {code}: {output}")
        self._started = self._asked_for(before)

    def _asked_for(self, since: int) -> set[str]:
        """Return the tasks that were started by name since a number of calls."""
        calls = self.asked()
        self._calls = len(calls)
        return {call["asked"]["TaskName"] for call in calls[since:] if call["name"] == "Start-ScheduledTask"}

    def go_on(self, is_off: Callable[[], bool] = bool) -> None:
        """Run the tasks of a boot that has begun, and of boots after restarts, until the power is cut."""
        self._run(self.tasks(), is_off)

    def run_started(self, is_off: Callable[[], bool]) -> None:
        """Run tasks that were started by name since the last call, as the task scheduler does."""
        registered = self.kept("tasks")
        names = self._asked_for(self._calls) & registered.keys()
        self._run((self._start_again(command(name, registered[name])) for name in sorted(names)), is_off)

    def _run(self, runs: "Iterator[subprocess.Popen[str]]", is_off: Callable[[], bool]) -> None:
        """Wait for runs, and boot as often as the machine requests it."""
        for _ in range(RESTARTS):
            for run in runs:
                run.wait(RUN_SECONDS + 60)
                if self.restarts() > self._restarts:
                    break
            if is_off() or self.restarts() == self._restarts:
                return
            self.cut()
            self.begin()
            runs = self.tasks()
        raise Failed(f"it restarted {RESTARTS} times: {self.asked()}")

    def tasks(self) -> "Iterator[subprocess.Popen[str]]":
        """Run tasks that start at boot or were started by name, each once a boot. Raises Failed for unknown tasks."""
        registered = self.kept("tasks")
        if unknown := self._started - set(registered):
            raise Failed(f"tasks were started that are not registered: {unknown}")
        for name, task in registered.items():
            if task["trigger"]["AtStartup"] or name in self._started:
                yield self._start_again(command(name, task))

    def repeated(self) -> dict[str, tuple[float, str]]:
        """Return tasks with a repetition by name: seconds between runs, and the command."""
        repeated: dict[str, tuple[float, str]] = {}
        for name, task in self.kept("tasks").items():
            interval = _MINUTES.fullmatch(str((task["trigger"].get("Repetition") or {}).get("Interval")))
            if interval:
                repeated[name] = (60.0 * int(interval[1]), command(name, task))
        return repeated

    def _start_again(self, command: str) -> "subprocess.Popen[str]":
        """Start a run, once more if Wine crashed."""
        run = self.start(command)
        return self.start(command) if run.poll() == WINE_CRASHED else run

    def cut(self) -> None:
        """Cut the power; state that Windows keeps in memory is lost."""
        super().cut()
        self._close()
        reboot(self.path(BOOKS))
        self._networking.close()
        self.hns = None

    def restarts(self) -> int:
        """Return the number of restarts that the machine requested."""
        return sum(call["name"] == "shutdown.exe" for call in self.asked())

    def log(self) -> str:
        """Return the logs of loader and executor."""
        folder = self.path(r"C:\ProgramData\mullion")
        return "\n".join(file.read_text(errors="replace") for file in sorted(folder.glob("*.log")))


def command(name: str, task: dict[str, Any]) -> str:
    """Return a registered task's PowerShell command. Raises Failed unless SYSTEM runs it with PowerShell."""
    action, principal = task["action"], task["principal"]
    script = _SCRIPT.fullmatch(action["Argument"])
    if principal["UserId"] != "SYSTEM" or not action["Execute"].endswith("powershell.exe") or not script:
        raise Failed(f"task {name} does not run PowerShell as SYSTEM: {action}, {principal}")
    return f"& '{script[1]}'" if script[1] else script[2]


@contextmanager
def no_runtime(program: Path, space: str, address: str = CRI) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a container runtime that is never ready on the machine's loopback; it answers when the context begins."""
    words = ["nsenter", f"--net=/run/netns/{space}", str(program), address]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        network_namespaces.within(space, partial(_answers, address))
        yield running
    finally:
        running.terminate()
        running.wait(30)


def _answers(address: str) -> None:
    """Wait until the address accepts connections. Raises Failed after RUNTIME_SECONDS."""
    host, port = address.split(":")
    end = time.monotonic() + RUNTIME_SECONDS
    while True:
        try:
            return socket.create_connection((host, int(port)), 1).close()
        except OSError as error:
            if time.monotonic() > end:
                raise Failed(f"no container runtime answers at {address}: {error}") from error
        time.sleep(0.02)
