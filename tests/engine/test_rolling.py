"""Rolling a pool on the real engine: what stops it, what it waits for, and how pods are evicted."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pulumi.automation as auto
import pytest

from components.rollout import drain
from sandbox import tamper

from . import sampling
from .conftest import Run, Stack
from .kubernetes import Cluster, resolve, serve

pytestmark = pytest.mark.engine

POOL = ("web-0", "web-1", "web-2")
NEXT = "1.33.4"
NOTHING = {"Effect": "Deny", "Action": "s3:PutObject", "Resource": "*"}


def _policy(inputs: Mapping[str, Any], allowed: bool) -> dict[str, Any]:
    document = json.loads(inputs["policy"])
    rows = [each for each in document["Statement"] if each != NOTHING]
    document["Statement"] = rows if allowed else [*rows, NOTHING]
    return {"policy": json.dumps(document)}


def _condition(inputs: Mapping[str, Any], allowed: bool) -> dict[str, Any]:
    words = ("closed/", "status/") if allowed else ("status/", "closed/")
    return {"condition": json.loads(json.dumps(inputs["condition"]).replace(*words))}


RIGHTS: dict[str, tuple[str, tuple[str, ...], Callable[[Mapping[str, Any], bool], dict[str, Any]]]] = {
    "aws": ("aws:iam/rolePolicy:RolePolicy", ("workers",), _policy),
    "gcp": ("gcp:storage/bucketIAMMember:BucketIAMMember", tuple(f"{name}-written" for name in POOL), _condition),
    "azure": ("azure-native:authorization:RoleAssignment", tuple(f"{name}-objects" for name in POOL), _condition),
}
"""By cloud, the resources that let the pool's workers write status records: type, names without the stack's, inputs
with and without the right."""


class Rolling:
    """A cluster of one control plane machine and three Windows workers, whose pool every test rolls."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.memory, self.version = stack, 2, "1.32.13"
        self.edit()
        stack.up()

    def edit(self, kubernetes: str | None = None, **web: Any) -> None:
        """Write this test's stack file, with changed fields of the pool."""
        self.version = kubernetes or self.version
        reserved = {"system_reserved": {"memory": f"{self.memory}Gi"}}
        pools = {"linux": None, "web": {"count": len(POOL), "kubelet": reserved, **web}}
        acknowledged = dict.fromkeys(
            ("no-linux-worker", "windows-2019-late", "kubernetes-end-of-life", "overlay-probes"), "for this test"
        )
        self.stack.edit(kubernetes=self.version, pools=pools, acknowledge=acknowledged)

    def roll(self, **rollout: Any) -> Run:
        """Change the pool's memory reserve, which replaces its machines, and run `up`."""
        self.memory += 1
        self.edit(rollout=rollout)
        return self.stack.up()

    def stopped(self, run: Callable[[], Any]) -> str:
        """Give the engine's message after it has stopped."""
        with pytest.raises(auto.CommandError) as caught:
            run()
        return str(caught.value)

    def replaced(self, before: dict[str, str]) -> set[str]:
        """Return the pool's machines whose instances have changed."""
        return {name for name, id in self.stack.machines().items() if before[name] != id}

    def said(self, text: str) -> list[str]:
        """Return the severities of the diagnostics that contain a text."""
        events = (json.loads(each).get("diagnostic_event") for each in self.stack.log if each.startswith("{"))
        return [each["severity"] for each in events if each and text in each["message"]]

    def reported(self) -> dict[str, str]:
        """The version that each machine reports."""
        cloud_state = self.stack.cloud_state
        stored = [each for bucket in cloud_state.buckets() for each in cloud_state.objects(bucket).items()]
        records = [json.loads(each.content) for key, each in stored if key.startswith("status/")]
        there = set(self.stack.machines().values())
        return {each["machine"]: each["kubernetes"] for each in records if each["instance"] in there}

    def pointer(self) -> str:
        """The desired-state pointer."""
        stored = self.stack.cloud_state.resources(self.stack.cloud.stored)
        [found] = [each for each in stored if each.name == f"{self.stack.name}-desired-state"]
        return json.dumps(found.inputs["content" if "content" in found.inputs else "source"])

    def let_records(self, *, be_written: bool) -> None:
        """Grant or revoke by hand the workers' right to write status records; without it no worker becomes ready."""
        kind, names, inputs = RIGHTS[self.stack.cloud.name]
        wanted = {f"{self.stack.name}-{name}" for name in names}
        rights = [right for right in self.stack.cloud_state.resources(kind) if right.name in wanted]
        assert {right.name for right in rights} == wanted
        for right in rights:
            tamper.change(self.stack.cloud_state, right, inputs(right.inputs, be_written))


@pytest.fixture(scope="module", params=sampling.each("dev"))
def rolling(request: pytest.FixtureRequest, new_stack: Callable[[str], Stack]) -> Rolling:
    return Rolling(new_stack(sampling.stack(request.param, "rolling")))


