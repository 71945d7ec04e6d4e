"""Simulated agents of control planes: they apply the desired-state pointer and report its version.

A pointer is valid if its MAC is right, its serial is not older than the last one, and it names the same minor version
of Kubernetes or the next. The version that a machine has reached is in its status record.
"""

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.machines import Machines
from sandbox.records import ObjectRecord, Record

FOLLOWERS = "followers"
"""Setting of the cloud state: {instance: {bucket, etag, serial, kubernetes, refused}} of the pointer that each control
plane applied last; refused: ETag of the pointer that it refused last."""
POINTER = "desired-state.json"


def add(cloud_state: CloudState, instance: str, bucket: str, kubernetes: str | None) -> None:
    """Let a ready control plane follow the pointer in the bucket from now on."""
    applied = {"bucket": bucket, "etag": "", "serial": 0, "kubernetes": kubernetes, "refused": ""}
    _keep(cloud_state, {**_all(cloud_state), instance: applied})


def follow(machines: Machines, cloud_state: CloudState) -> None:
    """Apply changed pointers on every control plane that follows one."""
    before = _all(cloud_state)
    after: dict[str, Any] = {}
    for instance, applied in before.items():
        stored = cloud_state.object(applied["bucket"], POINTER)
        if stored is None or stored.etag == applied["etag"]:
            after[instance] = applied
        elif machine := cloud_state.find(machines.type, instance):
            after[instance] = _apply(machines, cloud_state, machine, applied, stored)
    if after != before:
        _keep(cloud_state, after)


def _apply(
    machines: Machines, cloud_state: CloudState, machine: Record, applied: dict[str, Any], stored: ObjectRecord
) -> dict[str, Any]:
    """Apply or refuse the stored pointer on a machine; return the machine's entry of FOLLOWERS."""
    document = machines.document(machine.inputs)
    boot = next((boot for boot in cloud_state.boots("ready") if boot.instance == machine.id), None)
    if document is None or boot is None:
        return applied
    pointer, url = json.loads(stored.content), f"{document['facts']['bundle_store']}/{POINTER}"
    reason = machines.not_allowed(cloud_state, machine, machines.read, url)
    reason = reason or _refusal(machines, cloud_state, document, pointer, applied)
    if not reason:
        updated = replace(boot, bundle=pointer["sha256"])
        machines.write_status(cloud_state, machine, updated, document, pointer["kubernetes"])
        new = {"etag": stored.etag, "serial": pointer["serial"], "kubernetes": pointer["kubernetes"], "refused": ""}
        return {**applied, **new}
    if stored.etag != applied["refused"]:
        message = f"the desired-state pointer is refused: {reason}"
        machines.write_status(cloud_state, machine, boot, document, applied["kubernetes"], message)
    return {**applied, "refused": stored.etag}  # checked again at the next call: the key may change after the pointer


def _refusal(
    machines: Machines,
    cloud_state: CloudState,
    document: dict[str, Any],
    pointer: dict[str, Any],
    applied: dict[str, Any],
) -> str:
    """Return why a pointer is invalid; empty if it is valid."""
    body = {name: value for name, value in pointer.items() if name != "mac"}
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    key = _key(machines, cloud_state, document["facts"]["desired_state_secret"])
    mac = hmac.new(key.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(mac, str(pointer.get("mac"))):
        return "the MAC does not match the desired-state key"
    if not isinstance(pointer["serial"], int):
        return f"its serial {pointer['serial']} is no whole number"
    if pointer["serial"] < applied["serial"]:
        return f"its serial {pointer['serial']} is older than {applied['serial']}"
    have, want = _minor(applied["kubernetes"]), _minor(pointer["kubernetes"])
    if have and want not in (have, have + 1):
        return f"it asks for {pointer['kubernetes']} from {applied['kubernetes']}, and a hop is one minor version"
    return ""


def _key(machines: Machines, cloud_state: CloudState, name: str) -> str:
    """Return the newest value of a secret; empty if there is none."""
    return next(reversed(cloud_state.secret_values(machines.key(cloud_state, name)).values()), "")


def _minor(version: str | None) -> int:
    return int(version.split(".")[1]) if version else 0


def _all(cloud_state: CloudState) -> dict[str, Any]:
    return json.loads(cloud_state.setting(FOLLOWERS) or "{}")


def _keep(cloud_state: CloudState, followers: dict[str, Any]) -> None:
    cloud_state.set_setting(FOLLOWERS, json.dumps(followers))
