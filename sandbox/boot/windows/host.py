"""A Windows machine of a world, booted on a real Windows Server from the user-data that the program gave the cloud.

Windows does there what it does: its own modules, tasks and restarts. Only what a cloud has around it is made from
outside: its disk, power and cable, its address, and what starts user-data. Scripts go to PowerShell's standard input.
"""

import base64
import json
import shlex
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from sandbox.boot.machine import Machine
from sandbox.boot.windows import cable
from sandbox.boot.windows.hosts import Host, taken
from sandbox.boot.windows.launch import launch, quoted
from sandbox.boot.windows.machine import end_runtime, last_output, runtime
from sandbox.boot.windows.server import CRI, Failed
from sandbox.boot.windows.winpwsh import MODULES

ON = "host.json"
"""File beside what the machine left here: the host that has its disk, and the namespace of its cable."""
STDIN = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", "-")
SANDBOX = r"C:\Program Files\sandbox"
"""Where host.ps1 keeps what starts user-data."""
SCRIPT = Path(__file__).with_name("host.ps1")
BOOT = MODULES / "boot" / "boot.psm1"
WHOLE = """$global:ErrorActionPreference, $global:ProgressPreference = 'Stop', 'SilentlyContinue'
try {{ [Console]::OutputEncoding = [Text.Encoding]::UTF8 }} catch {{ }}
{functions}
try {{ {call} }} catch {{ [Console]::Error.WriteLine("$_ $($_.ScriptStackTrace)"); exit 1 }}
exit 0
"""
"""Preferences are global: functions of modules, as New-NetIPAddress, see no others."""
LINE = "& ([ScriptBlock]::Create([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('{}'))))\n"
"""PowerShell reads its standard input line by line: one line has all, whatever code page it takes it for."""
BOOT_SECONDS, ANSWER_SECONDS, CALL_SECONDS, PAUSE = 900, 30, 300, 2.0
"""For Windows to answer after its power came; of one question meanwhile; of any other call; between two questions."""
TROUBLE = (Failed, OSError, RuntimeError, ValueError, subprocess.SubprocessError)


