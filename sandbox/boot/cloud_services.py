"""Services of one cloud for booted machines: user-data, addresses, names, firewall rules, load balancers.

Each cloud has its own in `boot_services.py` beside its tables (CLOUD_SERVICES).
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import cast

from sandbox import clouds
from sandbox.boot.balancers import Forwarder
from sandbox.boot.firewalls import Permission
from sandbox.cloud_state import CloudState
from sandbox.machines import Machines
from sandbox.records import Record

Ask = Callable[[str, str, dict[str, str]], bytes]
"""Sends a request to the metadata service from a machine's network namespace: method, path, headers -> body."""


@dataclass(frozen=True)
class CloudServices:
    """How one cloud serves its machines.

    machines: how the cloud's tables describe machines. address: a machine's planned private address.
    user_data: a machine's user-data, requested as cloud-init does. range: address range of all nodes.
    resolver: address of the name server in that range. services: pattern of the host names of the cloud's services.
    reached: whether all machines have a way to the cloud's service with this host name.
    names: all addresses of a name in the cloud's private zones, None if the name does not exist.
    permissions: firewall rules that apply to a machine. forwarders: internal load balancers.
    """

    machines: Machines
    address: Callable[[CloudState, Record], str]
    user_data: Callable[[Record, Ask], bytes]
    range: Callable[[CloudState], IPv4Network]
    resolver: Callable[[IPv4Network], str]
    services: re.Pattern[str]
    names: Callable[[CloudState, str], list[str] | None]
    permissions: Callable[[CloudState, Record], list[Permission]]
    forwarders: Callable[[CloudState], list[Forwarder]]
    reached: Callable[[CloudState, str], bool] = lambda *_: True

    def records(self, cloud_state: CloudState) -> list[Record]:
        """Return all machines."""
        return cloud_state.resources(self.machines.type)

    def find(self, cloud_state: CloudState, instance: str) -> Record | None:
        """Return the machine with this instance id, or None."""
        records = self.records(cloud_state)
        return next((record for record in records if self.machines.instance(record) == instance), None)

    def status(self, record: Record) -> tuple[str, str] | None:
        """Return bucket and key of a machine's status record; None if its user-data holds no document of Mullion."""
        document = self.machines.document(record.inputs)
        url = self.machines.status_url(document, self.machines.instance(record)) if document else None
        return self.machines.place(url) if url else None


def balanced(forwarders: Iterable[Forwarder], address: str) -> Iterator[Permission]:
    """Yield the rules that let load balancers reach the target with this address."""
    for forwarder in forwarders:
        ports = {port for target, port in forwarder.targets if target == address}
        checked = {int(forwarder.check["port"])} if ports and forwarder.check.get("port") else set[int]()
        for port in sorted(ports | checked):
            yield Permission(True, "tcp", port, port, (forwarder.address,))


def services_of(cloud_state: CloudState) -> CloudServices:
    """Return the services of the cloud that holds the oldest resource; those of AWS if there is no resource."""
    oldest = cloud_state.oldest()
    package = clouds.package(oldest.type) if oldest else clouds.CLOUDS["aws"].package
    return cast("CloudServices", importlib.import_module(f"{package}.boot_services").CLOUD_SERVICES)
