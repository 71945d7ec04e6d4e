"""What is around booted machines in one cloud: how they find their user-data, names, services, firewalls, balancers.

Each cloud has its own in `booted.py` beside its tables (AROUND).
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
"""Asks the metadata service from a machine's own network: method, path, headers -> body."""


@dataclass(frozen=True)
class Around:
    """One cloud.

    machines: what the sandbox knows of them. address: the planned private one of a machine. user_data: of a machine,
    asked for as cloud-init does. range: of all nodes. resolver: where machines send questions for names, by that range.
    services: names of the cloud's services. names: every address of a name of the world, None where there is no such
    name. permissions: what the rules for a machine let in and out. forwarders: what internal load balancers are.
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

    def records(self, cloud_state: CloudState) -> list[Record]:
        """All machines."""
        return cloud_state.resources(self.machines.type)

    def find(self, cloud_state: CloudState, instance: str) -> Record | None:
        """The machine that the cloud calls so towards itself."""
        return next((each for each in self.records(cloud_state) if self.machines.instance(each) == instance), None)

    def status(self, record: Record) -> tuple[str, str] | None:
        """Bucket and key of a machine's status record; None where its user-data has no document."""
        found = self.machines.document(record.inputs)
        url = self.machines.status_url(found, self.machines.instance(record)) if found else None
        return self.machines.place(url) if url else None


def balanced(forwarders: Iterable[Forwarder], address: str) -> Iterator[Permission]:
    """What lets through the load balancers that the machine with this address is behind."""
    for each in forwarders:
        if address in {target for target, _ in each.targets}:
            yield Permission(True, "tcp", each.port, each.port, (each.address,))


def of(cloud_state: CloudState) -> Around:
    """The cloud that a world's oldest thing is in; AWS's for a world with nothing in it."""
    oldest = cloud_state.oldest()
    package = clouds.package(oldest.type) if oldest else clouds.CLOUDS["aws"].package
    return cast("Around", importlib.import_module(f"{package}.boot_services").AROUND)
