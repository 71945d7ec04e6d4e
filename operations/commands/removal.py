"""What `down` and `reap` share: the engine's removal of a cluster, and what is forgotten after it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from pulumi import automation as auto

from operations.commands import report
from operations.engine import failures, locate, progress, state
from operations.engine.events import Step, Tally
from operations.engine.workspace import Run, opened
from operations.recovery import lookup, recovery, state_check
from operations.stacks import boot_overlay, boot_site, ephemeral, stack_files, target
from operations.stacks.target import Target, cloud_state_file


def destroyed(run: Run, exported: dict[str, Any], *, sandbox: bool) -> str:
    """Remove every resource of a stack, and return the summary with what is kept on purpose.

    exported: the stack's state, ready for the run (`recovery.ready`).
    """
    name, before = run.name, exported["deployment"]["resources"]
    took = progress.clock()
    if state.released(before):
        recovery.write(run, exported)
    tally = Tally(total=state.counted(before), removal=True)
    with failures.reported(name, tally), progress.shown(tally, estimate(sandbox, "delete")) as watch:
        run.destroy(on_event=watch, show_secrets=False, color="never")
    left = report.remains(name, before, sandbox=sandbox)
    return "\n".join([f"{tally.summary()} in {took()}", *([left] if left else [])])


def by_state(name: str, place: Target, refuse: Callable[[dict[str, Any]], None]) -> str:
    """Remove a cluster and its stack by the state alone, and return the summary. Needs no stack file and asks nothing.

    refuse: raises Stop if the cluster, by its newest state, must stay.
    """
    sandbox = place.name == target.SANDBOX
    target.check(name, place)
    if sandbox and target.recall(name) is None:
        target.remember(name, place)  # its file may be deleted, and the record with it
    of_user = name in stack_files.names()
    try:
        with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
            run, exported = recovery.ready(name, workspace, lookup_of(name, sandbox=sandbox))
            summary = "it is gone already"
            if run is not None and exported["deployment"].get("resources"):
                refuse(exported["deployment"])
                summary = destroyed(run, exported, sandbox=sandbox)
            forget(name, workspace, run, for_ever=True)
    finally:
        if not of_user:
            _unlink_salt(stack_files.folder() / f"Pulumi.{name}.yaml")
    return summary


def _unlink_salt(path: Path) -> None:
    """Delete a stack file that the engine wrote, because there was none: it has keys of the encryption only."""
    try:
        written = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, yaml.YAMLError):
        return
    if isinstance(written, dict) and written.keys() <= {*stack_files.ENCRYPTION}:
        path.unlink(missing_ok=True)


def forget(name: str, workspace: auto.LocalWorkspace, run: Run | None, *, for_ever: bool = False) -> None:
    """Stop the machines of a removed stack, and forget where it was built and its kubeconfig.

    A stack of `mullion run`, or any with for_ever, also leaves the backend. Files of users' stacks stay.
    """
    boot_site.stop(name, disks_too=True)
    boot_overlay.forget(name)
    if run is not None and (for_ever or ephemeral.is_made(name)):
        workspace.remove_stack(name, preserve_config=True)
    target.forget(name)
    (target.folder(name) / "kubeconfig").unlink(missing_ok=True)
    ephemeral.forget(name, sandbox_too=not state_check.in_sandbox(cloud_state_file(name)))


def lookup_of(name: str, *, sandbox: bool) -> lookup.Lookup | None:
    """Return how to find resources whose creation was interrupted; None in real accounts."""
    return lookup.in_sandbox(cloud_state_file(name), name) if sandbox else None


def estimate(sandbox: bool, kind: str = "create") -> Callable[[Step], float] | None:
    """Return the seconds that a step takes in a real account, by step; None where the account is real."""
    if not sandbox:
        return None
    from sandbox import clouds

    return lambda step: clouds.seconds(step.type, "delete" if step.op.startswith("delete") else kind)
