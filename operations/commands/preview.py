"""`mullion preview` and `mullion up --preview`: print what `up` would do, why, in which waves, and its duration."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi.automation import EngineEvent

from components.cost import bill as bills
from components.cost.bill import Bill
from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import Stack
from operations.commands import forecast, plan_against, plan_text
from operations.commands.plan import document
from operations.console.exits import Exit, Stop
from operations.cost import budget, change, shown, so_far
from operations.engine import clusters, failures, locate, policy_preview, recorded_policies
from operations.engine.events import SILENT, Tally, step_of
from operations.engine.workspace import Run, existing, opened, sandbox_config
from operations.recorder.recorder import Recording, record
from operations.recovery import recovery
from operations.stacks import stack_files, target
from operations.stacks.target import SANDBOX, Target
from policies.rules import RULES

SHOWN = 20
"""Most resources of one operation that are listed by name."""

VERBS = {"create": "created", "update": "changed", "replace": "replaced", "delete": "removed"}
SAME_AS = {"create-replacement": "replace", "delete-replaced": "replace"}
"""Steps of a replacement, which count as one operation."""


@dataclass
class Foreseen:
    """Result of the engine's preview. ops: operation by URN. broken: violations of policies."""

    ops: dict[str, str] = field(default_factory=dict)
    changed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the inputs that differ, by URN."""
    broken: list[str] = field(default_factory=list)


def preview(name: str, *, sandbox: bool) -> None:
    """Print what `up` would do with a stack, in the sandbox if it is built there. Changes nothing.

    Raises Stop if `up` would refuse.
    """
    stack = stack_files.load(name)
    planned = plan_cluster(name, stack.spec)
    cloud = stack.spec.cloud.value
    known = target.recall(name)
    sandbox = sandbox or (known is not None and known.name == SANDBOX)
    if known is not None and (known.name == SANDBOX) != sandbox:
        target.check(name, Target(SANDBOX) if sandbox else Target(cloud, "", stack.region))
    recording = record(name, sandbox_config(name) if sandbox else stack_files.config(name), preview=True)
    if recording.errors:
        raise Stop(Exit.FAILED, "\n".join([f"the program refused stack {name}:", *recording.errors]))
    place = "in the sandbox" if sandbox else f"on {cloud} in {stack.region}"
    bill = bills.bill(planned, stack.region)
    print(f"{name}: Kubernetes {stack.spec.kubernetes} {place}")
    print(f"Costs on {cloud}: {shown.line(shown.summary(bill), name, stack.region)}")
    # in the sandbox a stack that no `up` began has no state, so no engine is needed
    unbuilt = sandbox and known is None
    lines = _first(planned, recording, bill) if unbuilt else _over(stack, planned, recording, bill, sandbox=sandbox)
    for line in lines:  # a refusal comes after what the run would change
        print(line)
    if stack.spec.budget is not None:
        budget.refuse(bill, stack.spec.budget.month)


def _first(planned: ClusterPlan, recording: Recording, bill: Bill) -> Iterator[str]:
    """Yield the preview of a cluster that is not built."""
    ops = {resource.urn: "create" for resource in recording.resources.values() if resource.custom}
    yield from change.lines(None, bill)
    yield "Not built yet: `up` creates everything"
    yield f"  machines  {', '.join(machine.name for machine in planned.machines)}"
    yield from _resources(Foreseen(ops))
    times, _ = forecast.first_build(planned, forecast.waits_of(recording))
    yield times.sentence(planned.spec.cloud.value)
    yield from _judged(planned.name, recorded_policies.broken(recording.resources.values()))


def _judged(name: str, broken: list[str]) -> Iterator[str]:
    """Yield the line about policies. Raises Stop if one is broken."""
    yield policy_preview.summary(len(RULES) + 1, broken)  # the pack's, and control-planes-together
    if broken:
        raise policy_preview.refusal(name, broken)


def _over(stack: Stack, planned: ClusterPlan, recording: Recording, bill: Bill, *, sandbox: bool) -> Iterator[str]:
    """Yield the preview of a change to a built cluster."""
    name = stack.name
    with opened(name, locate.find(), sandbox=sandbox) as workspace, failures.reported(name):
        run = existing(name, workspace)
        deployment = recovery.export(run)["deployment"] if run else {}
        resources = deployment.get("resources") or []
        if run is None or not resources:
            yield from _first(planned, recording, bill)
            return
        earlier = plan_against.from_state(resources, f"state of {name}")
        compared = plan_against.compare(document(stack, planned), earlier)
        yield from _costs(name, deployment, bill)
        foreseen = _foreseen(name, run)
    if deployment.get("pending_operations"):
        yield "The last run was interrupted: `up` first finds out what it created, then makes these changes"
    yield "Compared with the built cluster"
    yield from plan_text.comparison(compared)
    yield from _resources(foreseen)
    if set(foreseen.ops.values()) & set(VERBS):
        yield forecast.change(planned, forecast.waits_of(recording), foreseen.ops).sentence(planned.spec.cloud.value)
    else:
        yield "`up` changes nothing"
    yield from _judged(name, foreseen.broken)


def _costs(name: str, deployment: Mapping[str, Any], now: Bill) -> Iterator[str]:
    """Yield what the built cluster costs, by the spec in its state, and what the planned one does."""
    facts = clusters.read(name, clusters.BACKEND, deployment)
    before = so_far.built(name, facts.spec, facts.region) if facts else None
    if before is None:
        yield "  before: unknown, because the state names no region or has a spec that this version cannot read"
    else:
        yield from change.lines(before, now)


def _foreseen(name: str, run: Run) -> Foreseen:
    foreseen, tally = Foreseen(), Tally()

    def hear(event: EngineEvent) -> None:
        tally.hear(event)
        if event.resource_pre_event:
            metadata = event.resource_pre_event.metadata
            step = step_of(metadata)
            if not step.type.startswith(SILENT):
                op = SAME_AS.get(step.op, step.op)
                if foreseen.ops.get(step.urn) != "replace":
                    foreseen.ops[step.urn] = op
                foreseen.changed[step.urn] = tuple(sorted({diff.partition(".")[0] for diff in metadata.diffs or ()}))

    with failures.reported(name, tally):
        foreseen.broken = policy_preview.judge(name, run, hear)
    return foreseen


def _resources(foreseen: Foreseen) -> Iterator[str]:
    """Yield the number of resources by operation, and the names of those that change."""
    counts = Counter(foreseen.ops.values())
    yield f"Resources: {', '.join(f'{counts[op]} {verb}' for op, verb in VERBS.items())}"
    for op, verb in VERBS.items():
        urns = [urn for urn, each in foreseen.ops.items() if each == op]
        if op == "create" and len(urns) == len(foreseen.ops):
            continue  # a first build: `plan --resources` counts them by type
        for urn in urns[:SHOWN]:
            inputs = ", ".join(foreseen.changed.get(urn, ())) if op in ("update", "replace") else ""
            yield f"  {verb:<9} {urn.rpartition('::')[2]} ({_type(urn)}){f': {inputs}' if inputs else ''}"
        if len(urns) > SHOWN:
            yield f"  {verb:<9} {len(urns) - SHOWN} more"


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]
