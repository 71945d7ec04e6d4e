"""Control planes of the sandbox: booted ones follow the desired-state pointer, as their agent would.

The pointer counts where its MAC is right, its serial is not older than the last one, and it asks for the same minor
version of Kubernetes or for the next. What such a machine reached stands in its status record.
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
"""Setting of a world: {instance: {bucket, etag, serial, kubernetes, refused}}, of the pointer that a control plane took
last; refused: ETag of one that it did not take."""
POINTER = "desired-state.json"


def add(cloud_state: CloudState, instance: str, bucket: str, kubernetes: str | None) -> None:
    """A control plane is ready, and follows the pointer in the bucket from now on."""
    taken = {"bucket": bucket, "etag": "", "serial": 0, "kubernetes": kubernetes, "refused": ""}
    _keep(cloud_state, {**_all(cloud_state), instance: taken})


def follow(machines: Machines, cloud_state: CloudState) -> None:
    """Let every control plane look at the pointer; nothing happens where that has not changed."""
    before = _all(cloud_state)
    after: dict[str, Any] = {}
    for instance, taken in before.items():
        stored = cloud_state.object(taken["bucket"], POINTER)
        if stored is None or stored.etag == taken["etag"]:
            after[instance] = taken
        elif machine := cloud_state.find(machines.type, instance):
            after[instance] = _followed(machines, cloud_state, machine, taken, stored)
    if after != before:
        _keep(cloud_state, after)


def _followed(
    machines: Machines, cloud_state: CloudState, machine: Record, taken: dict[str, Any], stored: ObjectRecord
) -> dict[str, Any]:
    """What the machine took of the pointer, newly or before."""
    found = machines.document(machine.inputs)
    boot = next((each for each in cloud_state.boots("ready") if each.instance == machine.id), None)
    if found is None or boot is None:
        return taken
    pointer, url = json.loads(stored.content), f"{found['facts']['bundle_store']}/{POINTER}"
    reason = machines.not_allowed(cloud_state, machine, machines.read, url)
    reason = reason or _refused(machines, cloud_state, found, pointer, taken)
    if not reason:
        told = replace(boot, bundle=pointer["sha256"])
        machines.write_status(cloud_state, machine, told, found, pointer["kubernetes"])
        new = {"etag": stored.etag, "serial": pointer["serial"], "kubernetes": pointer["kubernetes"], "refused": ""}
        return {**taken, **new}
    if stored.etag != taken["refused"]:
        message = f"the desired-state pointer is refused: {reason}"
        machines.write_status(cloud_state, machine, boot, found, taken["kubernetes"], message)
    return {**taken, "refused": stored.etag}  # and looked at again: the key may change after the pointer


def _refused(
    machines: Machines, cloud_state: CloudState, found: dict[str, Any], pointer: dict[str, Any], taken: dict[str, Any]
) -> str:
    """Why a pointer does not count; empty where it does."""
    body = {name: value for name, value in pointer.items() if name != "mac"}
    message = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    mac = hmac.new(
        _key(machines, cloud_state, found["facts"]["desired_state_secret"]).encode(), message, hashlib.sha256
    ).hexdigest()
    if not hmac.compare_digest(mac, str(pointer.get("mac"))):
        return "its MAC is not of the desired-state key"
    if not isinstance(pointer["serial"], int):
        return f"its serial {pointer['serial']} is no whole number"
    if pointer["serial"] < taken["serial"]:
        return f"its serial {pointer['serial']} is older than {taken['serial']}"
    have, want = _minor(taken["kubernetes"]), _minor(pointer["kubernetes"])
    if have and want not in (have, have + 1):
        return f"it asks for {pointer['kubernetes']} from {taken['kubernetes']}, and a hop is one minor version"
    return ""


def _key(machines: Machines, cloud_state: CloudState, name: str) -> str:
    """The newest value of a secret; empty where there is none."""
    return next(reversed(cloud_state.secret_values(machines.key(cloud_state, name)).values()), "")


def _minor(version: str | None) -> int:
    return int(version.split(".")[1]) if version else 0


def _all(cloud_state: CloudState) -> dict[str, Any]:
    return json.loads(cloud_state.setting(FOLLOWERS) or "{}")


def _keep(cloud_state: CloudState, followers: dict[str, Any]) -> None:
    cloud_state.set_setting(FOLLOWERS, json.dumps(followers))
