"""The Host Networking Service of one machine: its objects, and which of them a restart removes."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from lab.hns.errors import Code, HnsError

Object = dict[str, Any]
"""A Network, Endpoint, Namespace or LoadBalancer in HCN's form (HcnSchema)."""

NON_PERSISTENT = 8
"""Flag of networks that a reboot removes (hcsshim hcn.EnableNonPersistent)."""

REMOTE = 1
"""Flag of endpoints that are on another machine (hcsshim hcn.EndpointFlagsRemoteEndpoint)."""

VERSION = {"Major": 2, "Minor": 0}
"""Version of the schema of all objects."""

NOT_FOUND: Mapping[str, Code] = {"Network": Code.NETWORK_NOT_FOUND, "Endpoint": Code.ENDPOINT_NOT_FOUND}
"""Errors of missing objects; of other kinds it is NOT_FOUND."""


@dataclass(frozen=True)
class Build:
    """A release of Windows: its HNS version, and which requests that version refuses.

    Versions of features: hcsshim hcn/hcnglobals.go. DSR came to 2019 with KB4580390 (17763.1554).
    """

    number: int
    version: tuple[int, int]
    """Major and minor number of HNS."""

    @property
    def dsr(self) -> bool:
        """Return whether load balancers can have Direct Server Return."""
        return (9, 3) <= self.version < (10, 0) or self.version >= (10, 2)

    @property
    def session_affinity(self) -> bool:
        """Return whether load balancers can assign clients to one endpoint."""
        return self.version >= (12, 0)

    @property
    def modifies(self) -> bool:
        """Return whether a changed load balancer has its new endpoints; 15.4 answers so and keeps the old ones.

        kubernetes/kubernetes#131466; hnslib hcn/hcnglobals.go, ModifyLoadbalancerVersion.
        """
        return self.version >= (15, 5)

    @property
    def host_route(self) -> bool:
        """Return whether overlay networks can have a HostRoute.

        flannel pkg/backend/vxlan/device_windows.go: from Windows 18321 on, although version 9.2 claims it.
        """
        return self.number >= 18321


