"""Network of booted machines on Azure: network security groups, private DNS, internal load balancers.

Machines ask 168.63.129.16 for names ("What is IP address 168.63.129.16"). The lab's load balancers are forwarders:
packets come from the balancer's address, so the machines behind it allow that address.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from sandbox.azure import private_ways
from sandbox.azure.boot_obstacles import MACHINES
from sandbox.azure.names import BALANCER, INTERFACE, NETWORK, RECORD, RULES
from sandbox.azure.networks import RUNNERS
from sandbox.boot.balancers import Forwarder
from sandbox.boot.cloud_services import CloudServices, balanced
from sandbox.boot.firewalls import ANYWHERE, NUMBERS, Permission
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.azure.machine import address

RESOLVER = "168.63.129.16"
SERVICES = re.compile(r"[a-z0-9-]+\.(?:vault\.azure\.net|blob\.core\.windows\.net)|management\.azure\.com")
ANYONE = ("*", "Internet", ANYWHERE)


def _user_data(machine: Record) -> bytes:
    """Return the disk on which the platform puts customData; no service has it."""
    return base64.b64decode(machine.inputs["osProfile"]["customData"])


def addresses(cloud_state: CloudState, name: str) -> list[str] | None:
    """Return the addresses of a name in the private zones."""
    for record in cloud_state.resources(RECORD.token):
        if record.inputs["recordType"] == "A" and record.outputs["fqdn"].rstrip(".").lower() == name:
            return [each["ipv4Address"] for each in record.inputs.get("aRecords") or []]
    return None


def _interfaces(cloud_state: CloudState, machine: Record) -> list[Record]:
    named = (machine.inputs.get("networkProfile") or {}).get("networkInterfaces") or []
    return list(filter(None, (cloud_state.find(INTERFACE.token, each["id"]) for each in named)))


def permissions(cloud_state: CloudState, machine: Record) -> list[Permission]:
    """Return the connections that the security groups of a machine's interfaces allow; Azure's default rules allow all
    out.

    Raises ValueError for an inbound deny rule before the last rule.
    """
    found: list[Permission] = []
    for face in _interfaces(cloud_state, machine):
        group = cloud_state.find(RULES.token, (face.inputs.get("networkSecurityGroup") or {}).get("id") or "")
        rules = sorted((group.inputs.get("securityRules") if group else None) or [], key=lambda rule: rule["priority"])
        inward = [rule["name"] for rule in rules if rule["direction"] == "Inbound"]
        if denied := [each["name"] for each in rules if each["access"] == "Deny" and each["name"] not in inward[-1:]]:
            raise ValueError(f"security rules that deny are not imitated here: {', '.join(denied)}")
        found += [each for rule in rules if rule["access"] == "Allow" for each in _permissions(cloud_state, rule)]
    out = Permission(False, "-1", 0, 0, (ANYWHERE,))
    return [*found, out, *balanced(forwarders(cloud_state), address(cloud_state, machine))]


def _permissions(cloud_state: CloudState, rule: dict[str, Any]) -> Iterator[Permission]:
    ingress = rule["direction"] == "Inbound"
    side = "source" if ingress else "destination"
    ranges = [rule.get(f"{side}AddressPrefix"), *(rule.get(f"{side}AddressPrefixes") or [])]
    groups = {each["id"] for each in rule.get(f"{side}ApplicationSecurityGroups") or []}
    peers = (*_members(cloud_state, groups), *(ANYWHERE if each in ANYONE else each for each in ranges if each))
    protocol = str(rule["protocol"]).lower()
    ports: list[str | None] = [rule.get("destinationPortRange"), *(rule.get("destinationPortRanges") or [])]
    for port in filter(None, ports):
        first, _, last = ("0-65535" if port == "*" else port).partition("-")
        known = NUMBERS.get(protocol, protocol)
        yield Permission(ingress, "-1" if known == "*" else known, int(first), int(last or first), peers)


def _members(cloud_state: CloudState, groups: set[str]) -> Iterator[str]:
    """Return the addresses of the interfaces in application security groups."""
    for face in cloud_state.resources(INTERFACE.token):
        for each in face.outputs["ipConfigurations"]:
            if groups & {one["id"] for one in each.get("applicationSecurityGroups") or []}:
                yield each["privateIPAddress"]


def forwarders(cloud_state: CloudState) -> list[Forwarder]:
    """Return the internal load balancers of the cloud state."""
    made: list[Forwarder] = []
    for balancer in cloud_state.resources(BALANCER.token):
        frontends = {each["name"]: each.get("privateIPAddress") for each in balancer.inputs["frontendIPConfigurations"]}
        probes = {each["name"]: each for each in balancer.inputs.get("probes") or []}
        for rule in balancer.inputs.get("loadBalancingRules") or []:
            address = frontends.get(rule["frontendIPConfiguration"]["id"].rpartition("/")[2])
            if not address:  # public load balancers have no address in the lab network
                continue
            members = _pool(cloud_state, rule["backendAddressPool"]["id"])
            probe = probes.get((rule.get("probe") or {}).get("id", "").rpartition("/")[2], {})
            targets = [(each, int(rule["backendPort"])) for each in members]
            made.append(Forwarder(address, int(rule["frontendPort"]), _check(probe), targets))
    return made


def _check(probe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a probe as a forwarder's health check."""
    protocol = str(probe.get("protocol", "Tcp")).upper()
    return {"protocol": protocol, "path": probe.get("requestPath", "/"), "port": probe.get("port"), "matcher": "200"}


def _pool(cloud_state: CloudState, pool: str) -> list[str]:
    """Return the addresses of the interfaces in a backend pool."""
    return [
        configuration["privateIPAddress"]
        for face in cloud_state.resources(INTERFACE.token)
        for configuration in face.outputs["ipConfigurations"]
        if pool in {one["id"] for one in configuration.get("loadBalancerBackendAddressPools") or []}
    ]


def _range(cloud_state: CloudState) -> IPv4Network:
    """Return the range of the machines' network: the first one that is not of CI runners (RUNNERS)."""
    networks = [each.inputs["addressSpace"]["addressPrefixes"] for each in cloud_state.resources(NETWORK.token)]
    return next(IPv4Network(prefixes[0]) for prefixes in networks if prefixes != [str(RUNNERS)])


def reached(cloud_state: CloudState, host: str) -> bool:
    """Return whether every machine that asks this host has a way to it. The sandbox stands in for the proxy."""
    if host == private_ways.MANAGER:
        documents = ((each, MACHINES.document(each.inputs)) for each in cloud_state.resources(MACHINES.type))
        facts = [(each, document["facts"]) for each, document in documents if document]
        asking = [each for each, known in facts if "compute_service" in known and known.get("compute_way") != "proxy"]
    else:
        asking = cloud_state.resources(MACHINES.type)
    return all(
        private_ways.has_way_out(cloud_state, each) or not private_ways.missing(cloud_state, each, host)
        for each in asking
    )


CLOUD_SERVICES = CloudServices(
    machines=MACHINES,
    address=address,
    user_data=lambda machine, _: _user_data(machine),
    range=_range,
    resolver=lambda _: RESOLVER,
    services=SERVICES,
    names=addresses,
    permissions=permissions,
    forwarders=forwarders,
    reached=reached,
)
