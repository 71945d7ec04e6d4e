"""Obstacles to a machine's boot on GCP: routes, Cloud NAT, firewall rules, IP forwarding for pods, and rights."""

import ipaddress
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox import simulated_boot
from sandbox.cloud_state import CloudState
from sandbox.gcp import private_ways
from sandbox.gcp.names import FIREWALL, INSTANCE, NAT, NETWORK, ROUTER, bare
from sandbox.gcp.networks import LISTED
from sandbox.gcp.rights import has_account, refused
from sandbox.gcp.secrets import SECRET
from sandbox.gcp.storage import is_versioned
from sandbox.machines import Machines
from sandbox.records import Record

KEYS = ("user-data", "windows-startup-script-ps1")
"""Metadata keys of a machine's document: cloud-init's, and the startup script of the Windows agent."""
EVERYWHERE = "0.0.0.0/0"
HTTPS = 443


def _user_data(inputs: dict[str, Any]) -> str:
    metadata = inputs.get("metadata") or {}
    return "\n".join(text for key in KEYS if isinstance(text := metadata.get(key), str))


def _instance(machine: Record) -> str:
    return str(machine.outputs["instanceId"])


def place(url: str) -> tuple[str, str]:
    """Return bucket and name of https://storage.googleapis.com/BUCKET/NAME."""
    bucket, _, name = urlsplit(url).path.lstrip("/").partition("/")
    return bucket, unquote(name)


def _not_allowed(cloud_state: CloudState, machine: Record, permission: str, url: str) -> str:
    account = machine.inputs.get("serviceAccount") or {}
    if not account.get("email"):
        return "it has no service account, so it has no credentials"
    if not has_account(cloud_state, machine):
        return "its service account was deleted, and a new one of this name gives it no credentials"
    if not any(scope.endswith(("cloud-platform", "/auth/devstorage.full_control")) for scope in account["scopes"]):
        return f"the scopes of its service account ({', '.join(account['scopes'])}) do not let it use Cloud Storage"
    bucket, name = place(url)
    return refused(
        cloud_state, f"serviceAccount:{account['email']}", permission, f"projects/_/buckets/{bucket}/objects/{name}"
    )


def _key(cloud_state: CloudState, name: str) -> str:
    return next((each.id for each in cloud_state.resources(SECRET) if each.inputs["secretId"] == name), "")


def _face(machine: Record) -> dict[str, Any]:
    return machine.outputs["networkInterfaces"][0]


def _no_way_out(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why a machine has no outbound access: no public address and no NAT gateway, or no default route; and no
    Private Google Access, which a default route suffices for.
    """
    face = _face(machine)
    subnetwork, network = bare(face["subnetwork"]), bare(face["network"])
    routed = private_ways.EVERYWHERE in private_ways.gateway_routes(cloud_state, network)
    if routed and (face.get("accessConfigs") or _has_nat(cloud_state, network, subnetwork)):
        return ""
    more = ("compute.googleapis.com",) if "compute_service" in found["facts"] else ()
    hosts = (*private_ways.HOSTS, *more)
    lacks = next(filter(None, (private_ways.missing(cloud_state, machine, each) for each in hosts)), "")
    without = f"{subnetwork} has no Cloud NAT, and the machine has no public address"
    return f"{without if routed else f'{network} has no route to the internet'}, and {lacks}" if lacks else ""


def _has_nat(cloud_state: CloudState, network: str, subnetwork: str) -> bool:
    routers = [one.id for one in cloud_state.referrers(NETWORK, network) if one.type == ROUTER]
    gateways = [one for router in routers for one in cloud_state.referrers(ROUTER, router) if one.type == NAT]
    region = subnetwork.split("/")[3]
    return any(_translates(one, subnetwork) for one in gateways if one.outputs["region"] == region)


def _translates(gateway: Record, subnetwork: str) -> bool:
    if gateway.inputs["sourceSubnetworkIpRangesToNat"] != LISTED:
        return True
    names = [bare(each["name"]) for each in gateway.inputs["subnetworks"]]
    return any(name in (subnetwork, subnetwork.rpartition("/")[2]) for name in names)


def _firewall(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why https out is denied; it is allowed unless the first matching rule denies it (VPC, "Firewall
    rules").
    """
    network = bare(_face(machine)["network"])
    rules = [one.inputs for one in cloud_state.referrers(NETWORK, network) if one.type == FIREWALL]
    matching = [
        rule
        for rule in rules
        if rule.get("direction") == "EGRESS" and not rule.get("disabled") and is_for(rule, machine) and _is_https(rule)
    ]
    first = min(matching, key=lambda rule: (rule.get("priority", 1000), not rule.get("denies")), default=None)
    return f"firewall rule {first['name']} denies tcp {HTTPS} to {EVERYWHERE}" if first and first.get("denies") else ""


def is_for(rule: dict[str, Any], machine: Record) -> bool:
    """Return whether a rule targets a machine: by its service account, by a network tag, or all machines."""
    return has(machine, rule.get("targetServiceAccounts"), rule.get("targetTags"), every=True)


def has(machine: Record, accounts: list[str] | None, tags: list[str] | None, *, every: bool) -> bool:
    """Return whether a machine has one of the service accounts or network tags; every: if there are none of both."""
    if accounts or tags:
        email = (machine.inputs.get("serviceAccount") or {}).get("email")
        return email in (accounts or ()) or not {*(tags or ())}.isdisjoint(machine.inputs.get("tags") or ())
    return every


def _is_https(rule: dict[str, Any]) -> bool:
    """Return whether a rule matches https to everywhere."""
    ranges = rule.get("destinationRanges") or [EVERYWHERE]
    if not any(ipaddress.ip_network(each).prefixlen == 0 for each in ranges):
        return False
    for entry in rule.get("allows") or rule.get("denies") or []:
        ports = entry.get("ports") or ["0-65535"]
        spans = [(int(first), int(last or first)) for first, _, last in (port.partition("-") for port in ports)]
        if str(entry["protocol"]) in ("all", "tcp", "6") and any(first <= HTTPS <= last for first, last in spans):
            return True
    return False


def _pods(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why packets of pods are dropped: they carry pod addresses, and need canIpForward."""
    dropped = "pod_cidr" in found["machine"] and not machine.inputs.get("canIpForward")
    return "without canIpForward what its pods send is dropped" if dropped else ""


MACHINES = Machines(
    INSTANCE,
    _user_data,
    _instance,
    place,
    _not_allowed,
    "storage.objects.get",
    "storage.objects.create",
    is_versioned,
    _key,
    (_no_way_out, _firewall, _pods),
)
start, settle = simulated_boot.starting(MACHINES), simulated_boot.settling(MACHINES)
