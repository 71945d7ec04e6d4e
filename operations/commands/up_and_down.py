"""`mullion up` and `mullion down`: checks and questions, the engine's runs, and the report after them."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pulumi import automation as auto
from pulumi.automation._stack import StackInitMode

from components.checks import UNREADY
from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import CLUSTER, EXAMPLES, Stack, refuse_unready
from operations.commands import (
    account_check,
    destinations,
    joined,
    leftovers,
    lost_identities,
    plan_against,
    readiness,
    reclaimed,
    removal,
    report,
)
from operations.commands.plan import document
from operations.console.exits import Exit, Stop
from operations.cost import budget
from operations.engine import failures, locate, pauses, policy_preview, progress, reserved, state
from operations.engine.events import Tally
from operations.engine.state import State
from operations.engine.workspace import Run, opened, refuse_unusable, sandbox_config
from operations.recorder.recorder import record
from operations.recovery import lookup, recovery, state_check, volumes_left
from operations.stacks import account as identity
from operations.stacks import boot_overlay, boot_site, ephemeral, stack_files, target
from operations.stacks.target import Target


def up(
    name: str,
    *,
    sandbox: bool,
    yes: bool,
    refresh: bool = False,
    bootable_as: boot_overlay.As | None = None,
    replaced: Callable[[State], list[str]] | None = None,
    created: Callable[[], None] | None = None,
) -> list[str]:
    """Build a stack's cluster, or apply the changes of its file. Errors of the file are raised before an engine starts.

    Return the URNs of machines that the cloud no longer had: no gate waits for those that were created again.

    bootable_as: build machines that the sandbox can boot.
    replaced: given the state, returns the URNs of resources to replace although none of their inputs changed.
    created: called once the backend has the new stack; if given, an existing stack is refused.
    """
    _begin_overlay(name, bootable_as)
    stack = stack_files.load(name)
    refuse_unready(stack, UNREADY if sandbox else UNREADY | EXAMPLES)
    planned = plan_cluster(name, stack.spec)
    budget.refuse_planned(planned, stack.region)
    _print_warnings(stack)
    destination = destinations.of(name, stack.spec.cloud.value, stack.region, sandbox=sandbox)
    target.check(name, destination)
    with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name), pauses.obeyed(name):
        if not sandbox:
            refuse_unusable(name)
        total = _registered(name, sandbox=sandbox)
        look = removal.lookup_of(name, sandbox=sandbox)
        found, exported, taken = reclaimed.ready(name, workspace, look, planned)
        before = exported["deployment"].get("resources") or []
        account_check.refuse_short(name, planned, stack.region, sandbox=sandbox, built=bool(before))
        plan_against.refuse(document(stack, planned), plan_against.from_state(before, name))
        work = _Work(name, found, total, look, sandbox, refresh, replaced(before) if replaced else [])
        if not sandbox:
            _ask_up(planned, stack, destination, work, yes=yes)
        work.run = _begun(name, workspace, found, created, built=bool(before), sandbox=sandbox)
        work.replaced, gone = reclaimed.previewed(work.run, exported, work.replaced, total, refresh=refresh)
        target.remember(name, destination)
        took = progress.clock()
        outputs, after = work.done()
        if older := state.waiting_version(after, stack.spec.kubernetes):
            print(f"{work.tally.summary()} in {took()}; the second stage: pools, from Kubernetes {older}", flush=True)
            outputs, after = work.done()
        if older := state.waiting_version(after, stack.spec.kubernetes):
            raise Stop(
                Exit.FAILED,
                f"the control plane has not reached Kubernetes {stack.spec.kubernetes}; pools stay at {older} until it "
                f"has; then `{target.command('up', name)}` continues",
            )
    print(f"{work.tally.summary()} in {took()}\n")
    _print_built(name, planned, outputs, before, after, sandbox=sandbox)
    if sandbox and not before:
        print(f"\n{report.timeline(planned, after)}")
    for fault in state_check.faults(name, after) if sandbox else ():
        print(f"mullion: {fault}", file=sys.stderr)
    return [*taken, *gone]


def _begin_overlay(name: str, bootable_as: boot_overlay.As | None) -> None:
    """Apply the bootable overlay if requested now or earlier. Raises Stop before that if the budget is too small."""
    config = stack_files.written(name)
    cluster = config.get(CLUSTER)
    if bootable_as and isinstance(cluster, Mapping) and "budget" in cluster:
        stack = stack_files.load(name)
        budget.refuse_planned(plan_cluster(name, stack.spec), stack.region)
    boot_overlay.begin(name, config, bootable_as)


def _print_warnings(stack: Stack) -> None:
    for warning in stack.warnings:
        if warning.acknowledged is None:
            print(f"warning: {warning}", file=sys.stderr)


def _begun(
    name: str,
    workspace: auto.LocalWorkspace,
    found: Run | None,
    created: Callable[[], None] | None,
    *,
    built: bool,
    sandbox: bool,
) -> Run:
    """Return the stack; create it if none was found. Raises Stop if it exists but only a new one is wanted.

    built: whether its state has resources. An empty stack in the sandbox comes from an earlier run of this clone.
    """
    if created and (built or (found and not sandbox)):
        raise Stop(Exit.REFUSED, ephemeral.taken(name, f"the backend has a stack {name}"))
    try:
        run = found or Run(name, workspace, StackInitMode.CREATE)
    except auto.StackAlreadyExistsError:
        raise Stop(Exit.REFUSED, f"another run created stack {name} meanwhile; this one changed nothing") from None
    if created:
        created()
    return run


def _print_built(
    name: str, planned: ClusterPlan, outputs: dict[str, Any], before: State, after: State, *, sandbox: bool
) -> None:
    """Print the machines, how to reach the cluster, and identities of machines that were created again."""
    print(report.machines(planned, after))
    if planned.joins:
        print(f"\n{report.access(outputs, joined.YOURS, joined.UNTOUCHED if sandbox else '')}")
        return
    kubeconfig = boot_site.reached(name, outputs["kubeconfig"])
    not_booted = boot_site.not_booted(name) if sandbox and not boot_site.api(name) else ""
    print(f"\n{report.access(outputs, report.kubeconfig(name, kubeconfig), not_booted)}")
    if again := lost_identities.advice(lost_identities.created_again(before, after)):
        print(f"warning: {again}", file=sys.stderr)


def down(name: str, *, sandbox: bool, yes: bool, confirmed: str | None) -> None:
    """Remove a stack's cluster. Keep the etcd snapshots unless the stack file has `expires`."""
    print(leftovers.removed(partial(_down, name, sandbox, yes, confirmed)))


