"""How machines reach Google's APIs without a default route: Private Google Access.

It needs the subnetwork's setting, a private zone that names the addresses of private.googleapis.com or
restricted.googleapis.com, and a route to these (VPC, "Configure Private Google Access").
"""

from ipaddress import IPv4Address, IPv4Network

from sandbox.cloud_state import CloudState
from sandbox.gcp.dns import RECORD, ZONE
from sandbox.gcp.names import INSTANCE, NETWORK, ROUTE, SUBNETWORK, bare
from sandbox.gcp.networks import GATEWAY
from sandbox.records import Record

EVERYWHERE = IPv4Network("0.0.0.0/0")
PRIVATE, RESTRICTED = IPv4Network("199.36.153.8/30"), IPv4Network("199.36.153.4/30")
HOSTS = ("storage.googleapis.com", "secretmanager.googleapis.com")
"""Hosts that each machine asks; control planes also ask compute.googleapis.com."""


def gateway_routes(cloud_state: CloudState, network: str) -> list[IPv4Network]:
    """Return the destinations of a network's routes to the default internet gateway."""
    record = cloud_state.find(NETWORK, network)
    made = record is not None and not record.inputs.get("deleteDefaultRoutesOnCreate")
    routes = [one.inputs for one in cloud_state.referrers(NETWORK, network) if one.type == ROUTE]
    found = [IPv4Network(one["destRange"]) for one in routes if str(one.get("nextHopGateway")).endswith(GATEWAY)]
    return [*found, *([EVERYWHERE] if made else [])]


def missing(cloud_state: CloudState, machine: Record, host: str) -> str:
    """Return why a machine cannot reach a host of Google's APIs privately; empty if it can."""
    face = machine.outputs["networkInterfaces"][0]
    subnetwork, network = cloud_state.find(SUBNETWORK, bare(face["subnetwork"])), bare(face["network"])
    if subnetwork is None or not subnetwork.inputs.get("privateIpGoogleAccess"):
        return f"{bare(face['subnetwork'])} has no Private Google Access"
    named = _addresses(cloud_state, network, f"{host}.")
    if not named or not all(each in PRIVATE or each in RESTRICTED for each in named):
        return f"no private zone of {network} gives {host} the addresses of private.googleapis.com"
    routes = gateway_routes(cloud_state, network)
    lost = [each for each in named if not any(each in route for route in routes)]
    return f"{network} has no route to {lost[0]}" if lost else ""


def is_reached(cloud_state: CloudState, host: str) -> bool:
    """Return whether every machine has a way to this host: a default route, or Private Google Access."""
    for machine in cloud_state.resources(INSTANCE):
        network = bare(machine.outputs["networkInterfaces"][0]["network"])
        if EVERYWHERE not in gateway_routes(cloud_state, network) and missing(cloud_state, machine, host):
            return False
    return True


def _addresses(cloud_state: CloudState, network: str, name: str, depth: int = 0) -> list[IPv4Address]:
    """Return what the private zones of a network answer for a name: its own record, else the wildcard's."""
    zones = [one for one in cloud_state.referrers(NETWORK, network) if one.type == ZONE]
    records = [
        one.inputs for zone in zones for one in cloud_state.referrers(ZONE, zone.id, "vanish") if one.type == RECORD
    ]
    wild = f"*.{name.partition('.')[2]}"
    found = [row for row in records if row["name"] == name] or [row for row in records if row["name"] == wild]
    for row in found:
        if row["type"] == "A":
            return [IPv4Address(each) for each in row["rrdatas"]]
        if row["type"] == "CNAME" and depth == 0:
            return _addresses(cloud_state, network, row["rrdatas"][0], depth + 1)
    return []