@dataclass
class WindowsHost(Machine):
    """One machine, on a host of its own."""

    host: Host = field(kw_only=True)
    _off: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _powered: ExitStack = field(default_factory=ExitStack)
    """What ends when its power goes."""

    def boot(self) -> None:
        """Power on, the first time with a new disk: user-data was started when this returns. RuntimeError says why not.

        A machine that does not come up is off again.
        """
        with self._turn:
            self._off.clear()
            self._powered.close()
            try:
                self._power_on()
            except TROUBLE as error:
                with suppress(*TROUBLE):
                    self._powered.close()
                raise RuntimeError(f"{self.name} did not boot: {_reason(error)}\n{self.console()}".strip()) from error

    def _power_on(self) -> None:
        self._powered.enter_context(taken(self.host))
        if not (self.folder / ON).exists():
            _command(self.host.new)
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / ON).write_text(json.dumps({"host": self.host.model_dump(), "space": self.space}))
        _command(self.host.start)
        self._powered.callback(_command, self.host.stop)
        self._answers()
        told = self.network.document(self.record)
        pods = told["machine"].get("pod_cidr", "")
        self._powered.callback(cable.unplug, self.host.link, self.space)
        cable.plug(self.host.link, self.space, self._address, self.network.gateway, pods)
        answers = f"{cable.RUNTIME}:{CRI.split(':')[1]}"
        self._powered.enter_context(runtime(self.folder, self.space, answers))
        bits = IPv4Network(self.network.range).prefixlen
        calls = [
            f"Set-Card {quoted(self.host.card)} {self._address} {bits} {self.network.gateway} {self.network.resolver}",
            f"Set-Runtime {CRI} {answers}",
        ]

        def put(path: str, content: bytes) -> None:
            calls.append(f"Add-File {quoted(path)} {base64.b64encode(content).decode()}")

        put(rf"{SANDBOX}\modules\boot\boot.psm1", BOOT.read_bytes())
        start = launch(told["facts"]["cloud"], self.network.cloud_state.path, self.record, put)
        self._ask("; ".join([*calls, f"Register-Launch {quoted(start)}"]))

    def _answers(self) -> None:
        """Wait until PowerShell answers; Failed where that is not so in time, or not Windows'."""
        end, said = time.monotonic() + BOOT_SECONDS, "nothing"
        while not self._off.is_set():
            with suppress(subprocess.TimeoutExpired):
                ran = self._powershell("'runs on ' + [Environment]::OSVersion.Platform", ANSWER_SECONDS)
                said = f"{ran.returncode}, {(ran.stdout + ran.stderr).strip()[-2000:]}"
                if "runs on Win32NT" in ran.stdout:
                    return
                if "runs on" in ran.stdout:
                    raise Failed(
                        f"{shlex.join(self.host.powershell)} is no PowerShell of Windows; it ended with {said}"
                    )
            if time.monotonic() > end:
                words = shlex.join(self.host.powershell)
                raise Failed(f"PowerShell did not answer within {BOOT_SECONDS} s; {words} ended with {said}")
            self._off.wait(PAUSE)
        raise Failed("its power was cut meanwhile")

    @property
    def _address(self) -> str:
        return self.network.address(self.record)

    def _powershell(self, call: str, seconds: float) -> "subprocess.CompletedProcess[str]":
        """A run of PowerShell there; what it said is kept here."""
        whole = WHOLE.format(functions=SCRIPT.read_text(), call=call)
        ran = subprocess.run(
            [*self.host.powershell, *STDIN],
            input=LINE.format(base64.b64encode(whole.encode()).decode()),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=seconds,
        )
        (self.folder / "output").write_text(ran.stdout + ran.stderr)
        return ran

    def _ask(self, call: str, seconds: float = CALL_SECONDS) -> str:
        """What a call says; Failed where it fails."""
        ran = self._powershell(call, seconds)
        if ran.returncode:
            raise Failed(f"PowerShell ended with {ran.returncode} ({call[:60]}...): {ran.stderr.strip()[-2000:]}")
        return ran.stdout

    def cut(self) -> None:
        """The power goes; the disk stays. RuntimeError where the host does not do so."""
        self._off.set()
        with self._turn:
            try:
                self._powered.close()
            except TROUBLE as error:
                raise RuntimeError(f"{self.name} may not be off: {_reason(error)}") from error

    def user_data(self) -> bytes:
        """What the metadata service gives to the machine, asked there."""

        def ask(method: str, path: str, headers: dict[str, str]) -> bytes:
            sent = "; ".join(f"{quoted(name)} = {quoted(value)}" for name, value in headers.items())
            return base64.b64decode(self._ask(f"Get-Metadata {quoted(path)} {method} @{{ {sent} }}"))

        return self.network.cloud_services.user_data(self.record, ask)

    def run(self, *words: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
        """A Windows program on it, ended after its time with code 124."""
        arguments = quoted(subprocess.list2cmdline(words[1:]))
        return self._powershell(f"Invoke-Program {quoted(words[0])} {arguments} {int(seconds)}", seconds + 60)

    def file(self, path: str) -> Path:
        """Its disk is another host's: RuntimeError."""
        raise RuntimeError(f"{self.name} is a Windows Server of its own: no file of it, as {path}, is on this host")

    def read(self, path: str) -> bytes:
        """What is in a file of the machine."""
        return base64.b64decode(self._ask(f"Get-File {quoted(path)}"))

    def log(self) -> str:
        """The end of what loader and executor wrote."""
        return self._ask("Get-Log")[-8000:]

    def console(self) -> str:
        """The end of what its last run said."""
        return last_output(self.folder)


def _command(words: tuple[str, ...]) -> None:
    """A command of the hosts' file; Failed where it fails."""
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=CALL_SECONDS, errors="replace")
    if ran.returncode:
        raise Failed(f"{shlex.join(words)} ended with {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-2000:]}")


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    return f"{error} {said}".strip() if isinstance(said, str) else str(error)


def is_one(folder: Path) -> bool:
    """Whether a folder is that of a machine on a host of its own."""
    return (folder / ON).exists()


def stop(folder: Path) -> None:
    """End what a machine left whose keeper was killed; it may be off."""
    found = json.loads((folder / ON).read_text())
    host = Host.model_validate(found["host"])
    cable.unplug(host.link, found["space"])
    end_runtime(folder)
    with suppress(*TROUBLE):
        _command(host.stop)
