"""Simulated time: the table's figures and the longest chain."""

import importlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.gcp.api import DRAINING_SECONDS
from sandbox.clouds import CLOUDS, of, seconds
from sandbox.gcp.names import MEMBERSHIP
from sandbox.latency import critical_path


@pytest.mark.parametrize("name", CLOUDS)
def test_every_row_has_a_known_type_and_a_source(name: str) -> None:
    latencies = importlib.import_module(f"{CLOUDS[name].package}.latencies").LATENCIES
    assert set(latencies) <= set(of(name).types)
    for row in latencies.values():
        assert row.source
        assert min(row.create, row.update, row.delete) > 0


def test_a_membership_of_google_cloud_ends_after_draining() -> None:
    assert seconds(MEMBERSHIP, "delete") == DRAINING_SECONDS + 60 > seconds(MEMBERSHIP, "create")


@pytest.mark.parametrize("kind", ["create", "update", "delete"])
def test_a_type_without_a_row_is_quick(kind) -> None:
    assert seconds("aws:iam/role:Role", kind) == 1
    assert seconds("aws:ec2/natGateway:NatGateway", "create") > 60


def test_the_critical_path_is_the_longest_chain_not_the_longest_step() -> None:
    rows = [
        ("nlb", ["subnet"], "t", 150.0),
        ("subnet", ["vpc"], "t", 11.0),
        ("vpc", ["outside"], "t", 12.0),
        ("nat", ["subnet"], "t", 105.0),
        ("machine", ["nat"], "t", 60.0),
    ]
    assert critical_path(rows) == (188.0, ["vpc", "subnet", "nat", "machine"])


def test_an_empty_graph_takes_no_time() -> None:
    assert critical_path([]) == (0, [])


def test_a_cycle_raises_an_error_with_its_members() -> None:
    with pytest.raises(ValueError, match=r"wait for each other: \['a', 'b'\]"):
        critical_path([("a", ["b"], "t", 1), ("b", ["a", "a"], "t", 1), ("c", [], "t", 1)])


@given(st.lists(st.tuples(st.sets(st.integers(0, 6)), st.integers(0, 50)), max_size=7), st.randoms())
def test_the_total_equals_the_longest_of_all_chains(steps, random) -> None:
    waits = {number: {other for other in others if other < number} for number, (others, _) in enumerate(steps)}
    rows = [(str(n), [str(other) for other in waits[n]], "t", float(steps[n][1])) for n in waits]
    random.shuffle(rows)
    chains = [
        chain
        for length in range(1, len(rows) + 1)
        for chain in itertools.combinations(waits, length)
        if all(first in waits[second] for first, second in itertools.pairwise(chain))
    ]
    longest = max((sum(steps[n][1] for n in chain) for chain in chains), default=0)
    total, path = critical_path(rows)
    assert total == longest == sum(steps[int(urn)][1] for urn in path)


def test_a_thousand_machines_take_milliseconds() -> None:
    rows = [(f"w{n}", [f"w{n - 1}", "vpc"], "t", 1.0) for n in range(20_000)]
    assert critical_path(rows)[0] == 20_000, "and no recursion limit"
