"""Obstacles to a machine's boot on Azure: outbound access, security groups, IP forwarding for pods, and rights."""

import base64
import binascii
from typing import Any
from urllib.parse import unquote, urlsplit

from sandbox import simulated_boot
from sandbox.azure import private_ways, rights
from sandbox.azure.names import CONTAINER, EXTENSION, IDENTITY, MACHINE, RULES, SECRET, STORE
from sandbox.azure.stores import admitted, is_versioned
from sandbox.azure.vaults import key
from sandbox.cloud_state import CloudState
from sandbox.machines import Machines
from sandbox.records import Record

HTTPS = 443


def _user_data(inputs: dict[str, Any]) -> str:
    """Return the decoded customData, the loader of both systems (on Windows an extension starts it)."""
    data = (inputs.get("osProfile") or {}).get("customData")
    try:
        return base64.b64decode(data, validate=True).decode() if isinstance(data, str) else ""
    except (binascii.Error, ValueError):
        return ""


def _instance(machine: Record) -> str:
    return str(machine.outputs["vmId"])


def place(url: str) -> tuple[str, str]:
    """Return ACCOUNT/CONTAINER and name of https://ACCOUNT.blob.core.windows.net/CONTAINER/NAME."""
    parts = urlsplit(url)
    container, _, name = parts.path.lstrip("/").partition("/")
    return f"{parts.netloc.partition('.')[0]}/{container}", unquote(name)


def _not_allowed(cloud_state: CloudState, machine: Record, action: str, url: str) -> str:
    identities = (machine.inputs.get("identity") or {}).get("userAssignedIdentities") or []
    identity = cloud_state.find(IDENTITY.token, identities[0]) if identities else None
    if identity is None:
        return "it has no user-assigned identity, so it gets no tokens"
    if identity.sequence > machine.sequence:
        return "its user-assigned identity was deleted, and the new one of this name gives it no tokens"
    path, name = place(url)
    account, _, container = path.partition("/")
    store = next((one for one in cloud_state.resources(STORE.token) if one.inputs["accountName"] == account), None)
    if store is None or not any(
        one.inputs["containerName"] == container for one in cloud_state.resources(CONTAINER.token)
    ):
        return f"there is no container {container} in storage account {account}"
    resource = f"{store.id}/blobServices/default/containers/{container}/blobs/{name}"
    return rights.refused(cloud_state, identity.outputs["principalId"], action, resource, path=name)


def _key(cloud_state: CloudState, name: str) -> str:
    found = (one for one in cloud_state.resources(SECRET.token) if one.inputs["secretName"] == name)
    return next((key(one.inputs["vaultName"], name) for one in found), "")


def _no_way_out(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why a machine has no outbound access (no public address, and no NAT gateway for its subnet; new networks
    have no default outbound access), and no private endpoints of what it asks; empty if it has one of them.
    """
    subnet = private_ways.subnet(cloud_state, private_ways.interface(cloud_state, machine))
    if subnet is None:
        return "it has no network interface in a subnet"
    if private_ways.has_way_out(cloud_state, machine):
        return ""
    lacks = next(filter(None, (private_ways.missing(cloud_state, machine, host) for host in _asked(found))), "")
    without = f"{subnet.id} has no NAT gateway, and the machine has no public address"
    return f"{without}; {lacks}" if lacks else ""


def _asked(found: dict[str, Any]) -> list[str]:
    """Return the hosts of the cloud's services that a machine asks; not those that it asks through a proxy."""
    facts = found["facts"]
    names = ["bundle_store", "secret_service", "snapshot_store"]
    names += [] if facts.get("compute_way") == "proxy" else ["compute_service"]
    return [host for name in names if (host := urlsplit(facts.get(name) or "").hostname)]


def _closed(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return which storage account refuses a machine: no rule admits its subnet, and no private endpoint leads to it.

    IP rules do not apply to machines in the account's region ("Guidelines and limitations for the Azure Storage
    firewall").
    """
    subnet = private_ways.subnet(cloud_state, private_ways.interface(cloud_state, machine))
    accounts = {f"{one.inputs['accountName']}.blob.core.windows.net": one for one in cloud_state.resources(STORE.token)}
    for host in _asked(found):
        account = accounts.get(host)
        closed = account and (account.inputs.get("networkRuleSet") or {}).get("defaultAction") == "Deny"
        inside = subnet and subnet.id.lower() in admitted(account)
        if closed and not inside and private_ways.missing(cloud_state, machine, host):
            return f"no virtual network rule of {host} admits its subnet, and IP rules do not apply in one region"
    return ""


def _firewall(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why the security groups of interface or subnet deny https out; they allow the internet unless a rule
    denies it.
    """
    face = private_ways.interface(cloud_state, machine)
    for holder in (face, private_ways.subnet(cloud_state, face)):
        group = cloud_state.find(
            RULES.token, ((holder.inputs.get("networkSecurityGroup") if holder else None) or {}).get("id", "")
        )
        rules = [rule for rule in (group.inputs.get("securityRules") if group else None) or [] if _is_https(rule)]
        first = min(rules, key=lambda rule: rule["priority"], default=None)
        if first and first["access"] == "Deny":
            return f"security rule {first['name']} denies tcp {HTTPS} to the internet"
    return ""


def _is_https(rule: dict[str, Any]) -> bool:
    """Return whether a rule matches https to everywhere."""
    prefixes = {rule.get("destinationAddressPrefix"), *(rule.get("destinationAddressPrefixes") or [])}
    ports = [rule.get("destinationPortRange"), *(rule.get("destinationPortRanges") or [])]
    spans = [(int(first), int(last or first)) for first, _, last in (p.partition("-") for p in ports if p and p != "*")]
    port = "*" in ports or any(first <= HTTPS <= last for first, last in spans)
    outbound = rule["direction"] == "Outbound" and rule["protocol"] in ("*", "Tcp")
    return outbound and port and bool(prefixes & {"*", "Internet", "0.0.0.0/0"})


def _pods(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why packets of pods are dropped: they carry pod addresses, and need IP forwarding on the interface."""
    face = private_ways.interface(cloud_state, machine)
    dropped = "pod_cidr" in found["machine"] and not (face and face.inputs.get("enableIPForwarding"))
    return "without IP forwarding on its interface what its pods send is dropped" if dropped else ""


def _not_started(cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """Return why nothing starts the loader: Windows does not run customData, so an extension must."""
    reference = (machine.inputs.get("storageProfile") or {}).get("imageReference") or {}
    if reference.get("publisher") != "MicrosoftWindowsServer":
        return ""
    started = any(one.type == EXTENSION.token for one in cloud_state.referrers(MACHINE.token, machine.id))
    return "" if started else "it runs Windows, which runs nothing of customData, and no extension starts the loader"


MACHINES = Machines(
    MACHINE.token,
    _user_data,
    _instance,
    place,
    _not_allowed,
    f"{rights.BLOBS}/read",
    f"{rights.BLOBS}/write",
    is_versioned,
    _key,
    (_not_started, _no_way_out, _firewall, _closed, _pods),
)
start, settle = simulated_boot.starting(MACHINES), simulated_boot.settling(MACHINES)
