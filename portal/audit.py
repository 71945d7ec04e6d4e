"""Writing and reading of the audit trail."""

import json
from collections.abc import Iterator
from typing import Any

from portal.models import Event, Team

SYSTEM = "(portal)"
"""Actor of what the portal does by itself, such as the removal of an expired cluster."""


def record(actor: str, action: str, subject: str, *, team: Team | None = None, detail: Any = None) -> None:
    """Append a row. actor: a person's name; subject: maybe one, which has up to 150 characters.

    Call it inside the transaction of what it records.
    """
    Event.objects.create(
        actor=actor[:150], action=action, subject=subject[:150], team=team.name if team else "", detail=detail or {}
    )


def exported() -> Iterator[bytes]:
    """Yield all rows as lines of JSON, the oldest first."""
    for event in Event.objects.order_by("id").iterator():
        yield json.dumps(event.document(), sort_keys=True).encode() + b"\n"
