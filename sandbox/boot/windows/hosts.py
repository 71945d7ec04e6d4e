"""Real Windows Servers for machines of a booted stack: the file that MULLION_WINDOWS_HOSTS names."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError, model_validator

from sandbox.boot import windows
from sandbox.boot.host_lock import lock_file
from sandbox.boot.windows.server import Failed

HOSTS = "MULLION_WINDOWS_HOSTS"
NOTHING = (
    f"nothing here runs Windows: set {HOSTS} to a file with a Windows Server for it, or {windows.TOOL} to the program "
    "winpwsh (docs/boot.md)"
)

Words = Annotated[tuple[str, ...], Field(min_length=1)]
"""A command on this host: program and arguments."""


class Host(BaseModel):
    """A Windows Server: commands for PowerShell, disk and power, and its network card in the cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    powershell: Words = Field(
        description="the command that starts PowerShell there: [ssh, Administrator@HOST, powershell]"
    )
    link: str = Field(
        pattern=r"^[^\s/]{1,15}$", description="this host's network interface that leads to the Windows card: tap3"
    )
    card: str = Field(min_length=1, description="what Windows calls that card: Ethernet 2")
    new: Words = Field(description="the command that resets its disk: [virsh, snapshot-revert, VM, clean]")
    start: Words = Field(description="the command that powers it on: [virsh, start, VM]")
    stop: Words = Field(description="the command that cuts its power: [virsh, destroy, VM]")


class Hosts(RootModel[dict[str, Host]]):
    """Hosts by name of the machine that boots there."""

    @model_validator(mode="after")
    def _one_each(self) -> "Hosts":
        for field in ("powershell", "link"):
            users: dict[Any, str] = {}
            for name, host in self.root.items():
                other = users.setdefault(getattr(host, field), name)
                if other != name:
                    raise ValueError(
                        f"{other} and {name} have the same {field}; give each machine its own Windows Server"
                    )
        return self


def hosts() -> dict[str, Host]:
    """Return hosts by machine name; empty if no file is named. Raises ValueError with the file's faults and fixes."""
    name = os.environ.get(HOSTS, "")
    if not name:
        return {}
    if not Path(name).is_absolute():
        raise ValueError(f"{name}: {HOSTS} needs an absolute path, because another process reads it too")
    try:
        return Hosts.model_validate(yaml.safe_load(Path(name).read_text(encoding="utf-8"))).root
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror}; set {HOSTS} to a readable file, or unset it") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: not YAML: {error}; see docs/boot.md for an example") from None
    except ValidationError as error:
        raise ValueError("\n".join(f"{name}: {_fault(fault)}" for fault in error.errors(include_url=False))) from None


def _fault(error: Any) -> str:
    """Return one fault of the file: path, fault, fix."""
    place = [str(part) for part in error["loc"]]
    where, field = ".".join(place) or "as a whole", Host.model_fields.get(place[1]) if len(place) > 1 else None
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown key; a host has {', '.join(Host.model_fields)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    fix = field.description if field else f"the name of each machine, with keys {', '.join(Host.model_fields)}"
    return f"{where}: {error['msg']}; write {fix}"


def why_not(machine: str) -> str:
    """Return why a Windows machine cannot boot on this host; empty if it can."""
    try:
        return "" if machine in hosts() or windows.tool() else NOTHING
    except ValueError as error:
        return str(error)


@contextmanager
def taken(host: Host) -> Iterator[None]:
    """Lock a Windows Server for one stack. Raises Failed if another stack of this user uses it."""
    name = hashlib.sha256(json.dumps(host.powershell).encode()).hexdigest()[:16]
    with lock_file(f"windows-{name}.lock") as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed(
                f"another booted stack uses its Windows Server ({' '.join(host.powershell)}); "
                "stop that stack, or name another Windows Server"
            ) from None
        yield
