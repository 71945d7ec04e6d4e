"""What happens to Windows nodes: each row changes a machine, and says how its next run must end."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.boot.windows.winpwsh import BOOKS
from tests.windows_plans.health import CNI, LEASES, PROXY, SUBNET_FILE, vip_of
from tests.windows_plans.server import Node

CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
OTHER_CLUSTER = "FLANNEL_NETWORK=172.30.0.0/16\nFLANNEL_SUBNET=172.30.5.1/24\nFLANNEL_MTU=1400\nFLANNEL_IPMASQ=true\n"
BOOTED = ("stale-network", "flanneld", "overlay-network", "metadata-route", "kube-proxy")
"""Steps that every boot sets: HNS and the routing table were in memory."""
REJOINED = ("bootstrap", "kubelet", "node-certificate", "joined")
NEW_RANGE = ("source-vip", "kube-proxy-config")
AWAY_SECONDS = 2.0
LOAD_BALANCER = "00000000-0000-0000-0000-0000000000b1"
NAT = "00000000-0000-0000-0000-0000000000b2"


@dataclass(frozen=True)
class Event:
    """`happens` changes the machine while it is off; on: it stays on. Only `sets` are set by the run, then all hold."""

    happens: Callable[[Node], None]
    sets: tuple[str, ...] = BOOTED
    on: bool = False
    seconds: tuple[tuple[str, int], ...] = ()
    """Other timeouts of steps."""
    fails: str | None = None
    """Name of the error that the run ends with."""
    at: str = ""
    """Step of the error."""


def nothing(_: Node) -> None:
    """The power went, that is all."""


def address_comes_late(here: Node) -> None:
    """The virtual switch holds the address back for some time (NET-14)."""
    here.node_network.ip(here.space, "addr", "del", f"{here.address}/16", "dev", "eth0")
    threading.Timer(AWAY_SECONDS, lambda: _address(here)).start()


def _address(here: Node) -> None:
    here.node_network.ip(here.space, "addr", "add", f"{here.address}/16", "dev", "eth0")
    here.node_network.ip(here.space, "route", "add", "default", "via", "10.20.0.1")


def other_range(here: Node) -> None:
    """The controller manager gave the node another range; load balancers of before hold its network."""
    spec = here.node_network.api.nodes[here.name]["spec"]
    third = int(spec["podCIDR"].split(".")[2]) + 40
    spec["podCIDR"] = f"10.244.{third}.0/24"
    here.change("policylists", {LOAD_BALANCER: {"ID": LOAD_BALANCER, "References": []}})
    here.change("networks", here.last["networks"])


def no_node(here: Node) -> None:
    """Somebody deleted the Node object."""
    del here.node_network.api.nodes[here.name]


def stale_vip(here: Node) -> None:
    """The address of kube-proxy is one of a range that the node had once."""
    folder = here.machine.path(LEASES)
    (folder / vip_of(here)).rename(folder / "10.244.99.2")
    place = here.machine.path(PROXY)
    place.write_text(place.read_text().replace(vip_of(here), "10.244.99.2"))


def stale_leases(here: Node) -> None:
    """Pods of before the boot held addresses."""
    vip = vip_of(here)
    for last in (7, 8):
        place = here.machine.path(LEASES) / f"{vip.rpartition('.')[0]}.{last}"
        place.write_text(f"0123456789abcdef{last}\r\neth0")


def no_metadata_route(here: Node) -> None:
    """Another program took the route away."""
    here.change("routes", {})


def other_subnet_file(here: Node) -> None:
    """OPS-06: subnet.env is another cluster's."""
    here.machine.path(SUBNET_FILE).write_text(OTHER_CLUSTER)


def docker_nat(here: Node) -> None:
    """NET-02: a CNI file that comes before ours."""
    (here.machine.path(CNI) / "0-nat.json").write_text(json.dumps({"name": "nat", "type": "nat"}))


