"""Differences between a state and its sandbox."""

from pathlib import Path
from typing import Any

import pytest

from operations.recovery import state_check
from operations.recovery.state_check import Disagreement

VPC, BUCKET = ("aws:ec2/vpc:Vpc", "vpc-1"), ("aws:s3/bucket:Bucket", "snapshots-1")


def state(*things: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"type": kind, "id": key, "custom": True, **more} for kind, key in things]


@pytest.mark.parametrize(
    ("recorded", "existing", "kept", "orphans", "missing"),
    [
        ([VPC], [VPC], [], (), ()),
        ([VPC], [VPC, BUCKET], [], (BUCKET,), ()),
        ([VPC, BUCKET], [VPC], [], (), (BUCKET,)),
        ([VPC], [VPC, BUCKET], [BUCKET], (), ()),
        ([], [], [BUCKET], (), ()),
    ],
    ids=["agree", "orphan", "missing", "kept on purpose", "kept and removed since"],
)
def test_compare_reports_resources_on_one_side_only(
    recorded: Any, existing: Any, kept: Any, orphans: Any, missing: Any
) -> None:
    found = state_check.compare(state(*recorded), existing, kept)
    assert found == Disagreement(orphans, missing)
    assert bool(found) is bool(orphans or missing)


def test_resources_of_the_engine_itself_are_not_compared() -> None:
    kinds = ("pulumi:index:Stash", "pulumi:providers:aws", "pulumi:pulumi:Stack", "mullion:index:MixedCluster")
    assert state_check.things(state(*((kind, "1") for kind in kinds))) == []


def test_resources_that_down_leaves_on_purpose_are_recorded(clone: Path) -> None:
    state_check.keep("small", state(VPC))
    assert state_check.kept("small") == set()
    state_check.keep("small", state(BUCKET, retainOnDelete=True))
    state_check.keep("small", state(VPC, retainOnDelete=True))
    assert state_check.kept("small") == {BUCKET, VPC}
