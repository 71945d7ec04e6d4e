"""Addresses from which the clouds' session services connect to booted machines."""

from ipaddress import IPv4Network

from components import clouds
from sandbox.azure.names import BASTION, SUBNET
from sandbox.azure.networks import RESERVED, prefix
from sandbox.cloud_state import CloudState
from sandbox.records import Record

SERVICES = tuple(str(sources[1]) for each in clouds.CLOUDS.values() for sources in each.session_sources)
"""One address of each range from which a cloud's service connects."""


def of_bastion(cloud_state: CloudState, host: Record) -> str:
    """Return an address of the subnet of a Bastion host. Raises LookupError if it has none."""
    for configuration in host.inputs.get("ipConfigurations") or []:
        if subnet := cloud_state.find(SUBNET.token, configuration["subnet"]["id"]):
            return str(IPv4Network(prefix(subnet.inputs))[RESERVED])
    raise LookupError(f"{host.id} is in no subnet")


def addresses(cloud_state: CloudState) -> list[str]:
    """Return the addresses from which sessions come in this sandbox."""
    return [*SERVICES, *(of_bastion(cloud_state, host) for host in cloud_state.resources(BASTION.token))]