def nat_network(here: Node) -> None:
    """NET-02: Docker ran here with its own network, whose range is one of the machine's network."""
    networks = here.book("networks")
    subnet = {"AddressPrefix": "10.20.16.0/20", "GatewayAddress": "10.20.16.1"}
    networks[NAT] = {"ID": NAT, "Name": "nat", "Type": "nat", "Flags": 0, "Subnets": [subnet]}
    here.change("networks", networks)


def hang(times: int) -> Callable[[Node], None]:
    """OPS-05: so many starts of flanneld do nothing."""
    return lambda here: here.change("flanneld", {"hangs": times})


def lost_certificate(here: Node) -> None:
    """The node's certificate is gone."""
    here.machine.path(CERTIFICATE).unlink()


def all_at_once(here: Node) -> None:
    """Everything that can be wrong at a boot and repairs itself."""
    repaired = (stale_leases, other_subnet_file, docker_nat, nat_network, no_node, lost_certificate)
    for each in (*repaired, address_comes_late):
        each(here)


def dies(service: str) -> Callable[[Node], None]:
    """The service ends a second after each start."""

    def happen(here: Node) -> None:
        here.change("faults", {service: "dies"})
        here.driver.call("arrange", fakes=BOOKS, values=[], variables={}, services={service: "stopped"})

    return happen


def windows_is(**values: Any) -> Callable[[Node], None]:
    """OS-05, OS-06: another Windows than planned."""
    return lambda here: here.set_version(**values)


def _death(service: str, error: str, *sets: str) -> Event:
    return Event(dies(service), sets, True, ((f"{service}-runs", 4),), error, f"{service}-runs")


EVENTS: dict[str, Event] = {
    "the power goes (NET-14, SRV-11)": Event(nothing),
    "the address comes back late (NET-14)": Event(address_comes_late),
    "the pod range is another one (OPS-04)": Event(other_range, (*BOOTED, *NEW_RANGE)),
    "the Node object is deleted": Event(no_node, (*BOOTED, "joined", *NEW_RANGE)),
    "the source VIP is one of before (OPS-04)": Event(stale_vip, (*BOOTED, *NEW_RANGE)),
    "addresses of pods of before are held (OPS-04)": Event(stale_leases),
    "the metadata route is gone": Event(no_metadata_route, ("metadata-route",), on=True),
    "subnet.env is another cluster's (OPS-06)": Event(other_subnet_file),
    "a nat file lies before ours (NET-02)": Event(docker_nat, (*BOOTED, "cni-config-folder")),
    "a nat network of Docker's is there (NET-02)": Event(nat_network),
    "the certificate is lost": Event(lost_certificate, (*BOOTED, *REJOINED)),
    "flanneld hangs once (OPS-05)": Event(hang(1), seconds=(("overlay-network", 24),)),
    "everything at once": Event(all_at_once, (*BOOTED, *REJOINED, *NEW_RANGE, "cni-config-folder")),
    "flanneld hangs for ever (OPS-05, OPS-07)": Event(
        hang(99), seconds=(("overlay-network", 9),), fails="adapter-missing", at="overlay-network"
    ),
    "the runtime dies (OPS-01)": _death("containerd", "runtime-down"),
    "the kubelet dies (OPS-01)": _death("kubelet", "kubelet-down"),
    "flanneld dies (OPS-01)": _death("flanneld", "flanneld-down"),
    "kube-proxy dies (OPS-01)": _death("kube-proxy", "proxy-down"),
    "Windows lacks an update (OS-06)": Event(windows_is(UBR=1), (), True, fails="build-refused", at="build"),
    "Windows is another one (OS-05)": Event(
        windows_is(CurrentBuildNumber="20348"), (), True, fails="build-refused", at="build"
    ),
}

SHORT = (
    "the power goes (NET-14, SRV-11)",
    "the pod range is another one (OPS-04)",
    "everything at once",
    "flanneld hangs for ever (OPS-05, OPS-07)",
    "the kubelet dies (OPS-01)",
    "Windows lacks an update (OS-06)",
)
"""What `make test` has of them; the others are for `make soak`."""
