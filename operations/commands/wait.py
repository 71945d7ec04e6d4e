"""`mullion wait`: wait until every machine of a stack is ready, by its status record, its instance and its Node.

The stack's own provider reads status records and instances; Nodes are read where the cluster's API answers.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.rollout.plain_text import plain
from components.rollout.provider_calls import NO_RECORD
from components.rollout.workers import PASSING_STATES
from components.spec.choices import Gate
from components.spec.quantities import duration_seconds
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, reclaimed
from operations.commands.reached_api import ReachedApi
from operations.console.exits import Exit, Stop
from operations.console.heartbeat import Heartbeat
from operations.console.table import table
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.stacks import boot_site, machine_records, stack_files, target

POLL_SECONDS = 10.0
"""Seconds between two checks."""

Record = Mapping[str, Any]
"""A machine's status record."""
Nodes = Mapping[str, bool] | None
"""Whether each Node is Ready, by name; None if the API does not answer."""


@dataclass(frozen=True)
class ExpectedMachine:
    """A planned machine. enough: states of its status record that count as ready."""

    name: str
    instance: str
    enough: tuple[str, ...]
    kubernetes: str
    control_plane: bool
    authorities: tuple[str, ...] = ()
    """SHA-256 of each certificate authority that it has to trust; none if they were never rotated."""


@dataclass(frozen=True)
class MachineReport:
    """A machine's status record, whether its Node is Ready (None: no such Node, or unknown), and its problem, if any.

    only_agent: the machine is ready, but its agent reports errors. gone: the cloud no longer has the instance.
    """

    expected: ExpectedMachine
    record: Record
    node: bool | None
    problem: str
    only_agent: bool = False
    gone: bool = False

    @property
    def state(self) -> str:
        """State in its status record; `gone` if the cloud no longer has its instance."""
        return "gone" if self.gone else plain(self.record.get("state"))

    @property
    def where(self) -> str:
        """Phase and step of its node plan: phase/step."""
        return "/".join(plain(self.record[key]) for key in ("phase", "step") if self.record.get(key))


def wait(name: str, timeout: str) -> None:
    """Return once all machines are ready. Raises Stop after the timeout (90s, 45m), or if an instance is gone."""
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    began = time.monotonic()
    reports = watch(name, seconds)
    seen = {each.expected.name: (each.expected.instance, each.record, each.problem) for each in reports}
    machine_records.write(name, seen)
    print(table_of(reports))
    if missing := problems(reports):
        waited = f"after {timeout}, " if time.monotonic() - began > seconds - POLL_SECONDS else ""
        raise Stop(
            Exit.FAILED, "\n".join([f"{waited}{len(missing)} of {len(reports)} machines are not ready:", *missing])
        )
    print(f"{name}: all {len(reports)} machines are ready")


def problems(reports: Iterable[MachineReport]) -> list[str]:
    """Return a line for each machine that has a problem."""
    return [f"{report.expected.name}: {report.problem}" for report in reports if report.problem]


def watch(name: str, seconds: float, *, control_plane: bool = False, only: Collection[str] = ()) -> list[MachineReport]:
    """Wait until no machine has a problem, for at most `seconds`, and return the last reports. Prints each change.

    control_plane: watch only its machines. only: names of the machines to watch; all if empty.
    """
    plan = plan_cluster(name, stack_files.load(name).spec)
    with kubeconfig.built(name) as run:
        resources = state.resources(run)
        stored, sandbox = run.outputs().get("kubeconfig"), target.in_sandbox(name)
        unasked = plan.joins and sandbox  # the sandbox calls no API of an existing cluster
        text = kubeconfig.current(name, stored.value, run) if stored and not unasked else ""
    stores = state.stores(name, resources)
    trusted = kubeconfig.authorities(text) if text and plan.spec.authorities.number else ()
    machines = [
        replace(machine, authorities=trusted)
        for machine in expected_machines(plan, resources)
        if (machine.control_plane or not control_plane) and (not only or machine.name in only)
    ]
    cluster = ReachedApi(plan, text, resources) if text and (not sandbox or boot_site.api(name)) else None
    planes = [each.name for each in planned(plan, {}) if each.control_plane]
    reports: list[MachineReport] = []

    def program() -> None:
        import pulumi

        provider = cloud_tables.provider(plan.spec.cloud.value)
        parent = pulumi.ComponentResource("mullion:index:Waiting", name)
        records, instances = provider.records(parent, stores.bundles), state.instances(resources)
        prefixes = {name: stores.prefix(found["pool"], name) for name, found in instances.items()}

        async def check(report: MachineReport) -> MachineReport:
            machine = report.expected
            fault = await provider.not_running(records, instances[machine.name])
            return without_instance(report, fault, reclaimed.way_back(name, machine.name, planes))

        async def look() -> list[MachineReport]:
            read = (records.record(prefixes[machine.name], machine.instance) for machine in machines)
            found, nodes = await asyncio.gather(*read), await _nodes(cluster)
            now = [judge(machine, record, nodes) for machine, record in zip(machines, found, strict=True)]
            if reports and problems(now):
                return now
            return list(
                await asyncio.gather(*map(check, now))
            )  # only at the first and the last check: it calls the cloud for each machine

        pulumi.export("ready", pulumi.Output.from_input(until_ready(look, seconds, reports, _say)))

    with passing(name, program, sandbox=sandbox) as run:
        try:
            run.up(show_secrets=False, color="never")
        finally:
            if cluster:
                cluster.close()
    return reports


