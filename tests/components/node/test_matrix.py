"""Every combination of minor, system, runtime and network gives a whole plan or the expected errors of the checks.

The refused combinations are listed here too, independently of the tables in components/releases.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from components import plan as plans
from components.node import plan_node
from components.node.kinds.check import references
from components.node.plan import NodePlan
from components.spec.models import ClusterSpec
from components.spec.report import Severity, SpecError
from components.stack_files.stack import CLUSTER, Stack, read_stack
from tools.golden.samples import PATCHES, spec

SYSTEMS = ("ubuntu-22.04", "ubuntu-24.04", "debian-12", "windows-2019", "windows-2022", "windows-2025")

FIRST_MINOR = {"windows-2019": 20, "windows-2022": 23, "windows-2025": 33}

TAKEN = {
    "1.6.32": range(20, 31),
    "1.7.25": range(20, 34),
    "2.0.5": range(30, 34),
    "2.1.4": range(30, 35),
    "2.2.7": range(35, 38),
    "2.3.4": range(36, 38),
}
"""Minors (without 1.) that support a containerd release."""

RUNTIMES: dict[str, dict[str, Any]] = {
    "containerd": {},
    **{version: {"containerd": {"version": version}} for version in TAKEN},
    "docker": {"runtime": "docker"},
}

NETWORKS = {
    "overlay": None,
    "l2bridge": None,
    "l2tunnel": "mode-l2tunnel",
    "transparent": "mode-transparent",
    "nat": "mode-nat",
}
"""Check that refuses a network mode."""


def _refused(minor: int, os: str, runtime: str, network: str) -> set[str]:
    """Return the ids of the errors that the combination must have."""
    rows = {
        NETWORKS[network]: NETWORKS[network] is not None,
        "windows-before-kubernetes": minor < FIRST_MINOR.get(os, 0),
        "docker-on-linux": runtime == "docker" and not os.startswith("windows"),
        "containerd-support": runtime in TAKEN and minor not in TAKEN[runtime],
    }
    return {str(each) for each, holds in rows.items() if holds}


def _read(kubernetes: str, pools: dict[str, Any], **cluster: Any) -> Stack | set[str]:
    document = {"cloud": "aws", "kubernetes": kubernetes, "pools": pools, **cluster}
    try:
        return read_stack("dev", {"aws:region": "eu-west-1", CLUSTER: document})
    except SpecError as failure:
        return {each.id for each in failure.problems if each.severity is Severity.ERROR}


def _problems(node_plan: NodePlan, stack: Stack) -> Iterator[str]:
    warned = {each.id for each in stack.warnings}
    for each in node_plan.steps:
        if each.kind == "artifact" and each.fields["digest"] == "unknown" and "download-without-digest" not in warned:
            yield f"{each.name} has no digest, and nobody is told"
    for phase in node_plan.phases:
        if not phase.steps:
            yield f"{phase.name} is empty"
    if "node.provider_id" not in set(references([each.fields for each in node_plan.steps])):
        yield "no step asks for the machine's provider id"


@pytest.mark.parametrize("minor", PATCHES)
def test_every_combination_gives_a_whole_plan_or_the_expected_errors(minor: str) -> None:
    wrong: list[str] = []
    for os, (runtime, pool), network in product(SYSTEMS, RUNTIMES.items(), NETWORKS):
        expected = _refused(int(minor.partition(".")[2]), os, runtime, network)
        stack = _read(PATCHES[minor], {"pool": {"os": os, **pool}}, network={"mode": network})
        what = f"{minor} {os} {runtime} {network}"
        if isinstance(stack, set):
            wrong += [f"{what}: refused by {stack}, expected {expected}"] * (stack != expected)
        elif expected:
            wrong.append(f"{what}: planned, but {expected} should refuse it")
        else:
            wrong += [f"{what}: {each}" for each in _problems(plan_node("dev", stack.spec, "pool"), stack)]
    assert not wrong


@pytest.mark.parametrize("minor", PATCHES)
def test_every_control_plane_gives_a_whole_plan_or_an_error_about_containerd(minor: str) -> None:
    number = int(minor.partition(".")[2])
    for os, version in product(("ubuntu-22.04", "ubuntu-24.04"), (None, *TAKEN)):
        stack = _read(PATCHES[minor], {}, control_plane={"os": os, "containerd": {"version": version}})
        if version is not None and number not in TAKEN[version]:
            assert stack == {"containerd-support"}, (os, version)
        else:
            assert isinstance(stack, Stack), (os, version, stack)
            assert not list(_problems(plan_node("dev", stack.spec, None), stack))


def _calls(work: Callable[[], object]) -> int:
    """Return the number of Python calls, which is the same on every machine."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def _with_pools(count: int) -> ClusterSpec:
    systems = ("ubuntu-22.04", "windows-2019", "windows-2022")
    return spec(pools={f"p{index}": {"os": systems[index % 3], "slot": index * 4} for index in range(count)})


def test_planning_grows_no_faster_than_the_number_of_pools() -> None:
    plans.plan_cluster("dev", _with_pools(3))
    few, many = (_calls(lambda count=count: plans.plan_cluster("dev", _with_pools(count))) for count in (12, 48))
    assert many < 4.4 * few, f"{few} calls for 12 pools, {many} for 48"


def test_planning_grows_no_faster_than_the_number_of_machines() -> None:
    def planned(count: int) -> int:
        cluster = spec("windows-2022", {"count": count}, network={"nodes": "10.20.0.0/16", "pods": "10.128.0.0/9"})
        return _calls(lambda: plans.plan_cluster("dev", cluster))

    planned(10)
    few, many = planned(250), planned(1000)
    assert many < 4.4 * few, f"{few} calls for 250 machines, {many} for 1000"