BUILDS: Mapping[str, Build] = {
    "windows-2019-2018": Build(17763, (9, 2)),
    "windows-2019": Build(17763, (9, 4)),
    "windows-2022": Build(20348, (13, 2)),
    "windows-2025": Build(26100, (15, 5)),
    "windows-2025-15.4": Build(26100, (15, 4)),
}
"""Releases as stacks name them, 2019 before KB4580390, and 2025 as in kubernetes/kubernetes#131466.

Other minor numbers of HNS are assumed; from 15.5 on kube-proxy changes load balancers (hnslib 0.1.3).
"""


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass
class Service:
    """State of HNS on one machine; the other modules of this folder have its rules. Hold `lock` to change it."""

    build: Build
    adapters: Mapping[str, str]
    """Adapter -> its IPv4 address, before any virtual switch."""
    objects: dict[str, dict[str, Object]] = field(
        default_factory=lambda: {kind: {} for kind in ("Network", "Endpoint", "Namespace", "LoadBalancer")}
    )
    """Kind -> id in capital letters -> object."""
    containers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Compute systems that Docker runs, and the ids of the endpoints attached to each."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    calls: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """Every call with its words, in order."""
    refusals: list[str] = field(default_factory=list[str])
    """Reasons of all refused calls, in order."""
    made: int = 0
    """Number of networks created so far: each creation removes the host's routes for a moment."""
    lingers: int = 0
    """Number of lists that will still contain a removed network; until then no network can be created."""
    attaches_twice: bool = False
    """Whether attaching an endpoint to the host succeeds but returns an error (flannel-io/flannel#1391)."""
    taken: int = 0
    """Number of requests for a network to refuse although no network of its name is listed (microsoft/hcsshim#850)."""
    refuses_attach: int = 0
    """Number of requests to attach an endpoint to the host that will be refused (flannel-io/flannel#1112)."""
    keeps: int = 0
    """Number of requests to remove a network that will be refused although nothing uses it."""
    refuses_no_gateway: bool = False
    """Whether endpoints with the gateway 0.0.0.0 are refused: no source shows that Windows Server 2025 accepts them."""
    numbered: bool = False
    """Whether names of endpoints' adapters have a number, because Windows found them taken
    (microsoft/Windows-Containers#61)."""
    answers: threading.Event = field(default_factory=_set)
    """Calls wait while it is not set, which imitates a hanging HNS (Azure/aks-engine#4315)."""
    leaving: list[Object] = field(default_factory=list[Object])
    """The removed network that is still listed."""
    changed: Callable[[], None] = lambda: None
    """Called after each change."""

    def all(self, kind: str) -> list[Object]:
        """Return all objects of a kind in the order of creation."""
        return list(self.objects[kind].values())

    def get(self, kind: str, guid: str) -> Object:
        """Return an object. Raises HnsError with the kind's code."""
        found = self.objects[kind].get(upper(guid))
        if found is None:
            raise HnsError(NOT_FOUND.get(kind, Code.NOT_FOUND), f"no {kind} {guid}")
        return found

    def add(self, kind: str, document: Object, wanted: str) -> Object:
        """Store an object under the id `wanted`, else under the id in the document, else under a new one."""
        guid = next((upper(given) for given in (wanted, document.get("ID", "")) if given and UUID(given).int), None)
        guid = guid or str(uuid4()).upper()
        if guid in self.objects[kind]:
            raise HnsError(Code.OBJECT_EXISTS, f"{kind} {guid} exists")
        kept = {"ID": guid, "SchemaVersion": VERSION, **{key: document[key] for key in document if key != "ID"}}
        self.objects[kind][guid] = kept
        return kept

    def named(self, kind: str, name: str) -> Object:
        """Return the first object with the name. Raises HnsError."""
        found = next((each for each in self.all(kind) if each.get("Name") == name), None)
        if found is None:
            raise HnsError(NOT_FOUND.get(kind, Code.NOT_FOUND), f"no {kind} named {name}")
        return found

    def listed(self, kind: str) -> list[Object]:
        """Return the objects in a list of the first API: all of a kind, and a removed network while it lingers."""
        if kind != "Network" or not self.leaving:
            return self.all(kind)
        lingering, self.lingers = self.leaving, self.lingers - 1
        if self.lingers <= 0:
            self.leaving = []
        return [*lingering, *self.all(kind)]

    def endpoints(self, network: str) -> list[Object]:
        """Return the endpoints of a network."""
        return [each for each in self.all("Endpoint") if each["HostComputeNetwork"] == upper(network)]

    def find(self, kind: str, query: str) -> list[Object]:
        """Return the objects that match a query's filter, which is JSON in JSON."""
        wanted = json.loads((json.loads(query) if query else {}).get("Filter") or "{}")
        # hcsshim hcn.ListEndpointsOfNetwork filters by the name that the first API has
        wanted = {"HostComputeNetwork" if key == "VirtualNetwork" else key: value for key, value in wanted.items()}
        return [
            entity
            for entity in self.all(kind)
            if all(str(entity.get(key, "")).casefold() == str(value).casefold() for key, value in wanted.items())
        ]

    def reboot(self, adapters: Mapping[str, str] | None = None) -> None:
        """Remove what a reboot removes: endpoints, namespaces, load balancers, and networks that are not persistent.

        `adapters`: the machine's adapters after the reboot; networks stay bound to the old ones, which no longer exist
        (projectcalico/calico#11840).
        """
        if adapters is not None:
            self.adapters = adapters
        self._lose(lambda kind, each: kind != "Network" or bool(each.get("Flags", 0) & NON_PERSISTENT))

    def restart(self, *, restores: bool = True) -> None:
        """Remove what a restart of the service removes: endpoints of containers (projectcalico/calico#5164, on 2022).

        Networks and load balancers are restored (kubernetes/kubernetes#139519). If `restores` is False, load balancers
        are lost (Azure/AgentBaker#2085), and networks that are not persistent, with their endpoints (our assumption).
        """

        def lost(kind: str, each: Object) -> bool:
            if kind == "Network":
                return not restores and bool(each.get("Flags", 0) & NON_PERSISTENT)
            if kind == "Endpoint":
                return not restores or not each.get("Flags", 0) & REMOTE
            return kind == "LoadBalancer" and not restores

        self._lose(lost)

    def _lose(self, lost: Callable[[str, Object], bool]) -> None:
        with self.lock:
            for kind, known in self.objects.items():
                self.objects[kind] = {guid: each for guid, each in known.items() if not lost(kind, each)}
            kept = self.objects["Endpoint"]
            for namespace in self.all("Namespace"):
                namespace["Resources"] = [each for each in namespace["Resources"] if each["Data"]["Id"] in kept]
            for attached in self.containers.values():
                attached &= set(kept)
            self.changed()


def upper(guid: str) -> str:
    """Return an id as HNS writes it."""
    return guid.strip("{}").upper()


def policies(of: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the settings of an object's policies of one type."""
    return [each.get("Settings") or {} for each in of.get("Policies") or () if each["Type"] == kind]
