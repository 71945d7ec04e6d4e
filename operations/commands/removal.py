"""Removal of a cluster, shared by `down` and `reap`: the engine's run, and deletion of local records after it."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.commands import joined_removal, leftovers, reclaimed, report
from operations.commands.leftovers import Unremoved
from operations.console.exits import Exit, Stop
from operations.engine import clusters, failures, locate, locks, progress, reserved, state
from operations.engine.clusters import ClusterFacts
from operations.engine.events import Step, Tally
from operations.engine.workspace import Run, export, opened
from operations.recovery import controller_made, lookup, recovery, state_check, volumes_left
from operations.stacks import boot_overlay, boot_site, ephemeral, machine_records, stack_files, target
from operations.stacks.target import Target, cloud_state_file

Refuse = Callable[[dict[str, Any]], None]
"""Raises Stop if a cluster, by this deployment of its state, must stay."""


def destroyed(
    run: Run, exported: dict[str, Any], *, sandbox: bool, searched: bool = False, refuse: Refuse | None = None
) -> str:
    """Remove every resource of a stack. Return the summary, which names what is kept on purpose.

    exported: the stack's state, ready for the run (`recovery.ready`). searched: as in `leftovers.removed`. refuse: of
    the reaper, asked again with the newest state right before anything is changed: the preparation takes minutes.
    Raises Unremoved if the engine fails, or if the state does not say whether a resource exists.
    """
    name, before = run.name, exported["deployment"]["resources"]
    facts = clusters.read(name, clusters.SANDBOX if sandbox else clusters.BACKEND, exported["deployment"])
    accounts = cloud_tables.of(before).accounts(before)
    took = progress.clock()
    made = controller_made.adopt(name, before, sandbox=sandbox)
    going, volumes = volumes_left.adopt(name, before, sandbox=sandbox)
    joined = None if sandbox and not boot_site.api(name) else joined_removal.left(name, before)
    changed = state.released(before) or bool(made) or bool(going)

    def work() -> Tally:
        if refuse:
            refuse(export(run)["deployment"])
        if changed:
            recovery.write(run, exported)
        reclaimed.before_removal(run, before)
        if refuse:
            refuse(export(run)["deployment"])
        tally = Tally(total=state.counted(before), removal=True)
        with failures.reported(name, tally), progress.shown(tally, estimate(sandbox, "delete")) as watch:
            destroy = partial(run.destroy, on_event=watch, show_secrets=False, color="never")
            reserved.tried(destroy, tally, 0 if sandbox else reserved.SECONDS)
        return tally

    try:
        tally = locks.passed(run, work, expired=facts.expires if refuse and facts else None)
    except Stop as error:
        if facts is None or error.code is not Exit.FAILED:
            raise
        raise Unremoved(str(error), facts, accounts) from error
    if not searched:
        refuse_unknown(name, exported, facts, accounts, sandbox=sandbox)
    left = report.remains(name, before, sandbox=sandbox)
    lines = volumes, left, joined.removed() if joined else ""
    return "\n".join([f"{tally.summary()} in {took()}", *filter(None, lines)])


def refuse_unknown(
    name: str,
    exported: dict[str, Any],
    facts: ClusterFacts | None = None,
    accounts: Collection[str] = (),
    *,
    sandbox: bool,
) -> None:
    """Raise Unremoved if creations of a removed stack in a real account have no recorded result."""
    if not sandbox and (asked := recovery.unknown(exported["deployment"])):
        raise Unremoved(recovery.by_hand_after_removal(name, asked), facts, accounts)


def by_state(name: str, place: Target, refuse: Refuse) -> str:
    """Remove a cluster and its stack without a stack file and without a question. Return the summary.

    refuse: raises Stop if the cluster, by its newest state, must stay.
    """
    return leftovers.removed(lambda searched: _by_state(name, place, refuse, searched=searched))


def _by_state(name: str, place: Target, refuse: Refuse, *, searched: bool) -> str:
    sandbox = place.name == target.SANDBOX
    target.check(name, place)
    if sandbox and target.recall(name) is None:
        target.remember(name, place)  # the record may have been deleted together with the stack file
    of_user = name in stack_files.names()
    try:
        with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
            run, exported = recovery.ready(name, workspace, lookup_of(name, sandbox=sandbox), removal=True)
            summary = "it is gone already"
            if run is not None and exported["deployment"].get("resources"):
                refuse(exported["deployment"])
                summary = destroyed(run, exported, sandbox=sandbox, searched=searched, refuse=refuse)
            elif not searched:
                refuse_unknown(name, exported, sandbox=sandbox)
            forget(name, workspace, run, for_ever=True)
    finally:
        if not of_user:
            _unlink_salt(stack_files.folder() / f"Pulumi.{name}.yaml")
    return summary


def _unlink_salt(path: Path) -> None:
    """Delete a stack file that the engine wrote because none existed; it contains only encryption keys."""
    try:
        written = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, yaml.YAMLError):
        return
    if isinstance(written, dict) and written.keys() <= {*stack_files.ENCRYPTION}:
        path.unlink(missing_ok=True)


def forget(name: str, workspace: auto.LocalWorkspace, run: Run | None, *, for_ever: bool = False) -> None:
    """Stop the machines of a removed stack, and delete its recorded target and its kubeconfig.

    Stacks of `mullion run`, and with for_ever all stacks, are also removed from the backend. Stack files of users stay.
    """
    boot_site.stop(name, disks_too=True)
    boot_overlay.forget(name)
    if run is not None and (for_ever or ephemeral.is_made(name)):
        workspace.remove_stack(name, preserve_config=True)
    target.forget(name)
    (target.folder(name) / "kubeconfig").unlink(missing_ok=True)
    machine_records.forget(name)
    ephemeral.forget(name, sandbox_too=not state_check.in_sandbox(cloud_state_file(name)))


def lookup_of(name: str, *, sandbox: bool) -> lookup.Lookup | None:
    """Return the lookup of resources whose creation was interrupted; None for real accounts."""
    return lookup.in_sandbox(cloud_state_file(name), name) if sandbox else None


def estimate(sandbox: bool, kind: str = "create") -> Callable[[Step], float] | None:
    """Return a function that estimates a step's seconds in a real account; None unless in the sandbox."""
    if not sandbox:
        return None
    from sandbox import clouds

    return lambda step: clouds.seconds(step.type, "delete" if step.op.startswith("delete") else kind)
