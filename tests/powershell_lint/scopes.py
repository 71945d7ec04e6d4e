"""All scripts that run under Windows PowerShell 5.1 on a Windows Server, by the scope in which they run together."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.azure.machines import COMMAND
from components.clouds import CLOUDS
from components.machine.bundle import CLOUD_INIT
from components.machine.user_data import template
from components.node.evidence import windows_script
from sandbox.boot.windows import host
from tests.powershell_lint.context import Context
from tests.powershell_lint.trees import Script

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = "the loader's and the executor's requests are enough"
CLOCK = "waits use Stopwatch: a clock can jump"
FORBIDDEN = {
    "get-date": CLOCK,
    "get-filehash": "Get-FileDigest reads each file once",
    "get-wmiobject": "PowerShell 7 does not have it",
    "invoke-expression": "text from outside must not become code",
    "invoke-restmethod": CLIENTS,
    "invoke-webrequest": CLIENTS,
}
"""Commands that scripts of a node do not use, with the reason."""
REQUESTS = {name: why for name, why in FORBIDDEN.items() if why != CLIENTS}


@dataclass(frozen=True)
class Scope:
    """Texts of scripts by path, those that something starts, and what is special."""

    texts: Mapping[str, str]
    entries: tuple[str, ...]
    forbidden: Mapping[str, str]
    documented: bool = True
    secure: bool = False
    dropped: frozenset[str] = frozenset()

    def context(self, scripts: Mapping[str, Script]) -> Context:
        """Return what the rules know of this scope's scripts."""
        own = {path: scripts[path] for path in self.texts}
        return Context(own, list(self.entries), dict(self.forbidden), self.secure, self.documented, self.dropped)


def _files(folder: Path, names: Iterable[Path]) -> dict[str, str]:
    return {each.relative_to(folder).as_posix(): each.read_text("ascii") for each in names}


def _user_data(cloud: str) -> str:
    """Return the script in a cloud's user-data, without the tags around it."""
    text = "{}".join(template("windows", cloud))
    return re.sub(r"(?m)^</?\w+>(?:true</\w+>)?$", "", text)


def _quoted(command: str) -> str:
    """Return the script that a command line gives to PowerShell."""
    return command.partition('-Command "')[2].removesuffix('"')


WINDOWS = CLOUD_INIT / "windows"
NODE = _files(WINDOWS, WINDOWS.rglob("*.ps1"))
CONTACT = ("contact/run.ps1", "contact/one-file.ps1", "contact/fetch.ps1")
STARTED = tuple(
    path
    for path in NODE
    if path in CONTACT or not path.startswith(("modules/", "kinds/", "contact/", "epoch.ps1", "load-modules.ps1"))
)
"""Scripts of a node that a task, a cloud's agent or a person starts; the others are dot-sourced."""
SIGNERS = frozenset({"get-awsheader", "get-gcpheader", "get-azureheader"})
"""Functions of which user-data has its own cloud's."""
PROBES = _files(ROOT, (ROOT / "operations" / "verification").glob("*.ps1"))
HOST = _files(ROOT, (host.SCRIPT, host.BOOT))
LINES = {
    "azure.ps1": _quoted(COMMAND),
    "task.ps1": windows_script("collect-logs.ps1", "-Requested")[-1],
    "host.ps1": host.WHOLE.format(functions="", call="[void] 1"),
}

SCOPES = {
    "node": Scope(NODE, STARTED, FORBIDDEN),
    # without comments, and without the functions of other clouds
    **{
        f"user-data of {cloud}": Scope(
            {f"{cloud}.ps1": _user_data(cloud)}, (f"{cloud}.ps1",), FORBIDDEN, documented=False, dropped=SIGNERS
        )
        for cloud in CLOUDS
    },
    # pods reach each other over http, and so does a machine its metadata service
    **{path: Scope({path: text}, (path,), REQUESTS, documented=False, secure=True) for path, text in PROBES.items()},
    **{path: Scope({path: text}, (path,), REQUESTS, secure=True) for path, text in HOST.items()},
    "lines": Scope(LINES, tuple(LINES), REQUESTS, documented=False),
}
"""Scopes by name."""
