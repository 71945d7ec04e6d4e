"""Resources that the cloud no longer has. Leave the state before a run: machines that it needs are created again.

Google's provider takes no deletion of a missing machine for done, and Azure's creates a missing machine on an update.
"""

import sys
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pulumi import automation as auto

from components.plan import ClusterPlan
from operations.clouds import cloud_tables
from operations.commands.spec_changes import CLUSTER_TYPE
from operations.console.exits import Exit, Stop
from operations.engine import failures, policy_preview, state
from operations.engine.events import Tally
from operations.engine.state import State
from operations.engine.workspace import Run
from operations.recovery import recovery
from operations.recovery.lookup import Lookup
from operations.stacks import target

MEMBERSHIP = "gcp:compute/instanceGroupMembership:InstanceGroupMembership"
"""Type of a machine's membership of an instance group. Google ends it with the machine, and refuses to remove one that
has ended from the group (400). AWS accepts to deregister a target that it does not know (Elastic Load Balancing API,
DeregisterTargets); on Azure the machine's interface is the member, and stays."""
REFUSED = frozenset({cloud_tables.GCP.machine, MEMBERSHIP, "gcp:compute/instanceGroup:InstanceGroup"})
"""Types whose deletion fails if the cloud no longer has the resource. Google's provider returns every error of these
deletions, also 404 (terraform-provider-google, resource_compute_instance.go and resource_compute_instance_group.go)."""

ENDING_SECONDS, POLL_SECONDS = 300.0, 10.0
"""Longest wait for the end of instances, and the time between two looks at them."""


def ready(
    name: str, workspace: auto.LocalWorkspace, look: Lookup | None, planned: ClusterPlan
) -> tuple[Run | None, dict[str, Any], list[str]]:
    """Do what recovery.ready does. Return the state without spot machines that no longer exist, and their URNs too."""
    run, exported = recovery.ready(name, workspace, look)
    if run and _never_grew(_resources(exported), len(planned.control_plane.machines)):
        recovery.write(run, exported)
    return run, *forgotten(run, planned, exported)


def _never_grew(resources: State, count: int) -> bool:
    """Record this number of control planes if the cloud never had more: a growth failed and is taken back.

    Return whether the state changed. Else the program's gate would refuse the smaller number (rollout/spec_gate.py).
    """
    machines = [each for each in resources if policy_preview.CONTROL_PLANE.search(each["urn"])]
    inputs = next((each["inputs"] for each in resources if each["type"] == CLUSTER_TYPE), {})
    recorded = inputs.get("control_plane") or {}
    if not machines or len(machines) > count or recorded.get("count", 0) <= count:
        return False
    recorded["count"] = count
    return True


