"""What a booted machine does of its own in the cloud: fetch its bundle, and write its status record.

It does both with its own identity, over its own routes and firewall; where one of these is in the way it waits and
tries again, as the real loader does, and the world says what is in its way.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandbox import log_requests, simulated_agents
from sandbox.cloud import Request, Rule
from sandbox.cloud_state import CloudState, now
from sandbox.machines import Machines
from sandbox.records import Boot, Record

BOOTED = "booted"
"""The setting of a world whose machines are real: they, and not the sandbox, write what machines write."""
_RELEASE = re.compile(r"/v(\d+\.\d+\.\d+)/(?:bin/|kubernetes-node)")
"""How the URL of a Kubernetes download names its version."""


def starting(machines: Machines) -> Rule:
    """An effect of creation: the boot of a new machine begins."""

    def start(request: Request) -> None:
        if request.old is not None:
            return
        found = machines.document(request.inputs)
        if found is None:
            reason = "its user-data holds no document of Mullion, as plain text or in base64 once"
            boot = Boot(request.id, "", "", "dead", reason, now())
        else:
            boot = Boot(request.id, found["machine"]["name"], found["bundle"]["sha256"], "waiting", "", now())
        request.cloud_state.put_boot(boot)

    return start


def settling(machines: Machines) -> Callable[[CloudState], None]:
    """What goes on by itself: every machine that waits tries again; nothing in a world whose machines are real."""

    def settle(cloud_state: CloudState) -> None:
        if cloud_state.setting(BOOTED):
            return
        for boot in cloud_state.boots("waiting"):
            machine = cloud_state.find(machines.type, boot.instance)
            found = machines.document(machine.inputs) if machine else None
            if machine is None or found is None:
                reason = (
                    "it was terminated" if machine is None else "its user-data is secret: the world does not keep it"
                )
                cloud_state.put_boot(replace(boot, state="dead", reason=f"{reason}; before: {boot.reason}"))
                continue
            reason = _in_the_way(machines, cloud_state, machine, found)
            if not reason:
                _ready(machines, cloud_state, machine, boot, found)
            cloud_state.put_boot(replace(boot, state="waiting" if reason else "ready", reason=reason, at=now()))
        simulated_agents.follow(machines, cloud_state)
        log_requests.answer(machines, cloud_state)

    return settle


def _in_the_way(machines: Machines, cloud_state: CloudState, machine: Record, found: dict[str, Any]) -> str:
    """The first thing that stops the machine on its way to a status record; empty where nothing does."""
    bundle, status = found["bundle"], machines.status_url(found, machines.instance(machine))
    steps: list[Callable[[], str]] = [lambda way=way: way(cloud_state, machine, found) for way in machines.ways]
    steps += [
        lambda: machines.not_allowed(cloud_state, machine, machines.read, bundle["url"]),
        lambda: _bundle(machines, cloud_state, bundle["url"], bundle["sha256"]),
        lambda: machines.not_allowed(cloud_state, machine, machines.write, status),
    ]
    return next((reason for step in steps if (reason := step())), "")


def _bundle(machines: Machines, cloud_state: CloudState, url: str, sha256: str) -> str:
    bucket, key = machines.place(url)
    stored = cloud_state.object(bucket, key)
    if stored is None:
        return f"there is no object {key} in bucket {bucket}"
    actual = hashlib.sha256(stored.content).hexdigest()
    return "" if actual == sha256 else f"the bundle {key} has sha256 {actual}, not {sha256}"


def _kubernetes(machines: Machines, cloud_state: CloudState, url: str) -> str | None:
    """The version of Kubernetes that a bundle's downloads make; None where it has none."""
    stored = cloud_state.object(*machines.place(url))
    try:
        with zipfile.ZipFile(io.BytesIO(stored.content if stored else b"")) as bundle:
            found = _RELEASE.search(bundle.read("plan.json").decode())
    except (zipfile.BadZipFile, KeyError):
        return None
    return found[1] if found else None


def _ready(machines: Machines, cloud_state: CloudState, machine: Record, boot: Boot, found: dict[str, Any]) -> None:
    """A machine that reached its last phase says so; a control plane follows the pointer from then on."""
    kubernetes = _kubernetes(machines, cloud_state, found["bundle"]["url"])
    machines.write_status(cloud_state, machine, boot, found, kubernetes)
    if "desired_state_secret" in found["facts"]:
        simulated_agents.add(cloud_state, boot.instance, machines.place(found["facts"]["bundle_store"])[0], kubernetes)
