"""Options that differ, the options behind a replacement, and waves."""

from typing import Any

import pytest

from components.spec.models import ClusterSpec
from operations.commands import spec_changes
from operations.commands.spec_changes import ABSENT
from tests.components.spec.test_change_effects import SAMPLE, merged


def spec(**change: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(merged(SAMPLE, change))


def test_every_option_that_differs_is_listed_with_both_values() -> None:
    now = spec(pools={"web": {"kubelet": {"system_reserved": {"cpu": "1"}}, "labels": {"team": "web"}}})
    found = {change.dotted: (change.built, change.now) for change in spec_changes.changes(spec(), now)}
    assert found == {
        "pools.web.kubelet.system_reserved.cpu": (None, "1"),
        "pools.web.labels.team": (ABSENT, "web"),
    }


def test_a_new_pool_is_one_change() -> None:
    [change] = spec_changes.changes(spec(), spec(pools={"more": {"os": "ubuntu-24.04"}}))
    assert change.dotted == "pools.more"
    assert change.built is ABSENT
    assert str(change).startswith("pools.more: none -> {")


def test_only_the_options_that_replace_the_machines_of_a_pool_stand_behind_it() -> None:
    now = spec(
        network={"domain": "example.local"},
        kubeadm={"ignore_preflight": ["Swap"]},
        pools={"linux": {"count": 4}, "web": {"disk_gb": 200, "labels": {"team": "web"}}},
    )
    behind = spec_changes.behind("small", spec(), now)
    assert {pool: [change.dotted for change in changes] for pool, changes in behind.items()} == {
        "linux": ["network.domain", "kubeadm.ignore_preflight"],
        "web": ["network.domain", "pools.web.disk_gb"],
    }


def test_changes_that_cannot_be_tried_alone_are_judged_by_the_table() -> None:
    built = spec(network={"pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"})
    now = spec(network={"nodes": "10.20.0.0/16", "pods": "10.244.0.0/16", "mode": "overlay", "domain": "example.local"})
    behind = spec_changes.behind("small", built, now)
    assert "network.domain" in [change.dotted for change in behind["web"]]


@pytest.mark.parametrize(
    ("unavailable", "replaced", "expected"),
    [
        (1, "abc", ["a", "b", "c"]),
        (2, "abc", ["ab", "c"]),
        (3, "abc", ["abc"]),
        (1, "ac", ["a", "c"]),
        (2, "bc", ["bc"]),
        (2, "", []),
    ],
)
def test_replaced_machines_go_in_waves_of_max_unavailable(unavailable: int, replaced: str, expected: list[str]) -> None:
    waves = spec_changes.waves({"max_unavailable": unavailable}, list("abc"), dict.fromkeys(replaced, "why"))
    assert ["".join(wave) for wave in waves] == expected
