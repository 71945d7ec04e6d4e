"""A Windows machine of the sandbox, booted on a real Windows Server from the user-data that the program gave the cloud.

Modules, tasks and restarts are those of Windows. The sandbox provides what a cloud provides: disk, power, cable,
address, and the start of user-data. Scripts go to PowerShell's standard input.
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
"""File in the machine's folder: the host with its disk, and the namespace of its cable."""
STDIN = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", "-")
SANDBOX = r"C:\Program Files\sandbox"
"""Folder of the script that starts user-data (host.ps1)."""
SCRIPT = Path(__file__).with_name("host.ps1")
BOOT = MODULES / "boot" / "boot.psm1"
WHOLE = """$global:ErrorActionPreference, $global:ProgressPreference = 'Stop', 'SilentlyContinue'
try {{ [Console]::OutputEncoding = [Text.Encoding]::UTF8 }} catch {{ }}
{functions}
try {{ {call} }} catch {{ [Console]::Error.WriteLine("$_ $($_.ScriptStackTrace)"); exit 1 }}
exit 0
"""
"""Preferences are global, because functions of modules (New-NetIPAddress) see no others."""
LINE = "& ([ScriptBlock]::Create([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('{}'))))\n"
"""PowerShell reads standard input line by line: one line of ASCII holds the script, for any code page."""
BOOT_SECONDS, ANSWER_SECONDS, CALL_SECONDS, PAUSE = 900, 30, 300, 2.0
"""Seconds: until Windows answers after power-on; of one such question; of any other call; between two questions."""
BOOT_ERRORS = (Failed, OSError, RuntimeError, ValueError, subprocess.SubprocessError)


@dataclass
class WindowsHost(Machine):
    """One machine on a Windows Server."""

    host: Host = field(kw_only=True)
    _off: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _powered: ExitStack = field(default_factory=ExitStack)
    """Ends with its power."""

    def boot(self) -> None:
        """Power on, at the first boot with a new disk, and start user-data. Raises RuntimeError if that fails.

        A machine that does not come up is switched off.
        """
        with self._turn:
            self._off.clear()
            self._powered.close()
            try:
                self._power_on()
            except BOOT_ERRORS as error:
                with suppress(*BOOT_ERRORS):
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
        document = self.network.document(self.record)
        pods = document["machine"].get("pod_cidr", "")
        self._powered.callback(cable.unplug, self.host.link, self.space)
        cable.plug(self.host.link, self.space, self._address, self.network.gateway, pods)
        runtime_address = f"{cable.RUNTIME}:{CRI.split(':')[1]}"
        self._powered.enter_context(runtime(self.folder, self.space, runtime_address))
        bits = IPv4Network(self.network.range).prefixlen
        calls = [
            f"Set-Card {quoted(self.host.card)} {self._address} {bits} {self.network.gateway} {self.network.resolver}",
            f"Set-Runtime {CRI} {runtime_address}",
        ]

        def put(path: str, content: bytes) -> None:
            calls.append(f"Add-File {quoted(path)} {base64.b64encode(content).decode()}")

        put(rf"{SANDBOX}\modules\boot\boot.psm1", BOOT.read_bytes())
        start = launch(document["facts"]["cloud"], self.network.cloud_state.path, self.record, put)
        self._ask("; ".join([*calls, f"Register-Launch {quoted(start)}"]))

    def _answers(self) -> None:
        """Wait until PowerShell answers. Raises Failed after BOOT_SECONDS, or if it is not PowerShell of Windows."""
        end, answer = time.monotonic() + BOOT_SECONDS, "nothing"
        while not self._off.is_set():
            with suppress(subprocess.TimeoutExpired):
                ran = self._powershell("'runs on ' + [Environment]::OSVersion.Platform", ANSWER_SECONDS)
                answer = f"{ran.returncode}, {(ran.stdout + ran.stderr).strip()[-2000:]}"
                if "runs on Win32NT" in ran.stdout:
                    return
                if "runs on" in ran.stdout:
                    raise Failed(
                        f"{shlex.join(self.host.powershell)} is not PowerShell of Windows; it ended with {answer}"
                    )
            if time.monotonic() > end:
                words = shlex.join(self.host.powershell)
                raise Failed(f"PowerShell did not answer within {BOOT_SECONDS} s; {words} ended with {answer}")
            self._off.wait(PAUSE)
        raise Failed("its power was cut during the boot")

    @property
    def _address(self) -> str:
        return self.network.address(self.record)

    def _powershell(self, call: str, seconds: float) -> "subprocess.CompletedProcess[str]":
        """Run PowerShell on the host; keep its output in the machine's folder."""
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
        """Return the output of a call. Raises Failed with its error."""
        ran = self._powershell(call, seconds)
        if ran.returncode:
            raise Failed(f"PowerShell ended with {ran.returncode} ({call[:60]}...): {ran.stderr.strip()[-2000:]}")
        return ran.stdout

    def cut(self) -> None:
        """Cut the power; the disk stays. Raises RuntimeError if the host's command fails."""
        self._off.set()
        with self._turn:
            try:
                self._powered.close()
            except BOOT_ERRORS as error:
                raise RuntimeError(f"{self.name} may not be off: {_reason(error)}") from error

    def user_data(self) -> bytes:
        """Return the user-data that the metadata service gives to this machine, requested on it."""

        def ask(method: str, path: str, headers: dict[str, str]) -> bytes:
            fields = "; ".join(f"{quoted(name)} = {quoted(value)}" for name, value in headers.items())
            return base64.b64decode(self._ask(f"Get-Metadata {quoted(path)} {method} @{{ {fields} }}"))

        return self.network.cloud_services.user_data(self.record, ask)

    def run(self, *words: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a Windows program on the machine; it is killed after `seconds`, with code 124."""
        arguments = quoted(subprocess.list2cmdline(words[1:]))
        return self._powershell(f"Invoke-Program {quoted(words[0])} {arguments} {int(seconds)}", seconds + 60)

    def file(self, path: str) -> Path:
        """Raise RuntimeError: its disk is on another host."""
        raise RuntimeError(f"{self.name} is a Windows Server, so its file {path} is not on this host")

    def read(self, path: str) -> bytes:
        """Return the content of a file on the machine."""
        return base64.b64decode(self._ask(f"Get-File {quoted(path)}"))

    def log(self) -> str:
        """Return the last lines of loader and executor."""
        return self._ask("Get-Log")[-8000:]

    def console(self) -> str:
        """Return the end of the last run's output."""
        return last_output(self.folder)


def _command(words: tuple[str, ...]) -> None:
    """Run a command of the hosts' file. Raises Failed with its output."""
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=CALL_SECONDS, errors="replace")
    if ran.returncode:
        raise Failed(f"{shlex.join(words)} ended with {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-2000:]}")


def _reason(error: Exception) -> str:
    stderr = getattr(error, "stderr", None)
    return f"{error} {stderr}".strip() if isinstance(stderr, str) else str(error)


def is_one(folder: Path) -> bool:
    """Return whether a folder is that of a machine on a Windows Server."""
    return (folder / ON).exists()


def stop(folder: Path) -> None:
    """Stop a machine whose supervisor was killed; it may be off."""
    saved = json.loads((folder / ON).read_text())
    host = Host.model_validate(saved["host"])
    cable.unplug(host.link, saved["space"])
    end_runtime(folder)
    with suppress(*BOOT_ERRORS):
        _command(host.stop)
