"""The founding of a cluster: exactly one machine founds it, whatever errors the store returns."""

import importlib
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.rollout.signed_documents import founding_record
from sandbox.aws.network import INSTANCE as INSTANCE_TYPE
from tests.cloud_init.cloud import INSTANCE, FakeCloud

MACHINES = [f"i-0{number:016x}" for number in range(4)]
KEY = "a2V5IG9mIHRoZSBwb2ludGVy"
"""Secret desired-state."""
RETRIED = ("store-failed", "wait-timeout", "step-timeout", "secret-unavailable")
"""Failures that the executor retries."""
TROUBLE: dict[str, list[tuple[str, str, str | float, int]]] = {
    "nothing": [],
    "slow": [("* * */founding/*", "delay", 0.02, 6)],
    "refusing": [("* * */founding/*", "status", 503, 5), ("* PUT */founding/*", "refuse", "denied", 2)],
    "acting without an answer": [("* PUT */founding/*", "close", "", 3)],
    "answering that nothing exists": [("* GET */founding/*", "status", 404, 12)],
    "all of these": [
        ("* GET */founding/*", "status", 404, 4),
        ("* PUT */founding/*", "close", "", 2),
        ("* * */founding/*", "status", 500, 4),
        ("* * */founding/*", "delay", 0.01, 4),
    ],
}
"""Faults of the store: routes, kinds of fault, values, how often."""


@dataclass
class Founding:
    """The executor's module, with steps and runs of several machines."""

    module: ModuleType
    cloud: FakeCloud
    root: Path
    who: threading.local

    def machine(self, name: str) -> Any:
        """Return a run of the machine on a persistent disk."""
        told = {"machine": {"name": f"node-{name[-1]}"}}
        told["facts"] = self.cloud.facts
        return importlib.import_module("run").Run(self.root / name, told, {})

    def step(self, **fields: str) -> dict[str, Any]:
        """Return a step with the fields of both kinds."""
        given = {"store": self.cloud.facts["snapshot_store"], "log": "founding", "cluster": "sha256:a"}
        return {**given, "founder": "/founder", "member": "/member", "path": "/founded", **fields}

    def until_done(self, kind: str, name: str, seconds: float = 200) -> None:
        """Repeat the step as the executor does: after temporary failures, and in a new run after a failed one."""
        self.who.name, end = name, time.monotonic() + seconds
        holds, make = getattr(self.module, f"{kind}_holds"), getattr(self.module, f"make_{kind}")
        while not holds(run := self.machine(name), self.step()):
            assert time.monotonic() < end, f"{name} never knew"
            run.try_for(5)
            try:
                make(run, self.step())
            except importlib.import_module("failure").Failure as failure:
                if failure.name not in RETRIED:
                    raise

    def roles(self) -> dict[str, list[str]]:
        """Return machines by role."""
        return {
            role: [each for each in MACHINES if (self.root / each / role).exists()] for role in ("founder", "member")
        }

    def records(self) -> list[dict[str, Any]]:
        """Return the log."""
        held = {path: json.loads(text) for path, text in self.cloud.objects.items() if "/founding/" in path}
        return [held[path] for path in sorted(held)]


@pytest.fixture
def founding(
    node: ModuleType, loader: ModuleType, cloud: FakeCloud, root: Path, monkeypatch: pytest.MonkeyPatch
) -> Founding:
    """Return a founding in which machines sleep only moments; `loader` points at the test's cloud."""
    module, who = importlib.import_module("kinds.founding"), threading.local()
    cloud.secrets["desired-state"] = KEY
    monkeypatch.setattr(importlib.import_module(f"clouds.{cloud.facts['cloud']}"), "instance", lambda: who.name)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: threading.Event().wait(seconds))
    return Founding(module, cloud, root, who)


def _together(work: Callable[[str], None], names: list[str]) -> None:
    """Run a function for every machine in parallel; raise the first error."""
    errors: list[BaseException] = []

    def one(name: str) -> None:
        try:
            work(name)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("trouble", TROUBLE)
