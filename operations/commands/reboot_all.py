"""Reboot every machine of a booted sandbox, one after the other, for `mullion verify --reboot`."""

import sys
import time

from components.naming import CONTROL_PLANE
from operations.commands import sandbox_boot
from operations.console.exits import Exit, Stop
from operations.console.heartbeat import Heartbeat
from operations.stacks import boot_site
from operations.stacks.target import cloud_state_file
from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState

ENOUGH = ("ready", "registered")
"""States of a status record that end the wait."""
REBOOT_SECONDS = 400
"""Longest wait for one machine; a reboot takes far less."""


def reboot_all(name: str) -> None:
    """Reboot each machine, workers first, and wait for its new status record. Raises Stop if it is not ready again."""
    if not boot_site.api(name):
        raise Stop(Exit.USAGE, f"--reboot needs a booted sandbox: mullion sandbox boot {name}")
    cloud_state = CloudState(cloud_state_file(name))
    try:
        statuses = sandbox_boot.existing_machines(cloud_state)
        on = [machine for machine, status in statuses.items() if status.state == "on"]
        for machine in sorted(on, key=lambda each: (_pool(cloud_state, each) == CONTROL_PLANE, each)):
            _reboot(name, cloud_state, machine)
    finally:
        cloud_state.close()


def _pool(cloud_state: CloudState, name: str) -> str:
    cloud_services = services_of(cloud_state)
    documents = (cloud_services.machines.document(record.inputs) for record in cloud_services.records(cloud_state))
    machines = (document["machine"] for document in documents if document)
    return next((machine["pool"] for machine in machines if machine["name"] == name), "")


def _reboot(name: str, cloud_state: CloudState, machine: str) -> None:
    instance = sandbox_boot.existing_machines(cloud_state)[machine].instance
    before = sandbox_boot.record(cloud_state, instance).get("time")
    print(f"mullion: rebooting {machine}", file=sys.stderr, flush=True)
    sandbox_boot.change(name, machine, quiet=True, boots=1)
    end, heart = time.monotonic() + REBOOT_SECONDS, Heartbeat()
    while (now := sandbox_boot.record(cloud_state, instance)).get("time") == before or now.get("state") not in ENOUGH:
        if time.monotonic() > end:
            raise Stop(Exit.FAILED, f"{machine} is not ready {REBOOT_SECONDS} s after its reboot: {now.get('state')}")
        heart.beat(f"{machine} to be ready again: {now.get('state')}")
        time.sleep(1)