def expected_machines(plan: ClusterPlan, resources: state.State) -> list[ExpectedMachine]:
    """Return the plan's machines with their instances. Raises Stop if a machine has no instance in the state."""
    instances = state.instances(resources)
    missing = [machine.name for machine in plan.machines if machine.name not in instances]
    if missing:
        raise Stop(
            Exit.FAILED, f"not created yet: {', '.join(missing)}; `{target.command('up', plan.name)}` creates them"
        )
    return planned(plan, {name: outputs["id"] for name, outputs in instances.items()})


def planned(plan: ClusterPlan, instances: Mapping[str, str]) -> list[ExpectedMachine]:
    """Return the plan's machines. instances: ids of the created ones, by machine name."""
    return [
        ExpectedMachine(
            machine.name,
            instances.get(machine.name, ""),
            _enough(plan, group),
            plan.spec.kubernetes,
            group.is_control_plane,
        )
        for group in plan.machine_groups
        for machine in group.machines
    ]


def _enough(plan: ClusterPlan, group: MachineGroup) -> tuple[str, ...]:
    return PASSING_STATES[Gate.READY if group.is_control_plane else plan.spec.pools[group.name].rollout.gate]


def judge(machine: ExpectedMachine, record: Record, nodes: Nodes) -> MachineReport:
    """Judge one machine by its record, and by its Node if the API answers."""
    found = plain(record.get("state"))
    if found == "absent" and record.get("message") == NO_RECORD:
        record = {**record, "message": "it has written no status record yet"}
    node = None if nodes is None else nodes.get(machine.name)
    problem, only_agent = "", False
    if found not in machine.enough:
        code = f"E{plain(record['code'])} {plain(record.get('name'))}: " if record.get("code") else ""
        message = f"{code}{plain(record.get('message'))}".strip()
        problem = f"{found}" + (f", {message}" if message else "")
    elif record.get("kubernetes") not in (None, machine.kubernetes):
        problem = f"it runs Kubernetes {plain(record['kubernetes'])}, not {machine.kubernetes}"
    elif not _trusts(machine, record):
        problem = "it does not trust the certificate authorities of this number yet (docs/pki.md)"
    elif nodes is not None and node is None:
        problem = "the cluster has no Node of this name"
    elif node is False and "registered" not in machine.enough:
        problem = "its Node is not Ready"
    elif record.get("agent_errors"):
        problem, only_agent = f"its agent reports {plain(record['agent_errors'])}", True
    return MachineReport(machine, record, node, problem, only_agent)


def _trusts(machine: ExpectedMachine, record: Record) -> bool:
    """Return whether a machine reports the authorities that it has to trust: a control plane the signing one first."""
    found, wanted = plain(record.get("authorities")).split(","), [*machine.authorities]
    return not wanted or (found == wanted if machine.control_plane else sorted(found) == sorted(wanted))


def without_instance(report: MachineReport, fault: str, way: str) -> MachineReport:
    """Return the report with the fault of its instance: GONE, STOPPED or empty. way: command that creates it again."""
    instance = report.expected.instance
    if fault == cloud_tables.GONE:
        return replace(
            report, problem=f"the cloud no longer has instance {instance}; run: {way}", only_agent=False, gone=True
        )
    if fault == cloud_tables.STOPPED:
        return replace(report, problem=f"its instance {instance} does not run", only_agent=False)
    return report


async def until_ready(
    look: Callable[[], Any], seconds: float, reports: list[MachineReport], say: Callable[[MachineReport], None]
) -> bool:
    """Check every 10 s and print each change once; `reports` has the newest results. Return whether all are ready.

    Return False after `seconds`, or at once if an instance is gone, because waiting does not bring it back.
    """
    end, said, heart = time.monotonic() + seconds, dict[str, tuple[str, str]](), Heartbeat()
    explained = dict[str, str]()
    while True:
        reports[:] = await look()
        for report in reports:
            now = (report.state, report.where)
            if said.get(report.expected.name) != now:
                said[report.expected.name] = now
                say(report)
        if not any(report.problem for report in reports):
            return True
        if any(report.gone for report in reports) or time.monotonic() + POLL_SECONDS > end:
            return False
        if heart.due:
            heart.beat("; ".join(_waited_for(reports, explained)))
        await asyncio.sleep(POLL_SECONDS)


def _waited_for(reports: Iterable[MachineReport], explained: dict[str, str]) -> list[str]:
    """Return a text for each machine with a problem: the whole problem at first, then only the machine's state.

    explained: the problem that was printed last, by machine.
    """
    texts: list[str] = []
    for report in reports:
        name, repeated = report.expected.name, explained.get(report.expected.name) == report.problem
        if report.problem:
            texts.append(f"{name}: {report.state or 'not ready' if repeated else report.problem}")
        explained[name] = report.problem
    return texts


def table_of(reports: list[MachineReport]) -> str:
    """Return a table of the machines."""
    ready = {True: "Ready", False: "NotReady", None: ""}
    rows = [
        (
            report.expected.name,
            report.state,
            report.where,
            plain(report.record.get("kubernetes")),
            ready[report.node],
        )
        for report in reports
    ]
    return table(("machine", "state", "phase/step", "kubernetes", "node"), rows)


def _say(report: MachineReport) -> None:
    clock = time.strftime("%H:%M:%S")
    line = f"{clock}  {report.expected.name}: {report.state} {report.where}"
    print(line.rstrip(), flush=True)


async def _nodes(api: ReachedApi | None) -> Nodes:
    from components.rollout.kubernetes_api import Refused, Unreachable, ready_nodes

    if api is None:
        return None
    try:
        return await ready_nodes(await api.client())
    except Refused:
        return None
    except Unreachable:
        api.close()
        return None
