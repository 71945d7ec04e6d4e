"""A booted cluster: its network with cloud services, name server, load balancers and mirror, and its machines."""

import asyncio
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lab import cluster as programs
from lab.linuxnode import network
from sandbox.boot import balancers, firewalls, mirror, name_server, network_namespaces, session_sources
from sandbox.boot.cloud_services import CloudServices, services_of
from sandbox.boot.cluster_network import ClusterNetwork
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
"""First characters of a Linux machine's user-data."""


@dataclass
class BootedCluster(ClusterNetwork):
    """A cluster's network, and the machines that are joined to it."""

    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    """Joined machines by name."""

    def machine(self, name: str) -> Machine:
        """Return the machine of this name, joined to the network. Raises KeyError if the cloud state has none."""
        if name not in self.machines:
            records = self.cloud_services.records(self.cloud_state)
            record = {self.document(record)["machine"]["name"]: record for record in records}[name]
            instance = self.cloud_services.machines.instance(record)
            network.add(self.net, instance, self.address(record))
            folder, space = self.folder / f"{name}-{instance}", f"{self.net}-{instance}"
            new = Machine if self._is_linux(record) else _windows(name)
            self.machines[name] = new(self, record, name, folder, space, self.plan(record))
            firewalls.apply(self.machines[name].space, self.firewall(record))
        return self.machines[name]

    def not_bootable(self, record: Record) -> str:
        """Return why a machine cannot boot on this host; empty if it can."""
        return "" if self._is_linux(record) else hosts.why_not(self.document(record)["machine"]["name"])

    def _is_linux(self, record: Record) -> bool:
        return self.cloud_services.machines.user_data(record.inputs).startswith(LINUX)

    def remove(self, name: str) -> None:
        """Stop a machine that the cloud deleted, and remove its disk and its network namespace."""
        machine = self.machines.pop(name)
        machine.cut()
        shutil.rmtree(machine.folder, ignore_errors=True)
        network.remove(machine.space)


def _windows(name: str) -> Callable[..., Machine]:
    """Return the constructor of a Windows machine: on the Windows Server that is named for it, else under Wine."""
    host = hosts.hosts().get(name)
    return partial(WindowsHost, host=host) if host else WindowsMachine


def _end_simulation(cloud_state: CloudState, cloud_services: CloudServices) -> None:
    """Remove what the sandbox wrote on behalf of simulated machines: real machines write from now on."""
    with cloud_state.transaction():
        cloud_state.set_setting(BOOTED, "yes")
        for record in cloud_services.records(cloud_state):
            if place := cloud_services.status(record):
                cloud_state.remove_object(*place)
        cloud_state.set_setting(FOLLOWERS, "{}")


@contextmanager
def booted_cluster(cloud_state: CloudState, net: str, folder: Path, versions: Sequence[str]) -> Iterator[BootedCluster]:
    """Create the network `net` with its services; at the end, stop the machines and remove the network.

    versions: versions of Kubernetes whose programs and images the mirror of lab.yaml serves.
    """
    cloud_services = services_of(cloud_state)
    _end_simulation(cloud_state, cloud_services)
    cidr = cloud_services.range(cloud_state)
    gateway, resolver = str(cidr[1]), cloud_services.resolver(cidr)
    network.up(net, str(cidr))
    try:
        forwarders = cloud_services.forwarders(cloud_state)
        addresses = {METADATA_ADDRESS, resolver, *session_sources.addresses(cloud_state)}
        addresses.update(forwarder.address for forwarder in forwarders)
        for address in sorted(addresses):
            network.run("-n", net, "addr", "add", f"{address}/32", "dev", "br0")
        api_port = _api_port(cloud_state, cloud_services, gateway)
        with (
            Services(cloud_state.path) as services,
            _mirror(net, gateway, [programs.folder(version) for version in versions]),
            _loop(net, cloud_state, gateway, resolver, [*forwarders, api_port]),
        ):
            for address in (gateway, METADATA_ADDRESS):
                network_namespaces.within(net, partial(services.listen, address, 80))
            api = f"https://{api_port.address}:{api_port.port}"
            cluster = BootedCluster(cloud_state, cloud_services, services, net, folder, str(cidr), api)
            try:
                yield cluster
            finally:
                for machine in list(cluster.machines.values()):
                    machine.cut()
    finally:
        network.down(net)
        with cloud_state.transaction():
            cloud_state.set_setting(BOOTED, "")


def _api_port(cloud_state: CloudState, cloud_services: CloudServices, services: str) -> balancers.Forwarder:
    """Return the forwarder from a loopback port of this host to the addresses of the cluster's API endpoint."""
    records = cloud_services.records(cloud_state)
    documents = (cloud_services.machines.document(record.inputs) for record in records)
    api_hosts = {document["facts"]["api_host"] for document in documents if document}
    targets = [
        (address, API_PORT)
        for api_host in api_hosts
        for address in name_server.addresses(cloud_state, api_host, services) or []
    ]
    listener = socket.create_server(("127.0.0.1", 0))
    address, port = listener.getsockname()
    return balancers.Forwarder(address, port, {}, targets, listener=listener)


@contextmanager
def _mirror(net: str, address: str, folders: Sequence[Path]) -> Iterator[None]:
    server = network_namespaces.within(net, lambda: mirror.server(address, folders))
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
    """Run name server and load balancers in one thread."""
    ready = threading.Event()
    stops: list[Callable[[], object]] = []

    async def run() -> None:
        # a connection to the cloud state belongs to one thread
        loop, thread_state = asyncio.get_running_loop(), CloudState(cloud_state.path)
        stopped = asyncio.Event()
        stops.append(lambda: loop.call_soon_threadsafe(stopped.set))
        protocol = name_server.Names(lambda name: name_server.addresses(thread_state, name, gateway))
        transport, _ = await loop.create_datagram_endpoint(lambda: protocol, (resolver, DNS_PORT))
        # asyncio.run cancels tasks that still serve when this function returns
        serving = [loop.create_task(balancers.serve(forwarder)) for forwarder in forwarders]
        ready.set()
        await asyncio.wait([loop.create_task(stopped.wait()), *serving], return_when=asyncio.FIRST_COMPLETED)
        transport.close()
        thread_state.close()
        for task in serving:
            if task.done():
                task.result()  # raises the error that ended it

    thread = network_namespaces.thread(net, lambda: asyncio.run(run()))
    ready.wait(10)
    try:
        yield
    finally:
        for stop in stops:
            stop()
        thread.join(10)
