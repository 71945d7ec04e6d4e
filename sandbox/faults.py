"""Faults that one plans for the cloud's calls (create, update, delete), and what the provider makes of them.

A fault waits in the world for its call; it is used up before the call begins, so that the next run meets it no more,
whatever becomes of this one.
"""

import os
import time
from collections.abc import Callable

from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.failures import Failures, Retried
from sandbox.records import Fault

KINDS = {
    "fail": "the call fails by a fault of the cloud's own (on AWS InternalFailure)",
    "throttle": "the cloud answers `amount` times that it was asked too much; the provider waits and asks again, in"
    " simulated time, and gives up as the real one does",
    "unseen": "a new identity is not visible yet for `amount` tries; the provider asks again for some minutes",
    "die-before": "the provider's process ends before the cloud acted, `amount` seconds into the call",
    "die-after": "the provider's process ends `amount` seconds after the cloud acted, before the engine hears of it",
    "slow": "the call takes `amount` seconds, really, before the cloud acts",
    "late": "the cloud acts, and answers `amount` seconds later, really",
}
DEATH = 137
"""Exit code of a process that was killed (128 + SIGKILL)."""


RETRIED = ("throttle", "unseen")
"""Kinds of faults after which the provider asks again."""


def plan(
    cloud_state: CloudState, kind: str, nth: int = 1, *, type: str | None = None, amount: float = 0, times: int = 1
) -> Fault:
    """Plan a fault for the nth matching call from now. Raises ValueError if the kind or a number is invalid."""
    if kind not in KINDS:
        raise ValueError(f"no fault {kind!r}; there are: {', '.join(KINDS)}")
    if nth < 1 or times < 1 or amount < 0:
        raise ValueError("a fault comes at call 1 or later, at least once, and its amount is not negative")
    amount = amount or (1 if kind in RETRIED else 0)
    with cloud_state.transaction():
        statement = "INSERT INTO faults (kind, type, nth, amount, times) VALUES (?, ?, ?, ?, ?)"
        sequence = cloud_state.connection.execute(statement, (kind, type, nth, amount, times)).lastrowid or 0
    return Fault(sequence, kind, type, nth, amount, times)


def planned(cloud_state: CloudState) -> list[Fault]:
    """The faults that wait, oldest first."""
    return [Fault(*row) for row in cloud_state.connection.execute("SELECT * FROM faults ORDER BY sequence")]


def clear(cloud_state: CloudState) -> None:
    """Delete all planned faults."""
    cloud_state.connection.execute("DELETE FROM faults")


def due(cloud_state: CloudState, type: str, failures: Failures) -> list[Fault]:
    """Count a call of a type: the faults that come now, used up by one time each."""
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
    """What happens before the cloud acts; simulated seconds that were waited. Refusal ends the call."""
    waited = 0.0
    for fault in faults:
        if fault.kind == "die-before":
            _die(fault, pause)
        if fault.kind == "slow":
            pause(fault.amount)
        if fault.kind == "fail":
            raise Refusal(*failures.internal)
        if fault.kind in RETRIED:
            waited += _asked_again(failures.answer(fault.kind), int(fault.amount))
    return waited


def after(faults: list[Fault], pause: Callable[[float], None] = time.sleep) -> None:
    """What happens once the cloud acted and its world is written."""
    for fault in faults:
        if fault.kind == "die-after":
            _die(fault, pause)
        if fault.kind == "late":
            pause(fault.amount)


def _die(fault: Fault, pause: Callable[[float], None]) -> None:
    if fault.amount:  # others get as far meanwhile
        pause(fault.amount)
    os._exit(DEATH)


def _asked_again(answer: Retried, refused: int) -> float:
    waits = list(answer.waits())
    if refused > len(waits):
        raise Refusal(answer.code, f"{answer.message} (asked {len(waits) + 1} times in {sum(waits):.0f} s)")
    return sum(waits[:refused])
