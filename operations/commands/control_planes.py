"""`mullion replace-control-plane` and `mullion restore`: machines of the control plane go only by these."""

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from components.node.control_plane import LOG
from components.plan import ClusterPlan, plan_cluster
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, up_and_down, wait
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.recovery import state_check
from operations.stacks import account, stack_files, target

SNAPSHOTS = "etcd/"
READY_SECONDS = 30 * 60
"""Seconds that new machines get: images, etcd, health gates."""


def replace(name: str, machine: str, *, sandbox: bool, yes: bool) -> None:
    """Make one machine of three anew, with the stack's image and size; the others keep the cluster meanwhile."""
    plan = plan_cluster(name, stack_files.load(name).spec)
    names = _names(plan)
    if machine not in names:
        raise Stop(Exit.USAGE, f"the control plane of {name} has no {machine!r}; it has {', '.join(names)}")
    if len(names) == 1:
        raise Stop(
            Exit.REFUSED,
            f"{machine} is the whole control plane of {name}; `mullion restore {name}` makes it anew from a snapshot",
        )
    others = [each for each in wait.look(name, 0, control_plane=True) if each.awaited.name != machine]
    if lacking := wait.lacking(others):
        head = "the rest of the control plane must be well, else the cluster would be lost:"
        raise Stop(Exit.REFUSED, "\n".join([head, *lacking]))
    up_and_down.up(name, sandbox=sandbox, yes=yes, replaced=lambda now: _urns(now, name, [machine]))
    _wait(name)


@dataclass(frozen=True)
class Stored:
    """What a cluster's snapshot store has: snapshots by key, newest first, and the records of its founding."""

    bucket: str
    snapshots: list[str]
    records: int
    cluster: str
    """What every record names: the hash of the cluster's authority."""
    cloud: str


def restore(name: str, snapshot: str | None, *, sandbox: bool, confirmed: str | None, listed: bool) -> None:
    """Make the whole control plane anew from a snapshot of etcd: the newest, or this one. Workers stay."""
    plan = plan_cluster(name, stack_files.load(name).spec)
    stored = _look(name)
    if listed:
        print(table(("snapshot", "age"), [(each, age(each)) for each in stored.snapshots]))
        return
    chosen = _chosen(name, stored, snapshot)
    names = _names(plan)
    print(
        f"{name}: {', '.join(names)} are made anew from {chosen} ({age(chosen)} old).\n"
        "What the cluster was told since is lost; machines of the control plane that still run are deleted."
    )
    if confirmed is None:
        account.confirm(f"Restore {name}? (Without a terminal: --confirm {name}.)", name)
    elif confirmed != name:
        raise Stop(Exit.REFUSED, f"--confirm {confirmed} does not name the cluster {name}; nothing was changed")
    _ask_founder(name, stored, chosen)
    try:
        up_and_down.up(name, sandbox=sandbox, yes=True, replaced=lambda now: _urns(now, name, names))
    except BaseException:
        print(f"the founding record asks for {chosen}; the same command goes on with it", flush=True)
        raise
    _wait(name)


def age(key: str, now: datetime | None = None) -> str:
    """How old a snapshot is, by the time in its key; empty where it has none."""
    try:
        made = datetime.strptime(key.removeprefix(SNAPSHOTS).partition("-")[0], "%Y%m%dT%H%M%S%z")
    except ValueError:
        return ""
    minutes = int(((now or datetime.now(timezone.utc)) - made).total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(minutes, 0)} min"


def _wait(name: str) -> None:
    last = wait.look(name, READY_SECONDS, control_plane=True)
    print(wait.shown(last))
    if lacking := wait.lacking(last):
        raise Stop(Exit.FAILED, "\n".join(["made, but not all is well:", *lacking]))


def _names(plan: ClusterPlan) -> list[str]:
    return [each.name for each in plan.control_plane.machines]


def _urns(now: state.State, name: str, machines: list[str]) -> list[str]:
    """URNs of machines; those that a run before this one has deleted are made by any `up`."""
    return [
        each["urn"]
        for each in now
        if cloud_tables.of(now).is_machine(each)
        and each["urn"].rpartition("::")[2] in {f"{name}-{machine}" for machine in machines}
    ]


def _chosen(name: str, stored: Stored, snapshot: str | None) -> str:
    if not stored.snapshots:
        raise Stop(Exit.FAILED, f"bucket {stored.bucket} has no snapshot of etcd below {SNAPSHOTS}, so nothing is lost")
    if not stored.records:
        raise Stop(Exit.FAILED, f"bucket {stored.bucket} has no record below {LOG}/: {name} was never founded")
    if snapshot is None:
        return stored.snapshots[0]
    if snapshot not in stored.snapshots:
        raise Stop(Exit.USAGE, f"there is no snapshot {snapshot}; `mullion restore {name} --list` shows them")
    return snapshot


def _look(name: str) -> Stored:
    """Ask the stack's own provider."""
    with kubeconfig.built(name) as run:
        resources = state.resources(run)
    bucket, cloud = state.stores(name, resources).snapshots, cloud_tables.of(resources).name

    def program() -> None:
        import pulumi

        asked = cloud_tables.provider(cloud)
        records = asked.keys(bucket, f"{LOG}/")
        first = records.apply(lambda keys: asked.text(bucket, f"{LOG}/0") if keys else "{}")
        pulumi.export("snapshots", asked.keys(bucket, SNAPSHOTS))
        pulumi.export("records", records)
        pulumi.export("first", first)

    with passing(name, program, sandbox=target.in_sandbox(name)) as run:
        outputs = run.up(show_secrets=False, color="never").outputs
    keys: list[str] = outputs["snapshots"].value or []
    records: list[str] = outputs["records"].value or []
    cluster = json.loads(outputs["first"].value or "{}").get("cluster", "")
    snapshots = sorted((each for each in keys if each.endswith(".db")), reverse=True)
    return Stored(bucket, snapshots, len(records), cluster, cloud)


def _ask_founder(name: str, stored: Stored, snapshot: str) -> None:
    """Write the record after which the next machine founds the cluster again, from the snapshot."""
    record: dict[str, Any] = {"cluster": stored.cluster, "epoch": stored.records, "owner": "", "machine": ""}
    content, cloud = json.dumps({**record, "state": "restore", "snapshot": snapshot}), stored.cloud

    def program() -> None:
        import pulumi

        kept = pulumi.ResourceOptions(retain_on_delete=True)
        cloud_tables.provider(cloud).put(f"{name}-restore", stored.bucket, f"{LOG}/{stored.records}", content, kept)

    with passing(name, program, sandbox=target.in_sandbox(name)) as run:
        run.up(show_secrets=False, color="never")
        if target.in_sandbox(name):
            state_check.keep(name, state.resources(run))