def forgotten(run: Run | None, planned: ClusterPlan, exported: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Read the machines of spot pools from the cloud; return the state without missing ones, and their URNs.

    Nothing is read if no such machine is built. Raises Stop if the cloud does not answer.
    """
    before = _resources(exported)
    names = [machine.name for group in planned.machine_groups if group.spot for machine in group.machines]
    machines = state.machine_urns(before, planned.name, names) if run and before and names else []
    if run is None or not machines:
        return exported, []
    after = _read(run, before, machines)
    gone = _gone(machines, after)
    for urn in gone:
        print(f"{_named(urn)}: the cloud took this spot machine back; it is created again", flush=True)
    return _kept(run, exported, machines, after), gone


def before_removal(run: Run, before: State) -> None:
    """Read the resources whose deletion fails if they no longer exist, and remove missing ones from the state."""
    if urns := [each["urn"] for each in before if each["type"] in REFUSED]:
        _read(run, before, urns)


def previewed(
    run: Run, exported: dict[str, Any], replaced: list[str], total: int, *, refresh: bool = False
) -> tuple[list[str], list[str]]:
    """Preview a stack, and remove missing machines that the run would change or replace from its state.

    replaced: URNs of machines to be replaced without a change. refresh: the run reads all machines, and would create
    missing ones again. Return those that are still to be replaced, without their protection, and the URNs of missing
    machines. Raises Stop if policies refuse the run, and, with the state as it was, if a control plane is missing that
    is not to be replaced.
    """
    tally, changed = Tally(total=total), set[str]()

    def hear(event: auto.EngineEvent) -> None:
        tally.hear(event)
        if event.resource_pre_event:
            step = policy_preview.planned(event.resource_pre_event.metadata)
            if step.op == "update" or step.op in policy_preview.GOING:
                changed.add(step.urn)

    with failures.reported(run.name, tally):
        policy_preview.check(run.name, run, hear)
    exported, gone = _without_missing(run, exported, None if refresh else changed, replaced)
    left = [urn for urn in replaced if urn not in gone]
    if state.unprotected(_resources(exported), left):
        recovery.write(run, exported)
    return left, gone


def _without_missing(
    run: Run, exported: dict[str, Any], changed: set[str] | None, replaced: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """Read machines and members from the cloud; return the state without missing ones, and missing machines' URNs.

    changed: URNs of those that are read with `replaced`; None: all.
    """
    before = _resources(exported)
    machine = cloud_tables.of(before).machine if before else ""
    types = {machine, *REFUSED}
    urns = [
        each["urn"]
        for each in before
        if each["type"] in types and (changed is None or each["urn"] in changed or each["urn"] in replaced)
    ]
    if not urns:
        return exported, []
    after = _read(run, before, urns)
    gone = _gone([each["urn"] for each in before if each["urn"] in urns and each["type"] == machine], after)
    if held := [urn for urn in gone if policy_preview.CONTROL_PLANE.search(urn) and urn not in replaced]:
        recovery.write(run, exported)
        planes = [each["urn"] for each in before if policy_preview.CONTROL_PLANE.search(each["urn"])]
        raise Stop(Exit.REFUSED, _lost_control_planes(run.name, held, planes))
    for urn in gone:
        print(f"{_named(urn)}: the cloud no longer has this machine", flush=True)
    return _kept(run, exported, urns, after), gone


def _kept(run: Run, exported: dict[str, Any], urns: Collection[str], after: dict[str, Any]) -> dict[str, Any]:
    """Write back the state from before a read of these resources, without those that no longer exist.

    Else the run would undo each change by hand that was read: in place, without gate and drain.
    """
    before = _resources(exported)
    missing = _gone((each["urn"] for each in before if each["urn"] in urns or _ends_with(each, urns)), after)
    kept = {**exported, "deployment": {**exported["deployment"], "resources": state.without(before, missing)}}
    recovery.write(run, kept)
    return kept


def _lost_control_planes(name: str, lost: list[str], planes: list[str]) -> str:
    """Return a message about lost machines of a control plane. Both are URNs."""
    machines = [_named(urn).removeprefix(f"{name}-") for urn in lost]
    names = [_named(urn).removeprefix(f"{name}-") for urn in planes]
    head = f"the cloud no longer has {', '.join(machines)} of the control plane. Nothing was changed."
    way, restore = way_back(name, machines[0], names), target.command("restore", name)
    if way == restore:
        return f"{head} `{way}` creates it again from a snapshot"
    return f"{head} `{way}` creates it again if the two others are ready, else `{restore}`"


def way_back(name: str, machine: str, planes: Collection[str]) -> str:
    """Return the command that creates a lost machine again. planes: names of the control plane's machines."""
    if machine not in planes:
        return target.command("up", name, "--refresh")
    return (
        target.command("replace-control-plane", name, machine) if len(planes) > 1 else target.command("restore", name)
    )


def _read(run: Run, before: State, urns: Collection[str]) -> dict[str, Any]:
    """Read these resources and what ends with them from the cloud, and return the state after that."""
    parts = [each["urn"] for each in before if _ends_with(each, urns)]
    targets, end = list(dict.fromkeys([*urns, *parts])), time.monotonic() + ENDING_SECONDS
    while True:
        tally = Tally()
        with failures.reported(run.name, tally):
            run.refresh(target=targets, on_event=tally.hear, show_secrets=False, color="never")
        after = recovery.export(run)
        ending = [_named(each["urn"]) for each in _resources(after) if each["urn"] in targets and _ends(each)]
        if not ending:
            return after
        if time.monotonic() > end:
            print(f"warning: {', '.join(ending)} are ending, so this run keeps them; run it again", file=sys.stderr)
            return after
        print(f"mullion: waiting for the end of {', '.join(ending)}", file=sys.stderr, flush=True)
        time.sleep(POLL_SECONDS)


def _ends(resource: Mapping[str, Any]) -> bool:
    """Return whether EC2 is ending an instance; until it has, the provider takes the instance for an existing one."""
    return (resource.get("outputs") or {}).get("instanceState") == "shutting-down"


def _gone(urns: Iterable[str], after: dict[str, Any]) -> list[str]:
    left = {each["urn"] for each in _resources(after)}
    return [urn for urn in urns if urn not in left]


def _ends_with(resource: Mapping[str, Any], machines: Collection[str]) -> bool:
    """Return whether the cloud ends a resource of a state with one of these machines.

    On Azure the extension that starts the loader does, on Google Cloud the membership of an instance group.
    """
    is_member = resource["type"] == MEMBERSHIP and not set(machines).isdisjoint(resource.get("dependencies") or ())
    return is_member or resource.get("deletedWith") in machines


def _resources(exported: dict[str, Any]) -> State:
    return exported["deployment"].get("resources") or []


def _named(urn: str) -> str:
    return urn.rpartition("::")[2]
