"""Snapshots of etcd and their copies."""

from typing import Any

from tests.components.spec.documents import Case

HERE = "eu-west-1"
"""Region of the bucket with copies, unless a case names another one."""


def copied(region: str = HERE) -> dict[str, Any]:
    return {"snapshots": {"copy_to": {"bucket": "etcd-copies", "region": region}}}


CASES = (
    Case(
        "snapshots-too-many",
        {"snapshots": {"every_minutes": 10, "keep_days": 7}},
        "snapshots",
        {"snapshots": {"every_minutes": 60, "keep_days": 20}},
    ),
    Case(
        "snapshots-too-many",
        {"snapshots": {"keep_days": 18, "keep_daily": 60, "keep_weekly": 12}},
        "snapshots",
        {"snapshots": {"keep_days": 7, "keep_daily": 60, "keep_weekly": 12}},
    ),
    *(
        Case(id, {**copied(region), **unfit}, f"snapshots.copy_to{field}", {**copied(), **fit})
        for id, field, region, unfit, fit in (
            ("not-built-snapshot-copy", "", HERE, {"cloud": "gcp"}, {}),
            ("not-built-snapshot-copy", "", HERE, {"cloud": "azure"}, {}),
            ("snapshot-copy-apart", ".region", "cn-north-1", {}, {}),
            ("snapshot-copy-no-way", "", HERE, {"network": {"egress": "none"}}, {"network": {"egress": "public"}}),
        )
    ),
)
