"""Reboot every machine of a booted sandbox, one after the other, as `mullion verify --reboot` does."""

import sys
import time

from components.naming import CONTROL_PLANE
from operations.commands import sandbox_boot
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site
from operations.stacks.target import world_file
from sandbox.boot.cloud_services import services_of
from sandbox.cloud_state import CloudState

THERE = ("ready", "registered")
"""States of a record of a machine that is as its plan says."""
REBOOT_SECONDS = 400
"""Seconds for one machine: far above what it takes."""


def reboot_all(name: str) -> None:
    """Cut and boot each machine, workers first, and wait until it says that it is as planned again; Stop else."""
    if not boot_site.api(name):
        raise Stop(Exit.USAGE, f"--reboot is for booted sandboxes; do that: mullion sandbox boot {name}")
    cloud_state = CloudState(world_file(name))
    try:
        on = [one for one, each in sandbox_boot.standing(cloud_state).items() if each.state == "on"]
        for machine in sorted(on, key=lambda each: (_pool(cloud_state, each) == CONTROL_PLANE, each)):
            _reboot(name, cloud_state, machine)
    finally:
        cloud_state.close()


def _pool(cloud_state: CloudState, machine: str) -> str:
    cloud_services = services_of(cloud_state)
    found = (cloud_services.machines.document(each.inputs) for each in cloud_services.records(cloud_state))
    return next((each["machine"]["pool"] for each in found if each and each["machine"]["name"] == machine), "")


def _reboot(name: str, cloud_state: CloudState, machine: str) -> None:
    instance = sandbox_boot.standing(cloud_state)[machine].instance
    before = sandbox_boot.record(cloud_state, instance).get("time")
    print(f"mullion: rebooting {machine}", file=sys.stderr, flush=True)
    sandbox_boot.change(name, machine, quiet=True, boots=1)
    end = time.monotonic() + REBOOT_SECONDS
    while (now := sandbox_boot.record(cloud_state, instance)).get("time") == before or now.get("state") not in THERE:
        if time.monotonic() > end:
            raise Stop(
                Exit.FAILED, f"{machine} is not as planned {REBOOT_SECONDS} s after its reboot: {now.get('state')}"
            )
        time.sleep(1)
