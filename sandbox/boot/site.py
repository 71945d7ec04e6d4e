"""What is around a booted cluster: its network with services, names, load balancers and a mirror of downloads."""

import asyncio
import ipaddress
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.aws.boots import BOOTED
from sandbox.aws.followers import FOLLOWERS
from sandbox.aws.machine import document, place, status_url
from sandbox.aws.network import INSTANCE
from sandbox.boot import balancers, mirror, names, spaces
from sandbox.boot.machine import Machine
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS, Services
from sandbox.world import World
from tools.linuxnode import network

DNS_PORT = 53


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
    gateway: str
    resolver: str
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    """Those that were joined, by name."""

    def told(self, record: Record) -> dict[str, Any]:
        """The document in a machine's user-data: bundle, machine, facts."""
        found = document(record.inputs)
        if found is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return found

    def machine(self, name: str) -> Machine:
        """The machine of this name, joined to the network; KeyError where the world has none."""
        if name not in self.machines:
            records = {self.told(each)["machine"]["name"]: each for each in self.world.resources(INSTANCE)}
            record = records[name]
            network.add(self.net, record.id, record.outputs["privateIp"])
            self.machines[name] = Machine(self, record, name, self.folder / name, f"{self.net}-{record.id}")
        return self.machines[name]

    def forget(self, name: str) -> None:
        """A machine that the cloud has no more: off, and its disk and its place in the network gone."""
        machine = self.machines.pop(name)
        machine.cut()
        shutil.rmtree(machine.folder)
        network.remove(machine.space)

    def names(self, pool: str) -> list[str]:
        """Names of a pool's machines, or of control-plane, in order."""
        told = [self.told(each)["machine"] for each in self.world.resources(INSTANCE)]
        return sorted(each["name"] for each in told if each["pool"] == pool)

    def status(self, record: Record) -> tuple[str, str]:
        """Bucket and key of a machine's status record."""
        return place(status_url(self.told(record), record.id))


def _begin(world: World) -> None:
    """Take away what the sandbox wrote in the place of its machines: from now on they are real."""
    with world.transaction():
        world.set_setting(BOOTED, "yes")
        for record in world.resources(INSTANCE):
            if found := document(record.inputs):
                world.remove_object(*place(status_url(found, record.id)))
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
        with (
            Services(world.path) as services,
            _mirror(net, gateway, downloads),
            _loop(net, world, gateway, resolver, forwarders),
        ):
            for address in (gateway, METADATA_ADDRESS):
                spaces.within(net, partial(services.listen, address, 80))
            here = Site(world, services, net, folder, images, gateway, resolver)
            try:
                yield here
            finally:
                for each in here.machines.values():
                    each.cut()
    finally:
        network.down(net)
        with world.transaction():
            world.set_setting(BOOTED, "")


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
