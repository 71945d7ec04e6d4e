"""Signed documents of the bundle store that the control plane's agents follow: docs/desired-state.md."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from components.plan import ClusterPlan, Machine, MachineGroup

FOUNDED = "founded.json"
"""Name of the object with which the agent publishes the last founding: cloud-init/linux/kinds/founding.py."""

POINTER, MEMBERS = "desired-state.json", "members.json"
"""Names of the objects in the bundle store."""

EPOCH = "epoch.json"
"""Name of the object with which the agent announces a restored cluster to every machine: cloud-init/linux/epoch.py."""


def signed(key: str, body: Mapping[str, Any], serial: float) -> str:
    """Return the document with an HMAC-SHA256 over its canonical JSON. The MAC does not reveal the key.

    serial: an integer, as a float, because the engine passes all numbers as floats.
    """
    document = {**body, "serial": int(serial)}
    message = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    return json.dumps({**document, "mac": hmac.new(key.encode(), message, hashlib.sha256).hexdigest()}, sort_keys=True)


SNAPSHOT = re.compile(
    r"(?P<body>etcd/(?P<at>\d{8}T\d{6}Z)-(?:timer|command|\d+)\.[0-9a-f]{64})\.(?P<mac>[0-9a-f]{64})\.db"
)
"""Key of an etcd snapshot in the snapshot store (cloud-init/linux/snapshot_names.py)."""


def is_signed_snapshot(key: str, name: str) -> bool:
    """Return whether the key of a snapshot has the MAC of the control plane that took it. key: of the MAC."""
    found = SNAPSHOT.fullmatch(name)
    mac = hmac.new(key.encode(), found["body"].encode(), hashlib.sha256).hexdigest() if found else ""
    return bool(found) and hmac.compare_digest(mac, found["mac"])


def founding_record(key: str, body: Mapping[str, Any]) -> str:
    """Return a record of the founding log with its MAC (cloud-init/linux/kinds/founding.py)."""
    message = "founding " + json.dumps(body, sort_keys=True, separators=(",", ":"))
    return json.dumps({**body, "mac": hmac.new(key.encode(), message.encode(), hashlib.sha256).hexdigest()})


def last_founding(key: str, cluster: str, text: str) -> int:
    """Return the number in FOUNDED; -1 where a machine would not believe it either. cluster: hash of its authority."""
    try:
        found = json.loads(text)
        number = found["epoch"]
        body = {name: value for name, value in found.items() if name != "mac"}
        good = body == {"cluster": cluster, "epoch": number} and type(number) is int
        mac = json.loads(founding_record(key, body))["mac"]
        return number if good and hmac.compare_digest(mac.encode(), f"{found['mac']}".encode()) else -1
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return -1


class Forged(Exception):
    """A document that this program did not sign; the message has the reason."""


def verified(key: str, text: str) -> dict[str, Any]:
    """Return a document without its MAC. Raises Forged unless the MAC is over exactly this content.

    The store is not trusted: whoever may write it could otherwise choose the versions of all machines.
    """
    try:
        body = json.loads(text)
        mac = body.pop("mac")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Forged("it is not a signed document") from None
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    expected = hmac.new(key.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), f"{mac}".encode()):
        raise Forged("its MAC does not match the desired-state key")
    return body


def pointer_document(key: str, bundle_url: str, bundle_sha256: str, kubernetes: str, serial: float, pools: str) -> str:
    """Return the desired-state pointer. pools: Kubernetes version of the pools in this run."""
    body = {"bundle": bundle_url, "sha256": bundle_sha256, "kubernetes": kubernetes, "pools": pools}
    return signed(key, body, serial)


def members_document(key: str, listed: list[dict[str, Any]], serial: float) -> str:
    """Return members.json: the machines that may join, with addresses, labels and taints."""
    return signed(key, {"members": listed}, serial)


def members(plan: ClusterPlan, records: Mapping[str, str], region: str, zones: Sequence[str]) -> list[dict[str, Any]]:
    """Return all planned machines of the cluster as entries of members.json, sorted by name.

    records: by machine, the prefix of the names of its records in the bundle store. zones: names of the planned zones.
    """
    form = plan.spec.cloud.facts.zone_label
    listed = [
        _member(group, machine, _topology(form, region, zones[machine.zone], group.size))
        | {"records": records[machine.name]}
        for group in plan.machine_groups
        for machine in group.machines
    ]
    return sorted(listed, key=lambda member: member["name"])


def _topology(form: str, region: str, zone: str, size: str) -> dict[str, str]:
    """Return the Node labels that a cloud controller would set; spreading and drivers of disks read them."""
    region = region.lower().replace(" ", "")  # Azure accepts "West Europe" for westeurope
    return {
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": form.format(region=region, zone=zone),
        "node.kubernetes.io/instance-type": size,
    }


def _member(group: MachineGroup, machine: Machine, topology: dict[str, str]) -> dict[str, Any]:
    registration = group.node_plan.registration
    return {
        "name": machine.name,
        "pool": group.name,
        "address": str(machine.address),
        "pods": None if machine.pods is None else str(machine.pods),
        # label values contain neither = nor a comma
        "labels": {**topology, **dict(label.split("=", 1) for label in registration["labels"].split(","))},
        "taints": registration["taints"],
    }