def _down(name: str, sandbox: bool, yes: bool, confirmed: str | None, searched: bool) -> str:
    cloud, region, protect = destinations.known(name)
    destination = destinations.of(name, cloud, region, sandbox=sandbox)
    target.check(name, destination)
    with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
        run, exported = recovery.ready(name, workspace, removal.lookup_of(name, sandbox=sandbox), removal=True)
        before = exported["deployment"].get("resources") or []
        if run is None or not before:  # a run that was interrupted at its end leaves only components
            if not searched:
                removal.refuse_unknown(name, exported, sandbox=sandbox)
            removal.forget(name, workspace, run)
            return f"stack {name} has no resources in {destination}"
        protect = protect or bool(state.protected(before))
        _ask_down(name, destination, before, sandbox=sandbox, yes=yes or searched, confirmed=confirmed, protect=protect)
        left = removal.destroyed(run, exported, sandbox=sandbox, searched=searched)
        removal.forget(name, workspace, run)
    return left


@dataclass
class _Work:
    """The engine's runs of one `up`. run: None before the stack exists."""

    name: str
    run: Run | None
    total: int
    look: lookup.Lookup | None
    sandbox: bool
    refresh: bool
    replaced: list[str]
    tally: Tally = field(default_factory=Tally)

    def done(self) -> tuple[dict[str, Any], State]:
        """Run the engine, and return the stack's outputs and its state. Resources in `replaced` are replaced once."""
        if self.run is None:
            raise ValueError(f"stack {self.name} is not created yet")
        self.tally = Tally(total=self.total)
        replaced, self.replaced = self.replaced, []
        with (
            failures.reported(self.name, self.tally),
            progress.shown(self.tally, removal.estimate(self.sandbox)) as watch,
        ):
            try:
                seen = {
                    "on_event": watch,
                    "show_secrets": False,
                    "color": "never",
                    "policy_packs": policy_preview.PACKS,
                }
                run = partial(self.run.up, refresh=self.refresh, replace=replaced or None, **seen)
                # a second run would replace all of `replaced` again
                pause = 0 if self.sandbox else reserved.SECONDS
                result = run() if replaced else reserved.tried(run, self.tally, pause)
            except auto.CommandError:
                if self.look:
                    recovery.settle(self.run, self.tally.failed, self.look)
                raise
            finally:
                for warning in self.tally.warnings:
                    print(f"warning: {warning}", file=sys.stderr)
        after = state.resources_of(self.run.exported) if self.run.exported else []
        return {key: value.value for key, value in result.outputs.items()}, after


