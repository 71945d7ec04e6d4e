"""Interruptions of spot machines: notices, which the metadata services serve to the machine."""

from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import Record

_KEY = "interruption"


def is_spot(record: Record) -> bool:
    """Return whether a resource is a machine that uses spot capacity."""
    given: dict[str, Any] = record.inputs
    return "spot" in (
        str((given.get("instanceMarketOptions") or {}).get("marketType")).lower(),
        str(given.get("priority")).lower(),
        str((given.get("scheduling") or {}).get("provisioningModel")).lower(),
    )


def announce(cloud_state: CloudState, record: Record, end: float) -> None:
    """Announce that the cloud takes a machine back. end: Unix time of its end."""
    with cloud_state.transaction():
        cloud_state.put_secret(record.id, _KEY, f"{end}")


def withdraw(cloud_state: CloudState, record: Record) -> None:
    """Forget the notice, once the machine no longer exists: on Azure its successor has the same id."""
    with cloud_state.transaction():
        cloud_state.remove_secret(record.id, _KEY)


def announced(cloud_state: CloudState, record: Record) -> float | None:
    """Return the Unix time at which the cloud takes a machine back; None without a notice."""
    end = cloud_state.secret_values(record.id).get(_KEY)
    return float(end) if end else None
