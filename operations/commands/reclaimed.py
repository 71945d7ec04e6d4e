"""Spot machines that the cloud took back: `up` removes them from the state, so that it creates them again."""

from typing import Any

from pulumi import automation as auto

from components.plan import ClusterPlan
from operations.engine import failures, state
from operations.engine.events import Tally
from operations.engine.state import State
from operations.engine.workspace import Run
from operations.recovery import recovery
from operations.recovery.lookup import Lookup


def ready(
    name: str, workspace: auto.LocalWorkspace, look: Lookup | None, planned: ClusterPlan
) -> tuple[Run | None, dict[str, Any]]:
    """Do what recovery.ready does; the exported state is then without spot machines that no longer exist."""
    run, exported = recovery.ready(name, workspace, look)
    return run, forgotten(run, planned, exported)


def forgotten(run: Run | None, planned: ClusterPlan, exported: dict[str, Any]) -> dict[str, Any]:
    """Read the machines of spot pools from the cloud, and return the state without those that no longer exist.

    Nothing is read if no such machine is built. Raises Stop if the cloud does not answer.
    """
    before: State = exported["deployment"].get("resources") or []
    names = [machine.name for group in planned.machine_groups if group.spot for machine in group.machines]
    machines = state.machine_urns(before, planned.name, names) if run and before and names else []
    if run is None or not machines:
        return exported
    # on Azure the extension that starts the loader ends with its machine
    parts = [each["urn"] for each in before if each.get("deletedWith") in machines]
    tally = Tally()
    with failures.reported(run.name, tally):
        run.refresh(target=[*machines, *parts], on_event=tally.hear, show_secrets=False, color="never")
    after = recovery.export(run)
    left = {each["urn"] for each in after["deployment"].get("resources") or []}
    for urn in machines:
        if urn not in left:
            print(f"{urn.rpartition('::')[2]}: the cloud took this spot machine back; it is created again", flush=True)
    return after
