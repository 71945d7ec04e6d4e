"""`mullion replace-control-plane` and `mullion restore`: only these delete machines of the control plane."""

import json
import sys
from typing import Any, cast

from components import releases
from components.machine import pki
from components.node.control_plane import LOG
from components.plan import ClusterPlan, plan_cluster
from components.rollout.plain_text import plain
from components.rollout.signed_documents import FOUNDED, founding_record, last_founding
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, snapshot_copies, up_and_down, wait
from operations.commands.snapshot_keys import SNAPSHOTS, SnapshotStore, age, ignoring, sorted_out
from operations.console.command_line import continued_by
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.recovery import state_check
from operations.stacks import account, stack_files, target

SHOWN = 5
"""Most keys in a message."""
UNTOLD = """\
Controllers and operators of yours do not notice a restore with the etcd of Kubernetes {kubernetes}, and act on what
they cached. Restart each afterwards: kubectl --namespace NAMESPACE rollout restart deployment NAME"""
"""What to do after a restore if etcd does not raise its revisions."""
MOST_FILLED = 300
"""Most lost records of the founding log that a restore fills in; each restore of a cluster adds three records."""
READY_SECONDS = 30 * 60
"""Longest wait for new machines: they pull images, join etcd and pass health gates."""


def replace(name: str, machine: str, *, sandbox: bool, yes: bool) -> None:
    """Replace one of three control plane machines, with the stack's image and size.

    Raises Stop unless the others are ready: etcd would lose its quorum.
    """
    plan = plan_cluster(name, stack_files.load(name).spec)
    names = _names(plan)
    if machine not in names:
        raise Stop(Exit.USAGE, f"the control plane of {name} has no {machine!r}; it has {', '.join(names)}")
    if len(names) == 1:
        raise Stop(
            Exit.REFUSED,
            f"{machine} is the whole control plane of {name}; "
            f"`{target.command('restore', name)}` replaces it from a snapshot",
        )
    _refuse_unready([each for each in wait.watch(name, 0, control_plane=True) if each.expected.name != machine])
    up_and_down.up(
        name, sandbox=sandbox, yes=yes, replaced=lambda resources: state.machine_urns(resources, name, [machine])
    )
    _wait(name)


def _refuse_unready(others: list[wait.MachineReport]) -> None:
    """Raise Stop unless all these machines are ready. Print errors of their agents: a lost machine causes some."""
    agents = [each for each in others if each.only_agent]
    for line in wait.problems(agents):
        print(f"warning: {line}", file=sys.stderr)
    if missing := wait.problems(each for each in others if each not in agents):
        head = "the rest of the control plane must be ready, else etcd would lose its quorum:"
        raise Stop(Exit.REFUSED, "\n".join([head, *missing]))


def restore(
    name: str, snapshot: str | None, *, sandbox: bool, confirmed: str | None, listed: bool, copied: bool = False
) -> None:
    """Replace the whole control plane from an etcd snapshot: the newest, or this one. Keeps the workers.

    copied: choose among the copies of snapshots (`snapshots.copy_to`) instead of the snapshots in the store.
    """
    spec = stack_files.load(name).spec
    plan, stored = plan_cluster(name, spec), _look(name)
    if stored.ignored:
        print(ignoring(stored), file=sys.stderr)
    if listed:
        rows = [(key, age(key), *places) for key, *places in snapshot_copies.listed(name, spec, stored)]
        head = ("snapshot", "age", "in")[: len(rows[0]) if rows else None]
        print(table(head, rows) if rows else f"bucket {stored.bucket} has no snapshot of etcd yet")
        return
    place = snapshot_copies.instead(name, spec, stored) if copied else stored
    if copied and place.ignored:
        print(ignoring(place), file=sys.stderr)
    chosen = _chosen(name, place, snapshot, copied=copied)
    _refuse_unfillable(stored)
    names = _names(plan)
    print(
        f"{name}: {', '.join(names)} are replaced from {chosen} ({age(chosen)} old).\n"
        "Changes of the cluster since then are lost; control plane machines that still run are deleted."
    )
    if not releases.release(spec.kubernetes).tells_of_restores:
        print(UNTOLD.format(kubernetes=spec.kubernetes))
    if confirmed is None:
        account.confirm(f"Restore {name}? (Without a terminal: --confirm {name}.)", name)
    elif confirmed != name:
        raise Stop(Exit.REFUSED, f"--confirm {confirmed} does not name the cluster {name}; nothing was changed")
    _write_restore_record(name, stored, chosen)
    try:
        up_and_down.up(
            name, sandbox=sandbox, yes=True, replaced=lambda resources: state.machine_urns(resources, name, names)
        )
    except BaseException:
        print(f"the founding record names {chosen}; the same command continues with it", flush=True)
        raise
    _wait(name)


