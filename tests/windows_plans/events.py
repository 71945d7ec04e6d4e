"""Events of Windows nodes: each row changes a machine, and says how its next run must end."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.boot.windows.winpwsh import BOOKS
from tests.conformance.windows_hns import backend, balance
from tests.windows_plans.health import CNI, LEASES, PROXY, SUBNET_FILE, vip_of
from tests.windows_plans.server import Node

CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
OTHER_CLUSTER = "FLANNEL_NETWORK=172.30.0.0/16\nFLANNEL_SUBNET=172.30.5.1/24\nFLANNEL_MTU=1400\nFLANNEL_IPMASQ=false\n"
ROUTES = ("metadata-route-before-kubelet", "metadata-route", "metadata-route-holds")
BOOTED = ("last-boot", "kubelet", "flanneld", "overlay-network", *ROUTES, "cni-config", "kube-proxy")
"""Steps that every boot sets: HNS and routes are in memory, no service on the network starts by itself, and the CNI
file is written after the network."""
REJOINED = ("bootstrap", "node-certificate", "joined")
NEW_RANGE = ("stale-network", "source-vip", "kube-proxy-config")
AWAY_SECONDS = 2.0


@dataclass(frozen=True)
class Event:
    """One event. `happens` changes the machine while it is off, or, if `on` is set, while it is on. The next run sets
    only the steps in `sets`; all others hold."""

    happens: Callable[[Node], None]
    sets: tuple[str, ...] = BOOTED
    on: bool = False
    seconds: tuple[tuple[str, int], ...] = ()
    """Changed timeouts of steps."""
    fails: str | None = None
    """Name of the error with which the run ends."""
    at: str = ""
    """Step of the error."""


def nothing(_: Node) -> None:
    """Only cut the power."""


def address_comes_late(worker: Node) -> None:
    """The virtual switch returns the address late (NET-14)."""
    worker.node_network.ip(worker.space, "addr", "del", f"{worker.address}/16", "dev", "eth0")
    threading.Timer(AWAY_SECONDS, lambda: _address(worker)).start()


def _address(worker: Node) -> None:
    worker.node_network.ip(worker.space, "addr", "add", f"{worker.address}/16", "dev", "eth0")
    worker.node_network.ip(worker.space, "route", "add", "default", "via", "10.20.0.1")


def other_range(worker: Node) -> None:
    """The controller manager assigned another range; load balancers still belong to the old network."""
    spec = worker.node_network.api.nodes[worker.name]["spec"]
    third = int(spec["podCIDR"].split(".")[2]) + 40
    spec["podCIDR"] = f"10.244.{third}.0/24"
    (network,) = (each for each in worker.last["networks"] if each["Type"] == "Overlay")
    kept = ("Name", "Type", "Flags", "Subnets")
    worker.ask("POST", "/networks", {key: network[key] for key in kept})
    balance(worker.hns, "web", backend(worker.hns), "10.96.0.50")


def no_node(worker: Node) -> None:
    """The Node object was deleted."""
    del worker.node_network.api.nodes[worker.name]


def stale_vip(worker: Node) -> None:
    """kube-proxy's address is of an earlier range of the node."""
    folder = worker.machine.path(LEASES)
    (folder / vip_of(worker)).rename(folder / "10.244.99.2")
    place = worker.machine.path(PROXY)
    place.write_text(place.read_text().replace(vip_of(worker), "10.244.99.2"))


def stale_leases(worker: Node) -> None:
    """Reservations of pods from before the boot are left."""
    vip = vip_of(worker)
    for last in (7, 8):
        place = worker.machine.path(LEASES) / f"{vip.rpartition('.')[0]}.{last}"
        place.write_text(f"0123456789abcdef{last}\r\neth0")


def no_metadata_route(worker: Node) -> None:
    """The metadata route was deleted."""
    worker.change("routes", {})


def other_subnet_file(worker: Node) -> None:
    """OPS-06: subnet.env is of another cluster."""
    worker.machine.path(SUBNET_FILE).write_text(OTHER_CLUSTER)


def docker_nat(worker: Node) -> None:
    """NET-02: a CNI file sorts before flannel's."""
    (worker.machine.path(CNI) / "0-nat.json").write_text(json.dumps({"name": "nat", "type": "nat"}))


def nat_network(worker: Node) -> None:
    """NET-02: another program has a NAT network."""
    subnet = {"AddressPrefix": "172.29.0.0/20", "GatewayAddress": "172.29.0.1"}
    worker.ask("POST", "/networks", {"Name": "nat", "Type": "nat", "Subnets": [subnet]})


def hang(times: int) -> Callable[[Node], None]:
    """OPS-05: let this many starts of flanneld hang."""
    return lambda worker: worker.change("flanneld", {"hangs": times})


def lost_certificate(worker: Node) -> None:
    """The node's certificate was deleted."""
    worker.machine.path(CERTIFICATE).unlink()


def all_at_once(worker: Node) -> None:
    """Combine all damages that a boot repairs."""
    repaired = (stale_leases, other_subnet_file, docker_nat, nat_network, no_node, lost_certificate)
    for each in (*repaired, address_comes_late):
        each(worker)


def dies(service: str) -> Callable[[Node], None]:
    """The service exits a second after each start."""

    def happen(worker: Node) -> None:
        worker.change("faults", {service: "dies"})
        worker.driver.call("arrange", fakes=BOOKS, values=[], variables={}, services={service: "stopped"})

    return happen


def windows_is(**values: Any) -> Callable[[Node], None]:
    """OS-05, OS-06: Windows has another build or revision than planned."""
    return lambda worker: worker.set_version(**values)


def _death(service: str, error: str, *sets: str) -> Event:
    return Event(dies(service), sets, True, ((f"{service}-runs", 4),), error, f"{service}-runs")


EVENTS: dict[str, Event] = {
    "the power is cut (NET-14, SRV-11)": Event(nothing),
    "the address comes back late (NET-14)": Event(address_comes_late),
    "the pod range changes (OPS-04)": Event(other_range, (*BOOTED, *NEW_RANGE)),
    "the Node object is deleted": Event(no_node, (*BOOTED, "joined", *NEW_RANGE)),
    "the source VIP is of an earlier range (OPS-04)": Event(stale_vip, (*BOOTED, *NEW_RANGE)),
    "reservations of earlier pods are left (OPS-04)": Event(stale_leases),
    "the metadata route is gone": Event(no_metadata_route, ROUTES[:1], on=True),
    "subnet.env is another cluster's (OPS-06)": Event(other_subnet_file, (*BOOTED, "stale-network")),
    "a NAT file sorts before flannel's CNI file (NET-02)": Event(docker_nat, (*BOOTED, "cni-config-folder")),
    "another program has a NAT network (NET-02)": Event(nat_network),
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
    "Windows has another build (OS-05)": Event(
        windows_is(CurrentBuildNumber="20348"), (), True, fails="build-refused", at="build"
    ),
}

SHORT = (
    "the power is cut (NET-14, SRV-11)",
    "the pod range changes (OPS-04)",
    "everything at once",
    "flanneld hangs for ever (OPS-05, OPS-07)",
    "the kubelet dies (OPS-01)",
    "Windows lacks an update (OS-06)",
)
"""Events of `make test`; `make soak` has all."""
