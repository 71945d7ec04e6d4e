"""The network of a booted cluster: its addresses, and its machines as the cloud state and their bundles plan them."""

import io
import ipaddress
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.machine.bundle import PLAN
from sandbox.boot import firewalls
from sandbox.boot.cloud_services import CloudServices
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.server import Services


@dataclass
class ClusterNetwork:
    """Network of one cluster while it is up."""

    cloud_state: CloudState
    cloud_services: CloudServices
    services: Services
    net: str
    """Name of its network namespace."""
    folder: Path
    """Folder of the machines' disks."""
    range: str
    """Range of its addresses; the first address is the gateway's."""
    api: str
    """URL of the cluster's API on this host."""

    @property
    def gateway(self) -> str:
        """Address of services and mirror."""
        return str(ipaddress.ip_network(self.range)[1])

    @property
    def resolver(self) -> str:
        """Address of the name server."""
        return self.cloud_services.resolver(ipaddress.IPv4Network(self.range))

    def address(self, record: Record) -> str:
        """Return a machine's planned address."""
        return self.cloud_services.address(self.cloud_state, record)

    def document(self, record: Record) -> dict[str, Any]:
        """Return the document in a machine's user-data: bundle, machine, facts. Raises ValueError if it has none."""
        document = self.cloud_services.machines.document(record.inputs)
        if document is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return document

    def plan(self, record: Record) -> dict[str, Any]:
        """Return the plan in a machine's bundle."""
        url = self.document(record)["bundle"]["url"]
        stored = self.cloud_state.object(*self.cloud_services.machines.place(url))
        with zipfile.ZipFile(io.BytesIO(stored.content if stored else b"")) as bundle:
            return json.loads(bundle.read(PLAN))

    def firewall(self, record: Record) -> str:
        """Return a machine's firewall rules for nft."""
        routed = "pod_cidr" in self.document(record)["machine"]
        permissions = self.cloud_services.permissions(self.cloud_state, record)
        return firewalls.rules(permissions, self.range, self.gateway, self.resolver, routed=routed)

    def machine_names(self, pool: str) -> list[str]:
        """Return the names of a pool's machines in order; the control planes are pool `control-plane`."""
        records = self.cloud_services.records(self.cloud_state)
        machines = [self.document(record)["machine"] for record in records]
        return sorted(machine["name"] for machine in machines if machine["pool"] == pool)

    def status_object(self, record: Record) -> tuple[str, str]:
        """Return bucket and key of a machine's status record. Raises ValueError if its user-data has no document."""
        place = self.cloud_services.status(record)
        if place is None:
            raise ValueError(f"{record.id} has user-data without a document of Mullion")
        return place