def _registered(name: str, *, sandbox: bool) -> int:
    """Run the program without an engine, and return its number of resources. Raises Stop if the program refuses."""
    recording = record(name, sandbox_config(name) if sandbox else stack_files.config(name), preview=True)
    if recording.errors:
        raise Stop(Exit.FAILED, "\n".join([f"the program refused stack {name}:", *recording.errors]))
    return sum(each.custom for each in recording.resources.values())


def _ask_up(planned: ClusterPlan, stack: Stack, destination: Target, work: _Work, *, yes: bool) -> None:
    """Show the account, the region and the number of changes, and ask for confirmation."""
    where = destinations.where(stack.name, destination)
    print(f"{stack.name}: {len(planned.machines)} machines on {destination.name}, {where}")
    for lack in readiness.lacks(destination.name):
        print(f"warning: {lack}", file=sys.stderr)
    if yes:
        return
    changes: Counter[str] = Counter(create=work.total)
    if work.run:
        tally = Tally()
        with failures.reported(stack.name, tally):
            summary = work.run.preview(
                on_event=lambda event: tally.hear(event) and None, replace=work.replaced or None, color="never"
            ).change_summary
        print("".join(f"  {each}\n" for each in tally.warnings), end="")
        changes = Counter({getattr(op, "value", op): count for op, count in summary.items()})
    print("  " + ", ".join(f"{op} {count}" for op, count in sorted(changes.items())))
    identity.confirm("This changes a real account and costs money.")


def _ask_down(
    name: str,
    destination: Target,
    before: state.State,
    *,
    sandbox: bool,
    yes: bool,
    confirmed: str | None,
    protect: bool,
) -> None:
    """Show what is deleted, and ask for confirmation; a protected cluster needs its name, even with --yes."""
    if not sandbox:
        machines, count = len(state.instances(before)), state.counted(before)
        volumes = ", the volumes and snapshots of its claims," if volumes_left.go(before) else ""
        where = f"{destination.name}, {destinations.where(name, destination)}"
        print(f"{name}: delete {machines} machines, {count} resources{volumes} on {where}")
    if protect and confirmed is not None and confirmed != name:
        raise Stop(Exit.REFUSED, f"--confirm {confirmed} does not name the cluster {name}; nothing was changed")
    if protect and confirmed is None:
        identity.confirm(f"Cluster {name} is protected (without a terminal: --confirm {name}).", name)
    if not protect and not sandbox and not yes:
        identity.confirm("This deletes them in a real account.")
