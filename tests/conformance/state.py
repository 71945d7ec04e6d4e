"""Start and end states of a case: files, the system's state, served files, stand-in programs."""

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
    """A fault of the server instead of a good answer, `times` times. Faults happen in order; later answers are good."""

    times: int = 1
    status: int | None = None
    truncate: int | None = None
    """Bytes of the body sent before the connection closes; the announced length is that of the whole body."""
    stall: int | None = None
    """Bytes sent before the answer stalls until the client closes the connection."""
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
    """Length of generated content without early repetition, instead of `text`."""
    archive: Literal["zip", "tar", "tar.gz", "tgz"] | None = None
    entries: list[Entry] = []
    deb: Package | None = None
    cut: int = 0
    """Bytes missing at the end of the file; the digest is that of the shortened file."""
    ranges: bool = True
    """Whether the server answers Range requests with 206; otherwise with 200 and the whole file."""
    slow: bool = False
    """Answers come 0.3 s late, so that parallel requests overlap."""
    faults: list[Fault] = []


class Program(BaseModel, extra="forbid", frozen=True):
    """A stand-in program. It appends one line with its arguments to $root/ran/<its name>."""

    says: str = ""
    exits: int = 0
    fails_first: int = 0
    """Number of first runs that end with 1; later runs end as `exits` says."""
    creates: dict[str, str] = {}
    """Files that it writes, by path."""
    keeps_input: str = ""
    """File to which its standard input is copied."""
    hangs: bool = False
    """It starts a child that writes $root/ran/<its name>.child after 3 s; both wait for minutes."""
    stays: bool = False
    """It can run as a service."""
    cluster: str = ""
    """It is kubectl: it keeps objects in this file, as JSON (linux_kubectl.py)."""
    holds: str = ""
    """It is host-local: it reserves addresses in this folder (.2, .3, ...), one file each, as the real program does."""


class State(BaseModel, extra="forbid", frozen=True):
    """A machine's state: files by path, and the system's own state by area (AREAS)."""

    files: dict[str, str] = {}
    folders: dict[str, Access] = {}
    links: dict[str, str] = {}
    absent: list[str] = []
    """In a start state: removed. In an end state: missing."""
    access: dict[str, str] = {}
    """Rights of files and folders: private or public; on Windows also "private, SID" with more readers."""
    owners: dict[str, str] = {}
    """Owners of files and folders (Linux)."""
    executable: list[str] = []
    parsed: dict[str, Json] = {}
    """In an end state: files that contain this as JSON."""
    documents: dict[str, list[Json]] = {}
    """In an end state: files that contain these documents, each after a line of three dashes."""
    only: dict[str, list[str]] = {}
    """In an end state: folders, and the names of all their entries."""
    system: dict[str, Json] = {}

    @model_validator(mode="after")
    def _known_areas(self) -> "State":
        assert self.system.keys() <= AREAS.keys(), f"{self.system.keys() - AREAS.keys()} are not areas"
        return self


AREAS: dict[str, tuple[tuple[System, ...], str]] = {
    "services": (("linux", "windows"), "name -> running, stopped or absent"),
    "variables": (("linux", "windows"), "name -> value for processes that start now; null: none"),
    "tasks": (("linux", "windows"), "name -> schedule in the form of the step; null: none"),
    "rules": (("linux", "windows"), "name -> {protocol, ports, sources (absent: any)}; null: none"),
    "hostname": (("linux", "windows"), "the name of the next boot"),
    "starts": (("linux", "windows"), "service -> how often a step started it"),
    "modules": (("linux",), "name -> loaded"),
    "sysctls": (("linux",), "key -> value of the kernel"),
    "swaps": (("linux",), "list of devices in use"),
    "packages": (("linux",), "name -> version; null: none"),
    "users": (("linux",), "name -> {home, groups}; null: none"),
    "disks": (("linux",), "path -> empty, or what blkid finds: ext4, dos, swap; missing: there is none"),
    "mounts": (("linux",), "folder -> whether a disk is mounted on it"),
    "secrets": (("linux", "windows"), "name -> text in the secret service"),
    "objects": (("linux",), "key -> text in the snapshot store; $instance is this machine's id"),
    "build": (("windows",), "{build: number, ubr: number}"),
    "registry": (("windows",), "key\\value -> {type, data}; null: none"),
    "features": (("windows",), "name -> Available, InstallPending or Installed"),
    "hypervisor": (("windows",), "{launch: Auto or Off (the boot setting), refused: whether it does not start}"),
    "pagefile": (("windows",), "{initial_mb, maximum_mb}, or automatic"),
    "disk": (("windows",), "GiB: {size, drive (C:), behind (a partition after it), free (of C:)}"),
    "port_ranges": (("windows",), "protocol -> [start, count]"),
    "defender": (("windows",), "{running, processes, paths}"),
    "profiles": (("windows",), "profile of the firewall -> on, off, or open (on, and allows all inbound traffic)"),
    "local_users": (("windows",), "name -> whether it is enabled"),
    "routes": (
        ("windows",),
        "prefix -> index of the interface, then link if without gateway; no routes that HNS gives; null: none",
    ),
    "networks": (("windows",), "name -> {type, subnet, gateway, vni (Overlay)}; null: none"),
    "endpoints": (("windows",), "name -> {network, address, attached, forwarding (its adapter's)}; null: none"),
    "policies": (("windows",), "name of a load balancer in HNS -> there (it exists); null: none"),
    "adapters": (("windows",), "names of all network adapters; null: as HNS creates them"),
    "outage": (("windows",), "number of route queries that fail after HNS creates a network; -1: all"),
    "away": (("windows",), "number of route queries that fail from now on"),
    "loss": (("windows",), "after HNS creates a network: the query of routes to one address at which HNS removes one"),
    "loss_in_wait": (("windows",), "number of the executor's wait in which HNS removes all routes to addresses"),
    "linger": (("windows",), "number of queries for which HNS still lists a removed network"),
    "attach": (("windows",), "whether HNS attaches an endpoint and still says that it is attached already"),
    "taken": (("windows",), "number of networks that HNS refuses to create because of their name, and does not list"),
    "keeps": (("windows",), "number of requests to remove a network that HNS refuses"),
    "attach_refusals": (("windows",), "number of requests to attach an endpoint to the host that HNS refuses"),
    "no_gateway_refused": (("windows",), "whether HNS refuses an endpoint with the gateway 0.0.0.0"),
    "numbered": (("windows",), "whether Windows appends a number to the names of endpoints' adapters"),
    "unforwardable": (("windows",), "whether Set-NetIPInterface fails: Element not found"),
    "duplicate": (("windows",), "address of an endpoint of the host that another machine has too"),
    "own_addresses": (("windows",), "address of the machine's adapter -> AddressState (Preferred, Tentative)"),
    "flannel": (
        ("windows",),
        "{works_at: the start of its service that creates the rest, service, network, subnet, file}",
    ),
    "addresses": (("windows",), "addresses that host-local has reserved for kube-proxy"),
}
"""Areas of `system`: their systems and shapes. A runner sets them up in its stand-ins and reads them back."""
