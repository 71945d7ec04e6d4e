"""What is around a booted cluster: its network with services, names, load balancers and a mirror of downloads."""

import asyncio
import ipaddress
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.aws.boots import MACHINES
from sandbox.aws.network import INSTANCE
from sandbox.boot import balancers, groups, mirror, names, spaces
from sandbox.boot.machine import Machine
from sandbox.boots import BOOTED
from sandbox.followers import FOLLOWERS
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS, Services
from sandbox.world import World
from tools.linuxnode import network

DNS_PORT, API_PORT = 53, 6443
NO_WINDOWS = "there is nothing here that runs Windows"


@dataclass
class Site:
    """One world's network while it is up."""

    world: World
    services: Services
    net: str
    folder: Path
    """Where disks of machines are."""
    images: Path
    """A /var/lib/containerd that each new disk begins with."""
    range: str
    """Of the network's addresses; the gateway and the resolver have the first two."""
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
        return str(ipaddress.ip_network(self.range)[2])

    def told(self, record: Record) -> dict[str, Any]:
        """The document in a machine's user-data: bundle, machine, facts."""
        found = MACHINES.document(record.inputs)
        if found is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return found

    def machine(self, name: str) -> Machine:
        """The machine of this name, joined to the network; KeyError where the world has none."""
        if name not in self.machines:
            records = {self.told(each)["machine"]["name"]: each for each in self.world.resources(INSTANCE)}
            record = records[name]
            space = f"{self.net}-{record.id}"
            network.add(self.net, record.id, record.outputs["privateIp"])
            self.machines[name] = Machine(self, record, name, self.folder / f"{name}-{record.id}", space)
            groups.apply(self.machines[name].space, self.firewall(record))
        return self.machines[name]

    def not_bootable(self, record: Record) -> str:
        """Why a machine cannot boot here; empty where it can."""
        windows = str(record.inputs.get("userData", "")).startswith("<powershell>")
        return NO_WINDOWS if windows else ""

    def firewall(self, record: Record) -> str:
        """A machine's security groups, as nft reads them."""
        routed = "pod_cidr" in self.told(record)["machine"]
        found = groups.permissions(self.world, record)
        return groups.rules(found, self.range, self.gateway, self.resolver, routed=routed)

    def forget(self, name: str) -> None:
        """A machine that the cloud has no more: off, and its disk and its place in the network gone."""
        machine = self.machines.pop(name)
        machine.cut()
        shutil.rmtree(machine.folder, ignore_errors=True)
        network.remove(machine.space)

    def names(self, pool: str) -> list[str]:
        """Names of a pool's machines, or of control-plane, in order."""
        told = [self.told(each)["machine"] for each in self.world.resources(INSTANCE)]
        return sorted(each["name"] for each in told if each["pool"] == pool)

    def status(self, record: Record) -> tuple[str, str]:
        """Bucket and key of a machine's status record."""
        return MACHINES.place(MACHINES.status_url(self.told(record), record.id))


def _begin(world: World) -> None:
    """Take away what the sandbox wrote in the place of its machines: from now on they are real."""
    with world.transaction():
        world.set_setting(BOOTED, "yes")
        for record in world.resources(INSTANCE):
            if found := MACHINES.document(record.inputs):
                world.remove_object(*MACHINES.place(MACHINES.status_url(found, record.id)))
        world.set_setting(FOLLOWERS, "{}")


@contextmanager
def site(world: World, net: str, folder: Path, images: Path, downloads: Path) -> Iterator[Site]:
    """The network `net` with all that stands in it; machines are cut and all of it is gone when the context ends.

    downloads: a mirror, served at the address that lab.yaml names.
    """
    _begin(world)
    cidr = ipaddress.ip_network(_range(world))
    gateway, resolver = str(cidr[1]), str(cidr[2])
    network.up(net, str(cidr))
    here: Site | None = None
    try:
        forwarders = balancers.forwarders(world)
        for address in (METADATA_ADDRESS, resolver, *sorted({each.address for each in forwarders})):
            network.run("-n", net, "addr", "add", f"{address}/32", "dev", "br0")
        way_in = _way_in(world, gateway)
        with (
            Services(world.path) as services,
            _mirror(net, gateway, downloads),
            _loop(net, world, gateway, resolver, [*forwarders, way_in]),
        ):
            for address in (gateway, METADATA_ADDRESS):
                spaces.within(net, partial(services.listen, address, 80))
            here = Site(world, services, net, folder, images, str(cidr), f"https://{way_in.address}:{way_in.port}")
            try:
                yield here
            finally:
                for each in list(here.machines.values()):
                    each.cut()
    finally:
        network.down(net)
        with world.transaction():
            world.set_setting(BOOTED, "")


def _way_in(world: World, services: str) -> balancers.Forwarder:
    """From a port of this host's loopback to where the endpoint's name leads."""
    hosts = {
        told["facts"]["api_host"] for each in world.resources(INSTANCE) if (told := MACHINES.document(each.inputs))
    }
    targets = [(address, API_PORT) for host in hosts for address in names.addresses(world, host, services) or []]
    listener = socket.create_server(("127.0.0.1", 0))
    address, port = listener.getsockname()
    return balancers.Forwarder(address, port, {}, targets, listener=listener)


def _range(world: World) -> str:
    """The one network of the world."""
    return world.resources("aws:ec2/vpc:Vpc")[0].inputs["cidrBlock"]


@contextmanager
def _mirror(net: str, address: str, folder: Path) -> Iterator[None]:
    server = spaces.within(net, lambda: mirror.server(address, folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _loop(net: str, world: World, gateway: str, resolver: str, forwarders: list[balancers.Forwarder]) -> Iterator[None]:
    """Name server and load balancers, in a thread of their own."""
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def run() -> None:
        loop, own = asyncio.get_running_loop(), World(world.path)
        done = asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(done.set))
        protocol = names.Names(lambda name: names.addresses(own, name, gateway))
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

    thread = spaces.thread(net, lambda: asyncio.run(run()))
    ready.wait(10)
    try:
        yield
    finally:
        for end in ends:
            end()
        thread.join(10)
