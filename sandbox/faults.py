"""Faults planned for calls of the cloud (create, update, delete), and their effects in the provider.

Planned faults stand in the cloud state. A fault is consumed before its call begins, so the next run does not meet it,
even if this run is killed.
"""

import os
import time
from collections.abc import Callable

from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.failures import Failures, Retried
from sandbox.records import Fault

KINDS = {
    "fail": "the call fails with an internal error of the cloud (on AWS InternalFailure)",
    "throttle": "the cloud throttles the call `amount` times; the provider retries in simulated time, and gives up when"
    " the real provider does",
    "unseen": "a new identity is not visible for `amount` tries; the provider retries for some simulated minutes",
    "capacity": "the cloud has no capacity for a machine for `amount` tries; AWS's provider retries in simulated time",
    "reserved": "Azure still reserves a network interface for its machine, which has ended",
    "die-before": "the provider's process ends before the cloud acts, `amount` seconds into the call",
    "die-after": "the provider's process ends `amount` seconds after the cloud acted, before the engine has the result",
    "slow": "the call takes `amount` real seconds before the cloud acts",
    "late": "the cloud acts, and answers `amount` real seconds later",
}
DEATH = 137
"""Exit code of a process that was killed (128 + SIGKILL)."""


RETRIED = ("throttle", "unseen", "capacity", "reserved")
"""Kinds of faults with an error that the provider may retry."""


def plan(
    cloud_state: CloudState, kind: str, nth: int = 1, *, type: str | None = None, amount: float = 0, times: int = 1
) -> Fault:
    """Plan a fault for the nth matching call from now. Raises ValueError if the kind or a number is invalid."""
    if kind not in KINDS:
        raise ValueError(f"unknown fault {kind!r}; known: {', '.join(KINDS)}")
    if nth < 1 or times < 1 or amount < 0:
        raise ValueError("a fault needs a call of 1 or more, times of 1 or more, and an amount of 0 or more")
    amount = amount or (1 if kind in RETRIED else 0)
    with cloud_state.transaction():
        statement = "INSERT INTO faults (kind, type, nth, amount, times) VALUES (?, ?, ?, ?, ?)"
        sequence = cloud_state.connection.execute(statement, (kind, type, nth, amount, times)).lastrowid or 0
    return Fault(sequence, kind, type, nth, amount, times)


def planned(cloud_state: CloudState) -> list[Fault]:
    """Return the planned faults, oldest first."""
    return [Fault(*row) for row in cloud_state.connection.execute("SELECT * FROM faults ORDER BY sequence")]


def clear(cloud_state: CloudState) -> None:
    """Delete all planned faults."""
    cloud_state.connection.execute("DELETE FROM faults")


def due(cloud_state: CloudState, type: str, failures: Failures) -> list[Fault]:
    """Count a call of a type; return the faults that it meets, each consumed once."""
    if not planned(cloud_state):
        return []
    short = type.rsplit(":", 1)[-1]
    with cloud_state.transaction():
        matching = [
            fault
            for fault in planned(cloud_state)
            if (fault.type or (failures.unseen_by if fault.kind == "unseen" else short)) in (type, short)
        ]
        for fault in matching:
            nth, times = (fault.nth - 1, fault.times) if fault.nth > 1 else (1, fault.times - 1)
            statement = "UPDATE faults SET nth = ?, times = ? WHERE sequence = ?"
            cloud_state.connection.execute(statement, (nth, times, fault.sequence))
        cloud_state.connection.execute("DELETE FROM faults WHERE times < 1")
    return [fault for fault in matching if fault.nth == 1]


def before(faults: list[Fault], failures: Failures, pause: Callable[[float], None] = time.sleep) -> float:
    """Apply faults before the cloud acts; return the simulated seconds of retries. Raises Refusal to fail the call."""
    waited = 0.0
    for fault in faults:
        if fault.kind == "die-before":
            _die(fault, pause)
        if fault.kind == "slow":
            pause(fault.amount)
        if fault.kind == "fail":
            raise Refusal(*failures.internal)
        if fault.kind in RETRIED:
            waited += _retried(failures.answer(fault.kind), int(fault.amount))
    return waited


def after(faults: list[Fault], pause: Callable[[float], None] = time.sleep) -> None:
    """Apply faults after the cloud acted and the cloud state is written."""
    for fault in faults:
        if fault.kind == "die-after":
            _die(fault, pause)
        if fault.kind == "late":
            pause(fault.amount)


def _die(fault: Fault, pause: Callable[[float], None]) -> None:
    if fault.amount:  # other calls continue meanwhile
        pause(fault.amount)
    os._exit(DEATH)


def _retried(answer: Retried, refused: int) -> float:
    """Return the seconds of `refused` retries. Raises Refusal if the provider gives up before."""
    waits = list(answer.waits())
    if refused > len(waits):
        raise Refusal(answer.code, f"{answer.message} ({len(waits) + 1} tries in {sum(waits):.0f} s)")
    return sum(waits[:refused])