@pytest.fixture
def cluster(rolling: Rolling, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster's API at the address that the program uses."""
    made = Cluster(nodes=dict.fromkeys(POOL, True))
    monkeypatch.setattr(drain, "POLL_SECONDS", 0.05)
    host = f"api.{rolling.stack.name}.mullion.internal"
    with serve(made, host, rolling.stack.stashed("cluster-ca"), tmp_path) as port:
        resolve(monkeypatch, host, port)
        yield made


def test_a_roll_warns_once_that_it_cannot_drain_and_relies_on_status_records(rolling: Rolling) -> None:
    before = rolling.stack.machines()
    rolling.roll()
    assert rolling.replaced(before) == set(POOL)
    assert rolling.said("nodes are not drained and gates use status records only") == ["warning"]


def test_a_machine_that_does_not_become_ready_stops_the_roll_before_the_next(rolling: Rolling) -> None:
    """OS-09: the new web-0 cannot report that it is ready, so web-1 stays."""
    before = rolling.stack.machines()
    rolling.let_records(be_written=False)
    said = rolling.stopped(rolling.roll)
    assert rolling.replaced(before) == {"web-0"}
    instance = rolling.stack.machines()["web-0"]
    assert f"pool web cannot spare web-1, because other machines are not ready (web-0: {instance}" in said
    assert "web-1 and the machines after it were not changed" in said
    again = rolling.stopped(rolling.stack.up)
    assert "cannot spare web-1" in again, "nothing was repaired"
    rolling.let_records(be_written=True)
    rolling.stack.up()
    assert rolling.replaced(before) == set(POOL), "the next up goes on with those that are left"


def test_pods_are_evicted_one_node_after_the_other(rolling: Rolling, cluster: Cluster) -> None:
    """The Node is cordoned first; refused evictions are retried; DaemonSet pods stay."""
    for node in POOL:
        cluster.add(f"app-{node}", node)
        cluster.add(f"agent-{node}", node, owner="DaemonSet")
    cluster.refusals["app-web-1"] = 2
    before = rolling.stack.machines()
    rolling.roll()
    assert rolling.replaced(before) == set(POOL)
    evictions = {"web-1": 3}
    wanted = [[f"cordon {node}", *[f"evict app-{node}"] * evictions.get(node, 1)] for node in POOL]
    assert cluster.asked == [each for node in wanted for each in node]
    assert set(cluster.pods) == {f"agent-{node}" for node in POOL}


def test_pods_that_cannot_be_evicted_stop_the_roll_and_are_named(rolling: Rolling, cluster: Cluster) -> None:
    cluster.add("database", "web-1", refusals=10**6)
    before = rolling.stack.machines()
    said = rolling.stopped(lambda: rolling.roll(drain="1s"))
    assert rolling.replaced(before) == {"web-0"}
    assert "pods remain on node web-1 after 1 s: default/database (429: Cannot evict pod" in said
    cluster.refusals["database"] = 0
    rolling.stack.up()
    assert rolling.replaced(before) == set(POOL)


def test_a_node_that_is_not_ready_stops_the_roll_unless_the_gate_is_registered(
    rolling: Rolling, cluster: Cluster
) -> None:
    cluster.nodes["web-2"] = False
    before = rolling.stack.machines()
    said = rolling.stopped(rolling.roll)
    assert rolling.replaced(before) == set()
    assert "pool web cannot spare web-0, because other machines are not ready (web-2: its Node is not Ready)" in said
    rolling.edit(rollout={"gate": "registered"})
    rolling.stack.up()
    assert rolling.replaced(before) == set(POOL)


def test_a_machine_is_drained_before_scaling_deletes_it(rolling: Rolling, cluster: Cluster) -> None:
    cluster.add("app", "web-2")
    rolling.edit(count=2)
    rolling.stack.up()
    assert cluster.asked == ["cordon web-2", "evict app"]
    rolling.edit()
    rolling.stack.up()


def test_a_new_minor_reaches_the_pools_after_the_control_plane_reports_it(rolling: Rolling) -> None:
    """Plain `pulumi up` takes two runs; each preview shows what its `up` does."""
    before = rolling.stack.machines()
    rolling.edit(kubernetes=NEXT)
    preview, first = rolling.stack.preview(), rolling.stack.up()
    assert preview.steps == first.steps
    name, stored = rolling.stack.name, rolling.stack.cloud.stored
    assert set(first.of(stored)) == {f"{name}-bundle-control-plane", f"{name}-desired-state"}
    assert rolling.stack.machines() == before
    assert rolling.said("pools stay at Kubernetes 1.32.13 in this run") == ["warning", "warning"]
    assert rolling.reported() == {"control-plane-0": NEXT, **dict.fromkeys(POOL, "1.32.13")}
    preview, second = rolling.stack.preview(), rolling.stack.up()
    assert preview.steps == second.steps
    assert rolling.replaced(before) == set(POOL)
    changed = {f"{name}-bundle-web", f"{name}-desired-state"}
    assert set(second.of(stored)) == changed, "it remembers the pools' version"
    assert rolling.reported() == dict.fromkeys(("control-plane-0", *POOL), NEXT)
    assert rolling.stack.up().steps == {}


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("1.35.4", "kubernetes: from 1.33.4 to 1.35.4 is more than one minor version; write 1.34.11 first, then go on"),
        ("1.32.13", "kubernetes: 1.32.13 is older than 1.33.4, which the control plane has; write 1.33.4 or a newer"),
    ],
)
def test_an_upgrade_path_that_kubernetes_does_not_support_is_refused_before_any_change(
    rolling: Rolling, version: str, reason: str
) -> None:
    before, pointer = rolling.stack.machines(), rolling.pointer()
    rolling.edit(kubernetes=version)
    assert reason in rolling.stopped(rolling.stack.preview)
    assert reason in rolling.stopped(rolling.stack.up)
    assert (rolling.stack.machines(), rolling.pointer()) == (before, pointer)


def test_down_waits_for_no_gate_and_no_pod(rolling: Rolling, cluster: Cluster) -> None:
    cluster.nodes = dict.fromkeys(POOL, False)
    cluster.add("database", "web-1", refusals=10**6)
    rolling.stack.down()
    assert cluster.asked == []
    assert rolling.stack.machines() == {}