def test_of_racing_machines_exactly_one_founds_and_the_others_join_afterwards(
    founding: Founding, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(founding.module, "gone", lambda run, instance: False)
    for route, kind, value, times in TROUBLE[trouble]:
        founding.cloud.services.faults.plan(route, kind, value, times=times)
    founded: list[str] = []

    def boot(name: str) -> None:
        founding.until_done("claim", name)
        if (founding.root / name / "founder").exists():
            assert not founding.roles()["member"], "no machine joins before the founder is done"
            founded.append(name)  # kubeadm init
            founding.until_done("founded", name)

    names = random.Random(trouble).sample(MACHINES, len(MACHINES))
    _together(boot, names)
    assert len(founded) == 1, "two clusters"
    assert founding.roles() == {"founder": founded, "member": [each for each in MACHINES if each not in founded]}
    assert [(each["epoch"], each["owner"], each["state"]) for each in founding.records()] == [
        (0, founded[0], "claimed"),
        (1, founded[0], "founded"),
    ]


def test_when_the_founder_is_deleted_exactly_one_of_the_others_founds(
    founding: Founding, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, alive = MACHINES[0], MACHINES[1:]
    founding.until_done("claim", dead)  # the cloud reports the machine as deleted

    def boot(name: str) -> None:
        founding.until_done("claim", name)
        if (founding.root / name / "founder").exists():
            founding.until_done("founded", name)

    cloud_state, one = (
        founding.cloud.services.cloud_state,
        founding.cloud.services.cloud_state.find(INSTANCE_TYPE, INSTANCE),
    )
    assert one, "the only machine that the cloud has"
    assert cloud_state.find(INSTANCE_TYPE, dead) is None
    # the cloud knows the living machines: their claims are not taken over
    real = founding.module.gone
    monkeypatch.setattr(founding.module, "gone", lambda run, instance: real(run, instance) and instance == dead)
    _together(boot, alive)
    states = [(each["epoch"], each["state"]) for each in founding.records()]
    assert states == [(0, "claimed"), (1, "claimed"), (2, "founded")]
    assert len({each["owner"] for each in founding.records()[1:]}) == 1
    assert len(founding.roles()["founder"]) == 2, "the deleted machine's disk also claims it; it is gone"


def test_a_founder_that_was_taken_over_fails_at_the_end(founding: Founding) -> None:
    first, second = MACHINES[:2]
    founding.until_done("claim", first)
    founding.until_done("claim", second)  # the cloud has deleted the first
    assert founding.roles()["founder"] == [first, second]
    founding.until_done("founded", second)
    run = founding.machine(first)
    founding.who.name = first
    run.try_for(5)
    with pytest.raises(importlib.import_module("failure").Failure) as stopped:
        founding.module.make_founded(run, founding.step())
    assert stopped.value.name == "founding-refused"
    assert not stopped.value.retry


def test_a_machine_counts_as_alive_if_the_clouds_answer_is_unclear(
    founding: Founding, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, run = importlib.import_module("compute"), founding.machine(MACHINES[0])
    run.try_for(5)
    assert compute.gone(run, INSTANCE) is False
    assert compute.gone(run, "i-0fffffffffffffff0") is True
    cloud.services.faults.plan("ec2 * *", "refuse", "denied")
    with pytest.raises(importlib.import_module("failure").Failure, match="UnauthorizedOperation"):
        compute.gone(run, INSTANCE)
    states = {"stopped": False, "shutting-down": False, "terminated": True}
    for state, expected in states.items():
        one = f"<instanceState><code>1</code><name>{state}</name></instanceState>"
        said = (
            f"<DescribeInstancesResponse><reservationSet><item><instancesSet><item>{one}</item></instancesSet></item>"
        )
        said += "</reservationSet>"
        monkeypatch.setattr(run, "ask", lambda *_, said=said, **__: f"{said}</DescribeInstancesResponse>".encode())
        assert compute.gone(run, INSTANCE) is expected, state
    for said in (b"<html>not now</html>", b"<DescribeInstancesResponse>not now</DescribeInstancesResponse>"):
        monkeypatch.setattr(run, "ask", lambda *_, said=said, **__: said)
        with pytest.raises(importlib.import_module("failure").Failure, match="not now"):
            compute.gone(run, INSTANCE)


def test_a_machine_writes_the_record_that_the_program_signs_alike(founding: Founding) -> None:
    founding.until_done("claim", MACHINES[0])
    (record,) = founding.records()
    made = record.pop("mac")
    assert json.loads(founding_record(KEY, record))["mac"] == made
    assert json.loads(founding_record("another key", record))["mac"] != made
