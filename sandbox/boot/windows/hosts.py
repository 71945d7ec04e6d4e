"""Real Windows Servers for machines of a booted stack: the file that MULLION_WINDOWS_HOSTS names, an entry for each."""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError, model_validator

from sandbox.boot import windows
from sandbox.boot.windows.server import Failed

HOSTS = "MULLION_WINDOWS_HOSTS"
NOTHING = (
    f"nothing here runs Windows: {HOSTS} names a file that tells a real Windows Server for it, or {windows.TOOL} the "
    "program that makes such machines (docs/boot.md)"
)

Words = Annotated[tuple[str, ...], Field(min_length=1)]
"""A command of this machine: program and arguments."""


class Host(BaseModel):
    """A Windows Server: how PowerShell and power are reached, and the cable of its card for the cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    powershell: Words = Field(
        description="the command that starts PowerShell there: [ssh, Administrator@HOST, powershell]"
    )
    link: str = Field(
        pattern=r"^[^\s/]{1,15}$", description="this machine's network interface that leads to the Windows card: tap3"
    )
    card: str = Field(min_length=1, description="what Windows calls that card: Ethernet 2")
    new: Words = Field(description="the command that makes its disk as new: [virsh, snapshot-revert, VM, clean]")
    start: Words = Field(description="the command that powers it on: [virsh, start, VM]")
    stop: Words = Field(description="the command that takes its power: [virsh, destroy, VM]")


class Hosts(RootModel[dict[str, Host]]):
    """Hosts by the name of the machine that each is for."""

    @model_validator(mode="after")
    def _one_each(self) -> "Hosts":
        for field in ("powershell", "link"):
            by: dict[Any, str] = {}
            for name, each in self.root.items():
                other = by.setdefault(getattr(each, field), name)
                if other != name:
                    raise ValueError(
                        f"{other} and {name} have the same {field}; give each machine a Windows Server of its own"
                    )
        return self


def hosts() -> dict[str, Host]:
    """Hosts by machine; none where no file is named. ValueError says what is wrong with the file, and what to write."""
    name = os.environ.get(HOSTS, "")
    if not name:
        return {}
    if not Path(name).is_absolute():
        raise ValueError(f"{name}: {HOSTS} needs a path from the root on, as another process reads it too")
    try:
        return Hosts.model_validate(yaml.safe_load(Path(name).read_text(encoding="utf-8"))).root
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror}; let {HOSTS} name a file that can be read, or unset it") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: it is not YAML: {error}; see docs/boot.md for an example") from None
    except ValidationError as error:
        raise ValueError("\n".join(f"{name}: {_told(each)}" for each in error.errors(include_url=False))) from None


def _told(error: Any) -> str:
    """One fault of the file: where, what, what to write."""
    place = [str(each) for each in error["loc"]]
    where, field = ".".join(place) or "as a whole", Host.model_fields.get(place[1]) if len(place) > 1 else None
    if error["type"] == "extra_forbidden":
        return f"{where}: a host has no such key; it has {', '.join(Host.model_fields)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    fix = field.description if field else f"the name of each machine, and in it {', '.join(Host.model_fields)}"
    return f"{where}: {error['msg']}; write {fix}"


def why_not(machine: str) -> str:
    """Why a Windows machine cannot boot here; empty where it can."""
    try:
        return "" if machine in hosts() or windows.tool() else NOTHING
    except ValueError as error:
        return str(error)


@contextmanager
def taken(host: Host) -> Iterator[None]:
    """Be the only stack on this machine that uses a host; Failed where another one does."""
    name = hashlib.sha256(json.dumps(host.powershell).encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"mullion-windows-{name}.lock").open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed(
                f"another stack that runs uses its Windows Server ({' '.join(host.powershell)}); "
                "stop that one, or name another host"
            ) from None
        yield
