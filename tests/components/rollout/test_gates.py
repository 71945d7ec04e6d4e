"""When a worker may be deleted, and when its successor is ready. tests/engine/test_rolling.py runs it on the engine."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.plan import ClusterPlan, plan_cluster
from components.rollout import gates, traffic
from components.rollout.gates import Rollout
from components.rollout.workers import Instances
from components.stack_files.stack import CLUSTER, read_stack, stack_file_config

STACK = Path(__file__).resolve().parents[3] / "stacks" / "Pulumi.aws-prod.yaml"
READY: dict[str, Any] = {"state": "ready"}
RUNNING: dict[str, Any] = {"state": "running", "phase": "downloads", "step": "kubelet"}
FAILED: dict[str, Any] = {"state": "failed", "phase": "kubelet", "step": "kubelet-runs", "message": "it stopped"}
FINAL: dict[str, Any] = {**FAILED, "name": "build-refused"}
ABSENT: dict[str, Any] = {"state": "absent", "message": "404"}


def plan(count: int = 3, unavailable: int = 1, gate: str = "registered") -> ClusterPlan:
    """Return the plan of aws-prod with only a pool `web`, of `count` workers."""
    config = stack_file_config(STACK)
    web = {**config[CLUSTER]["pools"]["web"], "count": count}
    web["rollout"] = {"max_unavailable": unavailable, "gate": gate}
    cluster = {**config[CLUSTER], "pools": {"web": web}}
    return plan_cluster("aws-prod", read_stack("aws-prod", {**config, CLUSTER: cluster}).spec)


@dataclass
class Machines:
    """Instances of a cloud and their status records, by machine name; instance ids are i-NAME."""

    plan: ClusterPlan
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    age: timedelta = timedelta(hours=5)
    reads: list[str] = field(default_factory=list)

    async def instances(self, pool: str = "") -> Instances:
        found: tuple[dict[str, str], dict[str, str]] = {}, {}
        for each in self.plan.machines:
            if each.name not in self.gone:
                found[each.name in self.stopped][str(each.address)] = f"i-{each.name}"
        return Instances(*found)

    async def instance(self, args: Any) -> str:
        return args.id

    async def launched(self, instance: str) -> datetime:
        return datetime.now(timezone.utc) - self.age

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        assert identity == "workers", "of machines on AWS"
        self.reads.append(instance)
        return self.records.get(instance.removeprefix("i-"), READY)


class Known:
    """A resource whose registration the engine has answered, or not yet."""

    def __init__(self, *, answered: bool) -> None:
        self.urn = SimpleNamespace(future=self._now if answered else self._never)

    async def _now(self) -> str:
        return "urn"

    async def _never(self) -> str:
        return await asyncio.get_running_loop().create_future()


@pytest.fixture(autouse=True)
def hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make hooks plain functions, and record drains instead of calling an API."""
    for module in (gates, traffic):
        monkeypatch.setattr(module, "ResourceHook", lambda name, function: function)
        monkeypatch.setattr(module, "ResourceHookBinding", lambda **bound: bound)
    monkeypatch.setattr(gates, "POLL_SECONDS", 0)
    monkeypatch.setattr(Rollout, "_drain", drained)
    monkeypatch.setattr(Rollout, "_nodes", _no_api)
    monkeypatch.setattr(Rollout, "_refuse_older", _no_api)


async def drained(self: Rollout, name: str, options: Any, resource: Any, instance: str = "") -> None:
    """Record a drain in place of `Rollout._drain`."""
    self.__dict__.setdefault("drained", []).append((name, options.drain))


def rolling(machines: Any, *planned: str, simulated: bool = True, of: ClusterPlan | None = None) -> Rollout:
    """Return a rollout of a plan (that of the machines) in which these machines are about to be replaced."""
    rollout = Rollout(of or machines.plan, machines, SimpleNamespace(), simulated=simulated)  # type: ignore[arg-type]
    for name in planned:
        rollout.watch(f"aws-prod-{name}", Known(answered=False))  # type: ignore[arg-type]
    return rollout


def args(name: str, pool: str = "web") -> Any:
    """Return the arguments that the engine passes to a hook."""
    outputs = {"tags": {"mullion:pool": pool}}
    return SimpleNamespace(name=f"aws-prod-{name}", id=f"i-{name}", old_outputs=outputs, new_outputs=outputs)