def _wait(name: str) -> None:
    with continued_by(lambda: target.command("wait", name)):  # the same command would replace them once more
        reports = wait.watch(name, READY_SECONDS, control_plane=True)
    print(wait.table_of(reports))
    if missing := wait.problems(reports):
        head = f"replaced, but {len(missing)} of {len(reports)} control plane machines are not ready:"
        raise Stop(Exit.FAILED, "\n".join([head, *missing]))
    print(f"{name}: the control plane is ready")


def _names(plan: ClusterPlan) -> list[str]:
    return [machine.name for machine in plan.control_plane.machines]


def _chosen(name: str, stored: SnapshotStore, snapshot: str | None, *, copied: bool = False) -> str:
    """Return the snapshot to restore. copied: of the copies, which are all that is left if the store was lost."""
    if not stored.snapshots:
        raise Stop(
            Exit.FAILED,
            f"bucket {stored.bucket} has no snapshot of etcd below {SNAPSHOTS} that this cluster's control plane has "
            "signed; nothing was changed",
        )
    if not stored.records and not stored.unexpected and not copied:
        raise Stop(Exit.FAILED, f"bucket {stored.bucket} has no record below {LOG}/: {name} was never founded")
    _refuse_damaged(stored)
    if snapshot is None:
        return stored.snapshots[0]
    if snapshot in stored.ignored:
        raise Stop(
            Exit.REFUSED,
            f"{snapshot} lacks the MAC of this cluster's key, or has a future time: somebody else may have written it. "
            f"Nothing was changed; `{target.command('restore', name, '--list')}` shows what can be restored",
        )
    if snapshot not in stored.snapshots:
        raise Stop(
            Exit.USAGE, f"there is no snapshot {snapshot}; `{target.command('restore', name, '--list')}` shows them"
        )
    return snapshot


def _refuse_damaged(stored: SnapshotStore) -> None:
    """Raise Stop if the log has gaps or other objects: the restore would get a number that no machine reads."""
    if stored.unexpected:
        shown = ", ".join(map(plain, stored.unexpected[:SHOWN]))
        more = f" and {len(stored.unexpected) - SHOWN} more" if len(stored.unexpected) > SHOWN else ""
        raise Stop(
            Exit.REFUSED,
            f"below {LOG}/, bucket {stored.bucket} has to have the records 0, 1, ... without a gap and nothing else. It"
            f" also has {shown}{more}: somebody else may have written these or deleted others. Nothing was changed."
            " Delete what is no record, restore deleted records from their older versions, and repeat the command",
        )
    if not stored.cluster:
        raise Stop(
            Exit.REFUSED,
            f"{LOG}/0 in bucket {stored.bucket} is no founding record: somebody else may have changed it. Nothing was"
            " changed. Restore its older version, and repeat the command",
        )


def _refuse_unfillable(stored: SnapshotStore) -> None:
    """Raise Stop if too many records of the log are lost; print a warning if some are."""
    lost = stored.published + 1 - stored.records
    if lost > MOST_FILLED:
        raise Stop(
            Exit.REFUSED,
            f"the log {LOG}/ of bucket {stored.bucket} ends {lost} records before the last founding in {FOUNDED} of the"
            f" bundle store, and a restore fills in at most {MOST_FILLED}. Nothing was changed. Delete {FOUNDED}, and "
            "repeat the command",
        )
    if lost > 0:
        print(
            f"warning: bucket {stored.bucket} has lost the records {stored.records} to {stored.published} of {LOG}/: "
            "find out who deleted them. The restore writes others in their place",
            file=sys.stderr,
        )


