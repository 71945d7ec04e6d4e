"""What is around a booted cluster: its network with services, names, load balancers and a mirror of downloads."""

import asyncio
import io
import ipaddress
import json
import shutil
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from components.machine.bundle import PLAN
from lab import cluster as programs
from lab.linuxnode import network
from sandbox.boot import balancers, firewalls, mirror, name_server, network_namespaces
from sandbox.boot.cloud_services import Around, of
from sandbox.boot.machine import Machine
from sandbox.boot.windows import hosts
from sandbox.boot.windows.host import WindowsHost
from sandbox.boot.windows.machine import WindowsMachine
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS, Services
from sandbox.simulated_agents import FOLLOWERS
from sandbox.simulated_boot import BOOTED

DNS_PORT, API_PORT = 53, 6443
LINUX = "#cloud-config"
"""How a Linux machine's user-data begins."""


@dataclass
class Site:
    """One world's network while it is up."""

    cloud_state: CloudState
    around: Around
    services: Services
    net: str
    folder: Path
    """Where disks of machines are."""
    range: str
    """Of the network's addresses; the first is the gateway's."""
    api: str
    """URL of the cluster's API on this host."""
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    """Those that were joined, by name."""

    @property
    def gateway(self) -> str:
        """Where services and mirror are."""
        return str(ipaddress.ip_network(self.range)[1])

    @property
    def resolver(self) -> str:
        """Where names are answered."""
        return self.around.resolver(ipaddress.IPv4Network(self.range))

    def told(self, record: Record) -> dict[str, Any]:
        """The document in a machine's user-data: bundle, machine, facts."""
        found = self.around.machines.document(record.inputs)
        if found is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return found

    def plan(self, record: Record) -> dict[str, Any]:
        """The plan in a machine's bundle."""
        stored = self.cloud_state.object(*self.around.machines.place(self.told(record)["bundle"]["url"]))
        with zipfile.ZipFile(io.BytesIO(stored.content if stored else b"")) as bundle:
            return json.loads(bundle.read(PLAN))

    def machine(self, name: str) -> Machine:
        """The machine of this name, joined to the network; KeyError where the world has none."""
        if name not in self.machines:
            records = {self.told(each)["machine"]["name"]: each for each in self.around.records(self.cloud_state)}
            record = records[name]
            instance = self.around.machines.instance(record)
            network.add(self.net, instance, self.around.address(self.cloud_state, record))
            folder, space = self.folder / f"{name}-{instance}", f"{self.net}-{instance}"
            form = Machine if self._is_linux(record) else _windows(name)
            self.machines[name] = form(self, record, name, folder, space, self.plan(record))
            firewalls.apply(self.machines[name].space, self.firewall(record))
        return self.machines[name]

    def not_bootable(self, record: Record) -> str:
        """Why a machine cannot boot here; empty where it can."""
        return "" if self._is_linux(record) else hosts.why_not(self.told(record)["machine"]["name"])

    def _is_linux(self, record: Record) -> bool:
        return self.around.machines.user_data(record.inputs).startswith(LINUX)

    def firewall(self, record: Record) -> str:
        """A machine's security groups, as nft reads them."""
        routed = "pod_cidr" in self.told(record)["machine"]
        found = self.around.permissions(self.cloud_state, record)
        return firewalls.rules(found, self.range, self.gateway, self.resolver, routed=routed)

    def forget(self, name: str) -> None:
        """A machine that the cloud has no more: off, and its disk and its place in the network gone."""
        machine = self.machines.pop(name)
        machine.cut()
        shutil.rmtree(machine.folder, ignore_errors=True)
        network.remove(machine.space)

    def names(self, pool: str) -> list[str]:
        """Names of a pool's machines, or of control-plane, in order."""
        told = [self.told(each)["machine"] for each in self.around.records(self.cloud_state)]
        return sorted(each["name"] for each in told if each["pool"] == pool)

    def status(self, record: Record) -> tuple[str, str]:
        """Bucket and key of a machine's status record."""
        place = self.around.status(record)
        if place is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return place