def leave(rollout: Rollout, *names: str) -> None:
    """Run the before-delete hooks of machines at the same time."""

    async def all_of_them() -> None:
        await asyncio.gather(*(rollout.hooks["before_delete"][0](args(name)) for name in names))  # type: ignore[index]

    asyncio.run(all_of_them())


def arrive(rollout: Rollout, name: str) -> None:
    """Run the after-create hook of a machine."""
    asyncio.run(rollout.hooks["after_create"][0](args(name)))  # type: ignore[index]


def test_a_worker_is_drained_and_deleted_if_all_others_are_ready() -> None:
    rollout = rolling(Machines(plan()), "web-0")
    leave(rollout, "web-0")
    assert rollout.__dict__["drained"] == [("web-0", "10m")]


def test_a_registered_worker_passes_the_gate_registered() -> None:
    registered = {"web-2": {"state": "registered"}}
    leave(rolling(Machines(plan(), registered), "web-0"), "web-0")
    rollout = rolling(Machines(plan(gate="ready"), registered), "web-0")
    with pytest.raises(RuntimeError, match="i-web-2 reports registered"):
        leave(rollout, "web-0")


async def _no_api(*_: Any, **__: Any) -> None:
    """Return no Nodes, so that only status records decide."""


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (RUNNING, "web-2: i-web-2 reports running downloads/kubelet"),
        (FAILED, "web-2: i-web-2 reports failed kubelet/kubelet-runs it stopped"),
        (ABSENT, "web-2: i-web-2 has no status record (404)"),
    ],
    ids=lambda value: value["state"] if isinstance(value, dict) else "",
)
def test_a_worker_is_not_deleted_while_another_is_not_ready_and_the_error_says_why(
    record: dict[str, Any], why: str
) -> None:
    rollout = rolling(Machines(plan(), {"web-2": record}), "web-0")
    with pytest.raises(RuntimeError, match="pool web cannot spare web-0") as caught:
        leave(rollout, "web-0")
    assert why in str(caught.value)
    assert "--machine web-2" in str(caught.value)
    assert "drained" not in rollout.__dict__


def test_a_stopped_worker_is_missing_and_one_never_created_is_not() -> None:
    """A pool that grows and rolls in one run creates its additional workers after the roll."""
    machines = Machines(plan(5), gone={"web-3", "web-4"})
    leave(rolling(machines, "web-0"), "web-0")
    machines.stopped = {"web-2"}
    with pytest.raises(RuntimeError, match="web-2: its instance i-web-2 does not run"):
        leave(rolling(machines, "web-0"), "web-0")


def test_an_earlier_worker_without_an_instance_is_missing() -> None:
    with pytest.raises(RuntimeError, match="web-0: it has no instance"):
        leave(rolling(Machines(plan(), gone={"web-0"}), "web-1"), "web-1")


def test_a_broken_worker_may_be_deleted() -> None:
    leave(rolling(Machines(plan(), {"web-1": FAILED}), "web-1"), "web-1")


@pytest.mark.parametrize(("unavailable", "broken", "goes"), [(2, 0, True), (2, 1, True), (2, 2, False), (1, 1, False)])
def test_at_most_max_unavailable_workers_are_missing_including_the_deleted_one(
    unavailable: int, broken: int, goes: bool
) -> None:
    records = {f"web-{4 - index}": FAILED for index in range(broken)}
    rollout = rolling(Machines(plan(5, unavailable), records), "web-0")
    if goes:
        leave(rollout, "web-0")
        return
    with pytest.raises(RuntimeError, match="cannot spare"):
        leave(rollout, "web-0")


def test_two_deletions_at_once_do_not_count_each_others_worker_as_ready() -> None:
    """With max_unavailable 2 and one broken worker, only one of two concurrent deletions is allowed."""
    machines = Machines(plan(5, 2), {"web-4": FAILED})
    rollout = rolling(machines, "web-0", "web-1")

    async def both() -> list[Any]:
        going = [rollout.hooks["before_delete"][0](args(name)) for name in ("web-0", "web-1")]  # type: ignore[index]
        return list(await asyncio.gather(*going, return_exceptions=True))

    results = asyncio.run(both())
    assert [isinstance(each, RuntimeError) for each in results] == [False, True]


