"""Network of booted machines on GCP: firewall rules, Cloud DNS, internal passthrough load balancers.

The metadata server is the name server too (Compute Engine, "Internal DNS"). The lab's load balancers are forwarders:
packets come from the balancer's address, so the machines behind it allow that address.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from sandbox.boot.balancers import Forwarder
from sandbox.boot.cloud_services import Ask, CloudServices, balanced
from sandbox.boot.firewalls import ANYWHERE, NUMBERS, Permission
from sandbox.cloud_state import CloudState
from sandbox.gcp import private_ways
from sandbox.gcp.boot_obstacles import MACHINES, has, is_for
from sandbox.gcp.dns import RECORD
from sandbox.gcp.groups import members
from sandbox.gcp.names import BACKEND, CHECK, FIREWALL, FORWARDING, GROUP, INSTANCE, NETWORK, SUBNETWORK, bare
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS

SERVICES = re.compile(r"(?:.+\.)?(?:storage|secretmanager|compute)\.googleapis\.com")
ALL_PORTS = "0-65535"


def _user_data(ask: Ask) -> bytes:
    return ask("GET", "/computeMetadata/v1/instance/attributes/user-data", {"Metadata-Flavor": "Google"})


def _face(machine: Record) -> dict[str, Any]:
    return machine.outputs["networkInterfaces"][0]


def _range(cloud_state: CloudState) -> IPv4Network:
    """Return the smallest range with every subnetwork in it: a network has no range of its own."""
    ranges = [IPv4Network(each.inputs["ipCidrRange"]) for each in cloud_state.resources(SUBNETWORK)]
    whole = ranges[0]
    while not all(each.subnet_of(whole) for each in ranges):
        whole = whole.supernet()
    return whole


def addresses(cloud_state: CloudState, name: str) -> list[str] | None:
    """Return the addresses of a name in the private zones, or of the metadata server."""
    if name == "metadata.google.internal":
        return [METADATA_ADDRESS]
    found = [each.inputs for each in cloud_state.resources(RECORD) if each.inputs["type"] == "A"]
    return next((each["rrdatas"] for each in found if each["name"].rstrip(".").lower() == name), None)


def permissions(cloud_state: CloudState, machine: Record) -> list[Permission]:
    """Return the connections that the network's rules allow a machine. Egress is allowed by default. Raises ValueError
    for a deny rule.
    """
    network = bare(_face(machine)["network"])
    rules = [each.inputs for each in cloud_state.referrers(NETWORK, network) if each.type == FIREWALL]
    mine = [rule for rule in rules if is_for(rule, machine) and not rule.get("disabled")]
    if denied := [rule["name"] for rule in mine if rule.get("denies")]:
        raise ValueError(f"firewall rules that deny are not imitated here: {', '.join(denied)}")
    found = [each for rule in mine for each in _permissions(cloud_state, rule)]
    return [
        *found,
        Permission(False, "-1", 0, 0, (ANYWHERE,)),
        *balanced(forwarders(cloud_state), _face(machine)["networkIp"]),
    ]


def _permissions(cloud_state: CloudState, rule: dict[str, Any]) -> Iterator[Permission]:
    ingress = rule.get("direction") != "EGRESS"
    sources = rule.get("sourceServiceAccounts"), rule.get("sourceTags")
    machines = cloud_state.resources(INSTANCE)
    members = [_face(each)["networkIp"] for each in machines if has(each, *sources, every=False)]
    ranges = rule.get("sourceRanges" if ingress else "destinationRanges") or ([] if ingress else [ANYWHERE])
    for entry in rule.get("allows") or []:
        protocol = str(entry["protocol"])
        for port in entry.get("ports") or [ALL_PORTS]:
            first, _, last = port.partition("-")
            peers = (*members, *ranges)
            yield Permission(ingress, NUMBERS.get(protocol, protocol), int(first), int(last or first), peers)


def forwarders(cloud_state: CloudState) -> list[Forwarder]:
    """Return the internal load balancers of the cloud state."""
    made: list[Forwarder] = []
    for rule in cloud_state.resources(FORWARDING):
        service = cloud_state.find(BACKEND, bare(rule.inputs.get("backendService") or ""))
        if service is None or rule.inputs.get("loadBalancingScheme") != "INTERNAL":
            continue
        groups = filter(None, (cloud_state.find(GROUP, bare(each["group"])) for each in service.inputs["backends"]))
        found = (cloud_state.find(INSTANCE, each) for group in groups for each in members(cloud_state, group))
        member_addresses = [_face(each)["networkIp"] for each in found if each]
        check = _check(cloud_state.find(CHECK, bare(service.inputs["healthChecks"])))
        made += [
            Forwarder(rule.inputs["ipAddress"], int(port), check, [(each, int(port)) for each in member_addresses])
            for port in rule.inputs["ports"]
        ]
    return made


def _check(check: Record | None) -> dict[str, Any]:
    """Return a health check as a forwarder's."""
    for protocol in ("https", "http", "tcp"):
        asked = check.inputs.get(f"{protocol}HealthCheck") if check else None
        if asked:
            web = {"path": asked.get("requestPath", "/"), "matcher": "200"} if protocol != "tcp" else {}
            return {"protocol": protocol.upper(), **web, "port": asked.get("port")}
    return {}


CLOUD_SERVICES = CloudServices(
    machines=MACHINES,
    address=lambda _, machine: _face(machine)["networkIp"],
    user_data=lambda _, ask: _user_data(ask),
    range=_range,
    resolver=lambda _: METADATA_ADDRESS,
    services=SERVICES,
    names=addresses,
    permissions=permissions,
    forwarders=forwarders,
    reached=private_ways.is_reached,
)
