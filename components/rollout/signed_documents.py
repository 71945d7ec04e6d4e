"""Signed documents of the bundle store that the control plane's agents follow: docs/desired-state.md."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from components.plan import ClusterPlan, Machine, MachineGroup

POINTER, MEMBERS = "desired-state.json", "members.json"
"""Keys of the objects."""
EPOCH = "epoch.json"
"""Key of the object by which the agent tells every machine that the cluster was restored: cloud-init/linux/epoch.py."""


def signed(key: str, body: Mapping[str, Any], serial: float) -> str:
    """The document, with an HMAC-SHA256 over its canonical JSON. The MAC does not reveal its key.

    serial: a whole number; the engine hands all numbers on as floats.
    """
    document = {**body, "serial": int(serial)}
    message = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    return json.dumps({**document, "mac": hmac.new(key.encode(), message, hashlib.sha256).hexdigest()}, sort_keys=True)


def pointer_document(key: str, bundle_url: str, bundle_sha256: str, kubernetes: str, serial: float, pools: str) -> str:
    """What the control plane shall be. pools: the version of Kubernetes that pools have in this run."""
    body = {"bundle": bundle_url, "sha256": bundle_sha256, "kubernetes": kubernetes, "pools": pools}
    return signed(key, body, serial)


def members_document(key: str, listed: list[dict[str, Any]], serial: float) -> str:
    """Who may be a node, and as what."""
    return signed(key, {"members": listed}, serial)


def members(plan: ClusterPlan) -> list[dict[str, Any]]:
    """Every planned machine of the cluster, by name: who may be a node, and as what."""
    found = [_member(group, machine) for group in plan.machine_groups for machine in group.machines]
    return sorted(found, key=lambda each: each["name"])


def _member(group: MachineGroup, machine: Machine) -> dict[str, Any]:
    registration = group.node_plan.registration
    return {
        "name": machine.name,
        "pool": group.name,
        "address": str(machine.address),
        "pods": None if machine.pods is None else str(machine.pods),
        # values of labels have neither = nor a comma
        "labels": dict(each.split("=", 1) for each in registration["labels"].split(",")),
        "taints": registration["taints"],
    }
