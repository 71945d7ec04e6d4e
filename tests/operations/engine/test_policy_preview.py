"""Previews that `mullion up` refuses, because their steps delete too much of the control plane."""

from types import SimpleNamespace

import pytest
from pulumi import automation as auto

from operations.engine.policy_preview import Planned, planned, together, violation

HEAD = "urn:pulumi:prod::mullion::mullion:index:MixedCluster$mullion:aws:"


def control_plane(index: int, op: str, *changes: str) -> Planned:
    return Planned(f"{HEAD}ControlPlane$aws:ec2/instance:Instance::cp-{index}", op, frozenset(changes))


def worker(index: int, op: str) -> Planned:
    return Planned(f"{HEAD}Workers$aws:ec2/instance:Instance::web-{index}", op)


SAME = [control_plane(index, "same") for index in range(3)]
CASES = {
    "nothing changes": (SAME, None),
    "a cluster is created": ([control_plane(index, "create") for index in range(3)], None),
    "workers are replaced": ([*SAME, *(worker(index, "replace") for index in range(3))], None),
    "tags of all change": ([control_plane(index, "update", "tags") for index in range(3)], None),
    "one of three is replaced": ([*SAME[:2], control_plane(2, "delete-replaced"), control_plane(2, "replace")], None),
    "one of three is stopped": ([*SAME[:2], control_plane(2, "update", "instanceType")], None),
    "two join one": ([SAME[0], control_plane(1, "create"), control_plane(2, "create")], None),
    "two of three are replaced": (
        [SAME[0], control_plane(1, "replace"), control_plane(2, "replace")],
        "cp-1 (replaced), cp-2 (replaced)",
    ),
    "two of three go for good": (
        [SAME[0], control_plane(1, "delete"), control_plane(2, "delete")],
        "cp-1 (deleted), cp-2 (deleted)",
    ),
    "one of two goes for good": ([SAME[0], control_plane(1, "delete")], "cp-1 (deleted)"),
    "one goes and one stops": (
        [SAME[0], control_plane(1, "update", "tags", "userData"), control_plane(2, "delete-replaced")],
        "cp-1 (stopped), cp-2 (replaced)",
    ),
    "the only one is replaced": ([control_plane(0, "create-replacement")], "cp-0 (replaced)"),
    "the only one is stopped": ([control_plane(0, "update", "ebsOptimized")], "cp-0 (stopped)"),
}


@pytest.mark.parametrize(("steps", "lost"), CASES.values(), ids=CASES)
def test_a_preview_that_deletes_two_control_planes_or_the_last_one_is_refused(
    steps: list[Planned], lost: str | None
) -> None:
    assert together(steps) == lost


def test_a_difference_inside_an_input_is_reported_as_a_change_of_the_input() -> None:
    metadata = SimpleNamespace(
        urn="urn", op=auto.OpType.UPDATE, diffs=["metadataOptions.httpTokens", "ebsBlockDevices[0].size"]
    )
    assert planned(metadata) == Planned("urn", "update", frozenset({"metadataOptions", "ebsBlockDevices"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("message", ["What holds.\nit is open\n", "What holds.\nweb: it is open"])
def test_a_policy_violation_is_one_line_with_the_resource_and_the_rule(message: str) -> None:
    event = SimpleNamespace(message=message, resource_urn=f"{HEAD}Workers$x:y:Z::web", policy_name="closed")
    assert violation(event) == "web: it is open [closed]"  # type: ignore[arg-type]