def test_a_removed_worker_does_not_count_as_missing() -> None:
    machines = Machines(plan(), {"web-1": FAILED})
    leave(rolling(machines), "web-3")
    machines.records["web-2"] = FAILED
    with pytest.raises(RuntimeError, match="cannot spare web-3"):
        leave(rolling(machines), "web-3")


def test_a_removed_pool_has_no_gate_but_its_nodes_are_drained() -> None:
    rollout = rolling(Machines(plan(), {"web-1": FAILED}))

    async def old() -> None:
        await rollout.hooks["before_delete"][0](args("old-0", pool="old"))  # type: ignore[index]

    asyncio.run(old())
    assert rollout.__dict__["drained"] == [("old-0", "10m")]


def test_destroying_the_cluster_calls_no_gate_and_drains_no_node() -> None:
    """Its registration is answered, so it is not being replaced: its deletion means `down`."""
    machines = Machines(plan(), {"web-1": FAILED})
    rollout = rolling(machines)
    rollout.watch("aws-prod-web-0", Known(answered=True))  # type: ignore[arg-type]
    leave(rollout, "web-0")
    assert (machines.reads, "drained" in rollout.__dict__) == ([], False)


def test_the_run_waits_for_a_replaced_machine_until_it_is_ready() -> None:
    machines = Machines(plan(), age=timedelta(minutes=3))
    rollout = rolling(machines, "web-0", simulated=False)
    leave(rollout, "web-0")
    answers = iter([ABSENT, RUNNING, READY])
    machines.records = Answers({"web-0": answers})  # type: ignore[assignment]
    arrive(rollout, "web-0")
    assert list(answers) == []


def test_waiting_ends_for_a_machine_launched_too_long_ago() -> None:
    machines = Machines(plan(), age=timedelta(minutes=31))
    rollout = rolling(machines, "web-0", simulated=False)
    leave(rollout, "web-0")
    machines.records = {"web-0": RUNNING}
    with pytest.raises(RuntimeError, match="web-0 is not ready: i-web-0 reports running"):
        arrive(rollout, "web-0")


def test_waiting_ends_at_once_for_a_failed_node_plan() -> None:
    machines = Machines(plan(), age=timedelta(0))
    rollout = rolling(machines, "web-0", simulated=False)
    leave(rollout, "web-0")
    machines.records = {"web-0": FINAL}
    with pytest.raises(RuntimeError, match="No other machine of pool web is replaced in this run"):
        arrive(rollout, "web-0")


def test_a_stopped_roll_names_the_machine_that_was_replaced_and_a_command_that_can_be_pasted() -> None:
    machines = Machines(plan())
    rollout = rolling(machines, "web-0", "web-1")
    leave(rollout, "web-0")
    machines.records = {"web-0": FAILED}
    with pytest.raises(RuntimeError, match="web-0 is not ready"):
        arrive(rollout, "web-0")
    with pytest.raises(RuntimeError, match="pool web cannot spare web-1") as caught:
        leave(rollout, "web-1")
    assert "replaced in this run: web-0 (not ready)." in str(caught.value)
    assert "mullion roll aws-prod web --machine web-0 --sandbox" in str(caught.value)


def test_the_run_does_not_wait_for_an_additional_worker() -> None:
    machines = Machines(plan(), {"web-0": ABSENT})
    arrive(rolling(machines), "web-0")
    assert machines.reads == []


def test_the_next_deletion_waits_for_a_worker_that_is_still_booting() -> None:
    """An interrupted run created it, so no hook of this run waits for it."""
    machines = Machines(plan(), age=timedelta(minutes=3))
    machines.records = Answers({"web-0": iter([ABSENT, ABSENT, READY])})  # type: ignore[assignment]
    leave(rolling(machines, "web-1", simulated=False), "web-1")
    assert machines.reads.count("i-web-0") == 3


def test_a_ready_status_record_is_not_read_again_for_a_while() -> None:
    machines = Machines(plan(9))
    rollout = rolling(machines, "web-0", "web-1")
    for name in ("web-0", "web-1"):
        leave(rollout, name)
        arrive(rollout, name)
    assert sorted(machines.reads) == [f"i-web-{index}" for index in range(9)]


class Answers(dict[str, Any]):
    """Status records that change from one read to the next."""

    def get(self, name: str, default: Any = None) -> Any:
        return next(self[name], default) if name in self else default
