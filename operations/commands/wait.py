"""`mullion wait`: until every machine of a stack is what its plan says.

By the machines' status records, which the stack's own provider reads, and by the cluster's API where it answers.
"""

import asyncio
import base64
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import yaml

from components.plan import ClusterPlan, MachineGroup, plan_cluster
from components.rollout.gates import ENOUGH
from components.spec.choices import Gate
from components.spec.quantities import duration_seconds
from operations.clouds import cloud_tables
from operations.commands import kubeconfig
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.engine import state
from operations.engine.scratch_stack import passing
from operations.stacks import boot_site, stack_files, target

POLL_SECONDS = 10.0
"""Seconds between two looks."""

Record = Mapping[str, Any]
Nodes = Mapping[str, bool] | None
"""By name, whether a Node is Ready; None where the API does not answer."""


@dataclass(frozen=True)
class Awaited:
    """A machine that is waited for: its instance, the states of its record that are enough, its version, its group."""

    name: str
    instance: str
    enough: tuple[str, ...]
    kubernetes: str
    control_plane: bool


@dataclass(frozen=True)
class Seen:
    """One machine as it is: its record, its Node (None: not there or not known), and what it lacks (empty: nothing)."""

    awaited: Awaited
    record: Record
    node: bool | None
    lacks: str

    @property
    def where(self) -> str:
        """Phase and step that it is in."""
        return "/".join(plain(self.record[each]) for each in ("phase", "step") if self.record.get(each))


def wait(name: str, timeout: str) -> None:
    """Return once all machines are there; Stop after that time (90s, 45m), naming those that are not, and why."""
    try:
        seconds = duration_seconds(timeout)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--timeout {error}") from error
    last = look(name, seconds)
    print(shown(last))
    if missing := lacking(last):
        head = f"after {timeout} {len(missing)} of {len(last)} machines are not there:"
        raise Stop(Exit.FAILED, "\n".join([head, *missing]))


def lacking(machines: Iterable[Seen]) -> list[str]:
    """What each machine lacks that lacks anything, a line each."""
    return [f"{each.awaited.name}: {each.lacks}" for each in machines if each.lacks]


def look(name: str, seconds: float, *, control_plane: bool = False) -> list[Seen]:
    """Every machine (or those of the control plane) as it is once nothing is lacking, or after so many seconds.

    Each change is printed.
    """
    plan = plan_cluster(name, stack_files.load(name).spec)
    with kubeconfig.built(name) as run:
        resources = state.resources(run)
        stored = run.outputs().get("kubeconfig")
        text = kubeconfig.current(name, stored.value, run) if stored else ""
    stores, sandbox = state.stores(name, resources), target.in_sandbox(name)
    machines = [each for each in awaited(plan, resources) if each.control_plane or not control_plane]
    cluster = None if sandbox and not boot_site.api(name) else api(text)
    last: list[Seen] = []

    def program() -> None:
        import pulumi

        parent = pulumi.ComponentResource("mullion:index:Waiting", name)
        here = partial(cloud_tables.provider(plan.spec.cloud.value).records, parent, stores.bundles)
        records = {True: here(stores.control_plane), False: here(stores.workers)}

        async def now() -> list[Seen]:
            found = await asyncio.gather(*(records[each.control_plane].record(each.instance) for each in machines))
            nodes = await _nodes(cluster)
            return [seen(each, record, nodes) for each, record in zip(machines, found, strict=True)]

        pulumi.export("there", pulumi.Output.from_input(until_there(now, seconds, last, _say)))

    with passing(name, program, sandbox=sandbox) as run:
        run.up(show_secrets=False, color="never")
    return last


def awaited(plan: ClusterPlan, resources: state.State) -> list[Awaited]:
    """The plan's machines with their instances; Stop where one has none yet."""
    made = state.instances(resources)
    missing = [each.name for each in plan.machines if each.name not in made]
    if missing:
        raise Stop(Exit.FAILED, f"not made yet: {', '.join(missing)}; `mullion up {plan.name}` makes them")
    return planned(plan, {name: each["id"] for name, each in made.items()})


def planned(plan: ClusterPlan, instances: Mapping[str, str]) -> list[Awaited]:
    """The plan's machines; instances: by name, those that were made."""
    return [
        Awaited(
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
    return ENOUGH[Gate.READY if group.is_control_plane else plan.spec.pools[group.name].rollout.gate]


def seen(each: Awaited, record: Record, nodes: Nodes) -> Seen:
    """Judge one machine by its record, and by its Node where the API answers."""
    found = plain(record.get("state"))
    node = None if nodes is None else nodes.get(each.name)
    lacks = ""
    if found not in each.enough:
        code = f"E{record['code']} {plain(record.get('name'))}: " if record.get("code") else ""
        said = f"{code}{plain(record.get('message'))}".strip()
        lacks = f"{found}" + (f", {said}" if said else "")
    elif record.get("kubernetes") not in (None, each.kubernetes):
        lacks = f"it has Kubernetes {plain(record['kubernetes'])}, not {each.kubernetes}"
    elif nodes is not None and node is None:
        lacks = "there is no Node of that name"
    elif node is False and "registered" not in each.enough:
        lacks = "its Node is not Ready"
    return Seen(each, record, node, lacks)


async def until_there(look: Callable[[], Any], seconds: float, last: list[Seen], say: Callable[[Seen], None]) -> bool:
    """Look again and again, telling each change once; `last` has the newest look. False when the time is over."""
    end, told = time.monotonic() + seconds, dict[str, tuple[str, str]]()
    while True:
        last[:] = await look()
        for each in last:
            now = (plain(each.record.get("state")), each.where)
            if told.get(each.awaited.name) != now:
                told[each.awaited.name] = now
                say(each)
        if not any(each.lacks for each in last):
            return True
        if time.monotonic() + POLL_SECONDS > end:
            return False
        await asyncio.sleep(POLL_SECONDS)


def shown(machines: list[Seen]) -> str:
    """A table of the machines as they are."""
    words = {True: "Ready", False: "not Ready", None: ""}
    rows = [
        (
            each.awaited.name,
            plain(each.record.get("state")),
            each.where,
            plain(each.record.get("kubernetes")),
            words[each.node],
        )
        for each in machines
    ]
    return table(("machine", "state", "phase/step", "kubernetes", "node"), rows)


def plain(text: Any) -> str:
    """What a machine wrote, in characters that do nothing to a terminal."""
    return "".join(each if each.isprintable() else " " for each in str(text or ""))


def _say(each: Seen) -> None:
    clock = time.strftime("%H:%M:%S")
    print(f"{clock}  {each.awaited.name}: {plain(each.record.get('state'))} {each.where}".rstrip(), flush=True)


def api(text: str) -> Any:
    """Calls of the cluster's API by a kubeconfig of ours; None without one."""
    from components.machine.pki import KeyPair
    from components.rollout.kubernetes_api import Access, KubernetesApi

    if not text:
        return None
    document = yaml.safe_load(text)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]

    def pem(name: str, where: dict[str, str]) -> str:
        return base64.b64decode(where[name]).decode()

    pair: KeyPair = {"certificate": pem("client-certificate-data", user), "key": pem("client-key-data", user)}
    authority, host = pem("certificate-authority-data", cluster), urlsplit(cluster["server"]).hostname or ""
    return KubernetesApi(Access(cluster["server"], cluster.get("tls-server-name") or host, authority, pair))


async def _nodes(api: Any) -> Nodes:
    from components.rollout.kubernetes_api import Refused, Unreachable, ready_nodes

    try:
        return None if api is None else await ready_nodes(api)
    except (Refused, Unreachable):
        return None
