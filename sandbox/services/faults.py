"""Faults of the services: what replaces the right answer to the Nth call on a route."""

import fnmatch
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sandbox.services.calls import Answer, Refused

KINDS = {
    "status": "the service fails with the status `value`, without acting",
    "refuse": "the service refuses with the reason or error code `value`, without acting",
    "throttle": "the service says that there are too many calls, in its own words",
    "redirect": "the answer is a redirection to the URL `value`",
    "delay": "the answer comes `value` seconds late",
    "truncate": "half of the answer comes, then the connection ends",
    "stall": "half of the answer comes, and nothing more until `release`",
    "close": "the service acts, and the connection ends without an answer",
}


@dataclass(frozen=True)
class Fault:
    """A fault that starts at the nth matching call from now, and lasts `times` calls.

    route: `SERVICE METHOD PATH` with * and ?, such as `s3 GET */bundles/*`; service names are those of server.SERVICES.
    """

    route: str
    kind: str
    value: str | float = ""
    nth: int = 1
    times: int = 1


class Faults:
    """Pending faults; safe for use by several threads."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()
        self._released = threading.Event()

    def plan(self, route: str, kind: str, value: str | float = "", *, nth: int = 1, times: int = 1) -> None:
        """Add a fault. Raises ValueError if the kind is unknown or a number is out of range."""
        if kind not in KINDS:
            raise ValueError(f"no fault {kind!r}; there are: {', '.join(KINDS)}")
        if nth < 1 or times < 1:
            raise ValueError("a fault comes at call 1 or later, at least once")
        self._released.clear()
        with self._lock:
            self._waiting.append(Fault(route, kind, value, nth, times))

    def due(self, route: str) -> list[Fault]:
        """Count a call, and return the faults that it triggers; each loses one of its times."""
        with self._lock:
            matching = [one for one in self._waiting if fnmatch.fnmatchcase(route, one.route)]
            for one in matching:
                place = self._waiting.index(one)
                left = replace(one, nth=one.nth - 1) if one.nth > 1 else replace(one, times=one.times - 1)
                self._waiting[place : place + 1] = [left] if left.times else []
        return [one for one in matching if one.nth == 1]

    def left(self) -> list[Fault]:
        """Return the faults that are still pending."""
        with self._lock:
            return list(self._waiting)

    def release(self) -> None:
        """Delete all faults, and release stalled calls."""
        with self._lock:
            self._waiting.clear()
        self._released.set()

    def hold(self, seconds: float | None = None) -> None:
        """Wait for `release`, at most the given number of seconds."""
        self._released.wait(seconds)


def _throttle(fault: Fault) -> Answer:
    raise Refused("throttled", "Please reduce your request rate.")


def _status(fault: Fault) -> Answer:
    raise Refused("InjectedFailure", "The sandbox was told to fail.", int(fault.value))


def _refuse(fault: Fault) -> Answer:
    raise Refused(str(fault.value), "The sandbox was told to refuse.")


def _redirect(fault: Fault) -> Answer:
    return Answer(307, b"", {"location": str(fault.value)})


INSTEAD: Mapping[str, Callable[[Fault], Answer]] = {
    "throttle": _throttle,
    "status": _status,
    "refuse": _refuse,
    "redirect": _redirect,
}
"""Kinds that replace the service's answer."""
