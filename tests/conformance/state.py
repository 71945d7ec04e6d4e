"""What a case starts from and ends with: files, what the system keeps, served files, stand-in programs."""

from typing import Any, Literal

from pydantic import BaseModel, model_validator

System = Literal["linux", "windows"]
Access = Literal["private", "public"]
Json = Any


class Entry(BaseModel, extra="forbid", frozen=True):
    """One entry of an archive."""

    name: str
    text: str = ""
    kind: Literal["file", "folder", "link", "hardlink", "device"] = "file"
    target: str = ""
    mode: int = 0o644


class Fault(BaseModel, extra="forbid", frozen=True):
    """What the server does instead of a good answer; each is used `times`, in order, then answers are good."""

    times: int = 1
    status: int | None = None
    truncate: int | None = None
    """Bytes sent of the body before the connection ends; its length is announced whole."""
    stall: int | None = None
    """Bytes sent before nothing more comes, until the other side gives up."""
    redirect: str | None = None
    other: str | None = None
    """Another body."""


class Package(BaseModel, extra="forbid", frozen=True):
    """A Debian package with one file: /usr/share/<name>/version."""

    name: str
    version: str


class Served(BaseModel, extra="forbid", frozen=True):
    """A file of the download server."""

    text: str | None = None
    size: int | None = None
    """So many bytes that do not repeat early, instead of a text."""
    archive: Literal["zip", "tar", "tar.gz", "tgz"] | None = None
    entries: list[Entry] = []
    deb: Package | None = None
    cut: int = 0
    """So many bytes are missing at the end of the file, and its digest is that of the rest."""
    ranges: bool = True
    """Whether the server answers Range requests with 206; else with 200 and everything."""
    slow: bool = False
    """Answers come 0.3 s late, so that requests made at the same time meet."""
    faults: list[Fault] = []


class Program(BaseModel, extra="forbid", frozen=True):
    """A stand-in program. It adds one line with its arguments to $root/ran/<its name>."""

    says: str = ""
    exits: int = 0
    fails_first: int = 0
    """So many runs end with 1 before one ends as `exits` says."""
    creates: dict[str, str] = {}
    """Files that it writes, by path."""
    keeps_input: str = ""
    """File that its standard input is copied to."""
    hangs: bool = False
    """It starts a child that writes $root/ran/<its name>.child after 3 s, and both wait for minutes."""
    stays: bool = False
    """It can be a service."""
    cluster: str = ""
    """It is kubectl: keeps data of objects in this file, as JSON (linux_kubectl.py)."""
    holds: str = ""
    """It is host-local: reserves addresses in this folder (.2, .3, ...), one file each, as the real one does."""


class State(BaseModel, extra="forbid", frozen=True):
    """A machine's state: files by path, and what the system itself keeps, by area (AREAS)."""

    files: dict[str, str] = {}
    folders: dict[str, Access] = {}
    links: dict[str, str] = {}
    absent: list[str] = []
    """In a start: removed."""
    access: dict[str, str] = {}
    """Rights of files and folders: private or public; Windows: "private, SID" with further readers."""
    owners: dict[str, str] = {}
    """Linux: owners of files and folders."""
    executable: list[str] = []
    parsed: dict[str, Json] = {}
    """In an end: files that hold this as JSON."""
    documents: dict[str, list[Json]] = {}
    """In an end: files that hold these, each after a line of three dashes."""
    only: dict[str, list[str]] = {}
    """In an end: folders, and the names of all that lies in them."""
    system: dict[str, Json] = {}

    @model_validator(mode="after")
    def _known_areas(self) -> "State":
        assert self.system.keys() <= AREAS.keys(), f"{self.system.keys() - AREAS.keys()} are no areas"
        return self


AREAS: dict[str, tuple[tuple[System, ...], str]] = {
    "services": (("linux", "windows"), "name -> running, stopped or absent"),
    "variables": (("linux", "windows"), "name -> value for processes that start now; null: none"),
    "tasks": (("linux", "windows"), "name -> its schedule, as the step has it; null: none"),
    "rules": (("linux", "windows"), "name -> {protocol, ports, sources (absent: any)}; null: none"),
    "hostname": (("linux", "windows"), "the name of the next boot"),
    "starts": (("linux", "windows"), "service -> how often a step started it"),
    "modules": (("linux",), "name -> loaded"),
    "sysctls": (("linux",), "key -> value of the kernel"),
    "swaps": (("linux",), "list of devices in use"),
    "packages": (("linux",), "name -> version; null: none"),
    "users": (("linux",), "name -> {home, groups}; null: none"),
    "secrets": (("linux", "windows"), "name -> text in the secret service"),
    "objects": (("linux",), "key -> text in the snapshot store; $instance is this machine's id"),
    "build": (("windows",), "{build: number, ubr: number}"),
    "registry": (("windows",), "key\\value -> {type, data}; null: none"),
    "features": (("windows",), "name -> Available, InstallPending or Installed"),
    "pagefile": (("windows",), "{initial_mb, maximum_mb}, or automatic"),
    "port_ranges": (("windows",), "protocol -> [start, count]"),
    "defender": (("windows",), "{running, processes, paths}"),
    "profiles": (("windows",), "profile of the firewall -> on, off, or open (on, and lets everything in)"),
    "local_users": (("windows",), "name -> whether it is enabled"),
    "routes": (("windows",), "prefix -> interface index; null: none"),
    "networks": (("windows",), "name -> {type, subnet, gateway, vni (Overlay)}; null: none"),
    "endpoints": (("windows",), "name -> {network, address, attached, forwarding (its adapter's)}; null: none"),
    "policies": (("windows",), "name of a load balancer in HNS -> there; null: none"),
    "adapters": (("windows",), "names of all network adapters; null: as HNS makes them"),
    "outage": (("windows",), "looks at routes that fail once HNS makes a network; -1: all"),
    "flannel": (
        ("windows",),
        "{works_at: the start of its service that makes the rest, service, network, subnet, file}",
    ),
    "addresses": (("windows",), "addresses that host-local holds for kube-proxy"),
}
"""What `system` can hold: whose it is, and its shape. A runner sets it up and reads it from its stand-ins."""