def _windows(name: str) -> Callable[..., Machine]:
    """What makes the Windows machine of this name: on the real host that is told for it, else under Wine."""
    host = hosts.hosts().get(name)
    return partial(WindowsHost, host=host) if host else WindowsMachine


def _begin(cloud_state: CloudState, around: Around) -> None:
    """Take away what the sandbox wrote in the place of its machines: from now on they are real."""
    with cloud_state.transaction():
        cloud_state.set_setting(BOOTED, "yes")
        for record in around.records(cloud_state):
            if place := around.status(record):
                cloud_state.remove_object(*place)
        cloud_state.set_setting(FOLLOWERS, "{}")


@contextmanager
def site(cloud_state: CloudState, net: str, folder: Path, versions: Sequence[str]) -> Iterator[Site]:
    """The network `net` with all that stands in it; machines are cut and all of it is gone when the context ends.

    versions: of Kubernetes, whose programs and images machines can download at the address that lab.yaml names.
    """
    around = of(cloud_state)
    _begin(cloud_state, around)
    cidr = around.range(cloud_state)
    gateway, resolver = str(cidr[1]), around.resolver(cidr)
    network.up(net, str(cidr))
    here: Site | None = None
    try:
        forwarders = around.forwarders(cloud_state)
        for address in sorted({METADATA_ADDRESS, resolver, *(each.address for each in forwarders)}):
            network.run("-n", net, "addr", "add", f"{address}/32", "dev", "br0")
        way_in = _way_in(cloud_state, around, gateway)
        with (
            Services(cloud_state.path) as services,
            _mirror(net, gateway, [programs.folder(each) for each in versions]),
            _loop(net, cloud_state, gateway, resolver, [*forwarders, way_in]),
        ):
            for address in (gateway, METADATA_ADDRESS):
                network_namespaces.within(net, partial(services.listen, address, 80))
            api = f"https://{way_in.address}:{way_in.port}"
            here = Site(cloud_state, around, services, net, folder, str(cidr), api)
            try:
                yield here
            finally:
                for each in list(here.machines.values()):
                    each.cut()
    finally:
        network.down(net)
        with cloud_state.transaction():
            cloud_state.set_setting(BOOTED, "")


def _way_in(cloud_state: CloudState, around: Around, services: str) -> balancers.Forwarder:
    """From a port of this host's loopback to where the endpoint's name leads."""
    documents = (around.machines.document(each.inputs) for each in around.records(cloud_state))
    hosts = {told["facts"]["api_host"] for told in documents if told}
    targets = [
        (address, API_PORT) for host in hosts for address in name_server.addresses(cloud_state, host, services) or []
    ]
    listener = socket.create_server(("127.0.0.1", 0))
    address, port = listener.getsockname()
    return balancers.Forwarder(address, port, {}, targets, listener=listener)


@contextmanager
def _mirror(net: str, address: str, made: Sequence[Path]) -> Iterator[None]:
    server = network_namespaces.within(net, lambda: mirror.server(address, made))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _loop(
    net: str, cloud_state: CloudState, gateway: str, resolver: str, forwarders: list[balancers.Forwarder]
) -> Iterator[None]:
    """Name server and load balancers, in a thread of their own."""
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def run() -> None:
        loop, own = asyncio.get_running_loop(), CloudState(cloud_state.path)
        done = asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(done.set))
        protocol = name_server.Names(lambda name: name_server.addresses(own, name, gateway))
        transport, _ = await loop.create_datagram_endpoint(lambda: protocol, (resolver, DNS_PORT))
        # what still serves when this ends is cancelled
        serving = [loop.create_task(balancers.serve(each)) for each in forwarders]
        ready.set()
        await asyncio.wait([loop.create_task(done.wait()), *serving], return_when=asyncio.FIRST_COMPLETED)
        transport.close()
        own.close()
        for each in serving:
            if each.done():
                each.result()  # raises what ended it

    thread = network_namespaces.thread(net, lambda: asyncio.run(run()))
    ready.wait(10)
    try:
        yield
    finally:
        for end in ends:
            end()
        thread.join(10)
