"""Simulated boot of machines: each fetches its bundle and writes its status record, or bakes an image and stops.

Identity, routes and firewall of the machine apply. If one of these stops the boot, the machine waits and retries, as
the real loader does, and its row of table boots holds the reason.
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
from sandbox.records import Boot, ObjectRecord, Record

BOOTED = "booted"
"""The setting that ends simulation: machines are booted, and write their objects themselves."""
_BAKING = ("bake.json", "image/bake.ps1", "image/generalize.ps1")
"""Files of a bundle that bakes an image (components/machine/bundle.py)."""
_RELEASE = re.compile(r"/v(\d+\.\d+\.\d+)/(?:bin/|kubernetes-node)")
"""The version of Kubernetes in the URL of a download."""


def starting(machines: Machines) -> Rule:
    """Return a rule that starts the simulated boot of a new machine."""

    def start(request: Request) -> None:
        if request.old is not None:
            return
        document = machines.document(request.inputs)
        if document is None:
            reason = "its user-data holds no document of Mullion, as plain text or in base64 once"
            boot = Boot(request.id, "", "", "dead", reason, now())
        else:
            machine, bundle = document["machine"]["name"], document["bundle"]["sha256"]
            boot = Boot(request.id, machine, bundle, "waiting", "", now())
        request.cloud_state.put_boot(boot)

    return start


def settling(machines: Machines) -> Callable[[CloudState], None]:
    """Return a function that retries the boots of waiting machines, unless machines are real (BOOTED)."""

    def settle(cloud_state: CloudState) -> None:
        if cloud_state.setting(BOOTED):
            return
        for boot in cloud_state.boots("waiting"):
            machine = cloud_state.find(machines.type, boot.instance)
            document = machines.document(machine.inputs) if machine else None
            if machine is None or document is None:
                reason = "it was terminated" if machine is None else "its user-data is secret, so the sandbox has none"
                cloud_state.put_boot(replace(boot, state="dead", reason=f"{reason}; before: {boot.reason}"))
                continue
            reason = _obstacle(machines, cloud_state, machine, document)
            state = "waiting" if reason else "baked" if _bakes(document) else "ready"
            if state == "ready":
                _report_ready(machines, cloud_state, machine, boot, document)
            elif state == "baked":
                _stop(machines, cloud_state, machine)
            cloud_state.put_boot(replace(boot, state=state, reason=reason, at=now()))
        simulated_agents.follow(machines, cloud_state)
        log_requests.answer(machines, cloud_state)

    return settle


def _obstacle(machines: Machines, cloud_state: CloudState, machine: Record, document: dict[str, Any]) -> str:
    """Return the first reason why the machine cannot write its status record; empty if there is none."""
    bundle = document["bundle"]
    checks: list[Callable[[], str]] = [
        lambda obstacle=obstacle: obstacle(cloud_state, machine, document) for obstacle in machines.obstacles
    ]
    checks += [
        lambda: machines.not_allowed(cloud_state, machine, machines.read, bundle["url"]),
        lambda: _bundle(machines, cloud_state, bundle["url"], bundle["sha256"]),
    ]
    if _bakes(document):
        checks.append(lambda: _bakes_nothing(machines, cloud_state, bundle["url"]))
    else:
        status = machines.status_url(document, machines.instance(machine))
        checks.append(lambda: machines.not_allowed(cloud_state, machine, machines.write, status))
    return next((reason for check in checks if (reason := check())), "")


def _bundle(machines: Machines, cloud_state: CloudState, url: str, sha256: str) -> str:
    bucket, key = machines.place(url)
    stored = cloud_state.object(bucket, key)
    if stored is None:
        return f"there is no object {key} in bucket {bucket}"
    actual = hashlib.sha256(stored.content).hexdigest()
    return "" if actual == sha256 else f"the bundle {key} has sha256 {actual}, not {sha256}"


def _kubernetes(machines: Machines, cloud_state: CloudState, url: str) -> str | None:
    """Return the version of Kubernetes in a bundle's plan; None if it downloads none."""
    match = _RELEASE.search(in_bundle(cloud_state.object(*machines.place(url)), "plan.json"))
    return match[1] if match else None


def in_bundle(stored: ObjectRecord | None, name: str) -> str:
    """Return a file's text in a stored bundle; empty if there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(stored.content if stored else b"")) as bundle:
            return bundle.read(name).decode()
    except (zipfile.BadZipFile, KeyError):
        return ""


def _bakes(document: dict[str, Any]) -> bool:
    """Return whether a machine bakes an image: it belongs to no cluster, so it reports no status."""
    return "status_url" not in document["facts"]


def _bakes_nothing(machines: Machines, cloud_state: CloudState, url: str) -> str:
    stored = cloud_state.object(*machines.place(url))
    lacks = [each for each in _BAKING if not in_bundle(stored, each)]
    return f"its bundle bakes no image: it lacks {', '.join(lacks)}" if lacks else ""


def _stop(machines: Machines, cloud_state: CloudState, machine: Record) -> None:
    """Stop a machine that has baked an image, as sysprep does at its end."""
    if machines.stop is None:
        raise ValueError(f"the sandbox bakes no images on {machines.type.partition(':')[0]}")
    machines.stop(cloud_state, machine)


def _report_ready(
    machines: Machines, cloud_state: CloudState, machine: Record, boot: Boot, document: dict[str, Any]
) -> None:
    """Write the status record of a ready machine; a control plane follows the desired-state pointer from now on."""
    facts, kubernetes = document["facts"], _kubernetes(machines, cloud_state, document["bundle"]["url"])
    machines.write_status(cloud_state, machine, boot, document, kubernetes)
    if "desired_state_secret" in facts:
        simulated_agents.add(cloud_state, boot.instance, machines.place(facts["bundle_store"])[0], kubernetes)