def in_order(keys: list[str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of founding records 0, 1, ... without a gap, and all other keys below LOG."""
    found = set(keys)
    count = next(number for number in range(len(found) + 1) if f"{LOG}/{number}" not in found)
    return count, tuple(sorted(found - {f"{LOG}/{number}" for number in range(count)}))


def authority(record: str) -> str:
    """Return the hash of the certificate authority in a founding record; empty if it is no record."""
    try:
        document = json.loads(record)
    except (ValueError, RecursionError):
        return ""
    cluster: Any = cast(dict[str, Any], document).get("cluster") if isinstance(document, dict) else None
    return cluster if isinstance(cluster, str) else ""


def _look(name: str) -> SnapshotStore:
    """Return the content of the snapshot bucket, read by the stack's own provider."""
    with kubeconfig.built(name) as run:
        resources = state.resources(run)
    key = state.stashed(name, resources, "desired-state")
    if not key:
        raise Stop(
            Exit.FAILED,
            f"the state of {name} has no key of the desired state, so no snapshot can be verified;"
            f" `{target.command('up', name)}` continues the interrupted run",
        )
    first_authority = pki.ca_hash(state.stashed(name, resources, "cluster-ca")["certificate"])
    stores = state.stores(name, resources)
    bucket, cloud = stores.snapshots, stores.cloud

    def program() -> None:
        import pulumi

        provider = cloud_tables.provider(cloud)

        def content(store: str, keys: Any, key: str) -> Any:
            return keys.apply(lambda found: provider.text(store, key) if key in (found or ()) else "")

        records = provider.keys(bucket, f"{LOG}/")
        pulumi.export("snapshots", provider.keys(bucket, SNAPSHOTS))
        pulumi.export("records", records)
        pulumi.export("first", content(bucket, records, f"{LOG}/0"))
        pulumi.export("founded", content(stores.bundles, provider.keys(stores.bundles, FOUNDED), FOUNDED))

    with passing(name, program, sandbox=target.in_sandbox(name)) as run:
        outputs = run.up(show_secrets=False, color="never").outputs
    keys: list[str] = outputs["snapshots"].value or []
    records: list[str] = outputs["records"].value or []
    snapshots, ignored = sorted_out(key, keys)
    count, unexpected = in_order(records)
    cluster = authority(outputs["first"].value or "") if records else first_authority
    published = last_founding(key, cluster, outputs["founded"].value or "")
    return SnapshotStore(bucket, snapshots, ignored, count, cluster, cloud, key, unexpected, published)


def restore_records(stored: SnapshotStore, snapshot: str) -> dict[str, str]:
    """Return the founding records that make the next machine found the cluster again, from the snapshot, by key.

    The last one is later than the last founding that the bundle store has, else each new machine would refuse the log
    (kinds/founding.py). Others take the place of lost ones: a reader counts from 0 without a gap.
    """
    record: dict[str, Any] = {"cluster": stored.cluster, "owner": "", "machine": ""}
    record |= {"state": "restore", "snapshot": snapshot}
    numbers = range(stored.records, max(stored.records, stored.published + 1) + 1)
    return {f"{LOG}/{number}": founding_record(stored.key, {**record, "epoch": number}) for number in numbers}


def _write_restore_record(name: str, stored: SnapshotStore, snapshot: str) -> None:
    """Write the founding records of a restore, in their order."""
    cloud = stored.cloud

    def program() -> None:
        import pulumi

        before = list[pulumi.Resource]()
        for key, content in restore_records(stored, snapshot).items():
            kept = pulumi.ResourceOptions(retain_on_delete=True, depends_on=before[-1:])
            made = f"{name}-restore-{key.rpartition('/')[2]}"
            before.append(cloud_tables.provider(cloud).put(made, stored.bucket, key, content, kept))

    with passing(name, program, sandbox=target.in_sandbox(name)) as run:
        run.up(show_secrets=False, color="never")
        if target.in_sandbox(name):
            state_check.keep(name, state.resources(run))
