"""Other values of options of `snapshots`, for the test of change effects."""

from typing import Any

_COPIED = {"snapshots": {"copy_to": {"bucket": "etcd-copies", "region": "eu-central-1"}}}

VALUES: dict[str, Any] = {
    **dict.fromkeys(("snapshots.every_minutes", "snapshots.keep_daily"), 30),
    **dict.fromkeys(("snapshots.keep_days", "snapshots.keep_weekly"), 14),
    "snapshots.copy_to.account": "111122223333",
    "snapshots.copy_to.bucket": "other-copies",
    "snapshots.copy_to.region": "us-east-1",
}
CONTEXT: dict[str, Any] = dict.fromkeys(
    ("snapshots.copy_to.account", "snapshots.copy_to.bucket", "snapshots.copy_to.region"), _COPIED
)
