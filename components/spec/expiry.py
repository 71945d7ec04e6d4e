"""When a temporary cluster ends: `expires` of the stack file as a point in time."""

import re
from datetime import datetime, timedelta, timezone

from components.spec.quantities import duration_seconds

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""Form of a UTC time in the stack file."""
_LABEL = re.compile(r"(\d{4}-\d\d-\d\d)t(\d\d)_(\d\d)_(\d\d)z")
"""Form of the same time as a label of Google Cloud (`components/wiring/tags.py`)."""


def now() -> datetime:
    """Return the present UTC time."""
    return datetime.now(timezone.utc)


def life_seconds(expires: str) -> int | None:
    """Return the duration that `expires` names, in seconds; None for a time or any other text."""
    try:
        return duration_seconds(expires)
    except ValueError:
        return None


def moment(expires: str) -> datetime | None:
    """Return the UTC time that `expires` names, also as a label; None for a duration or any other text."""
    label = _LABEL.fullmatch(expires)
    text = "{}T{}:{}:{}Z".format(*label.groups()) if label else expires
    if not TIME.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def end(expires: str, created: datetime | None) -> datetime | None:
    """Return when a cluster with this `expires` ends. A duration counts from the cluster's creation.

    None if the text is neither a time nor a duration, or if a duration's begin is unknown.
    """
    if (fixed := moment(expires)) is not None:
        return fixed
    life = life_seconds(expires)
    try:
        return None if life is None or created is None else created + timedelta(seconds=life)
    except OverflowError:  # 9999999999d
        return None


def written(time: datetime) -> str:
    """Return a time as the stack file has it, in whole seconds: 2027-12-24T18:00:00Z."""
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
