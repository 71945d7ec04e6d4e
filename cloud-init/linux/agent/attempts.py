"""Tries of the work that takes longer than the Lease lasts, in the ConfigMap that the agents share (agent/memory.py).

An agent that works for minutes does not renew its Lease, and another machine's agent becomes the active one. It finds
the try and leaves the work to the first. A try that failed or was interrupted is repeated at growing intervals.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from failure import Failure
from run import Run

from agent import configmap_requests
from agent.api import Api, Refused, Unreachable
from agent.memory import Memory, keep

FIRST, LONGEST = configmap_requests.LONGEST, 3600
"""Seconds from one try to the next: after the first failure, and at most; they double with each failure. In less than
FIRST seconds another machine's agent may still be at work."""
DOUBLINGS = 4
"""Failures after which LONGEST is reached."""


def attempt(run: Run, api: Api, name: str, what: str, function: Callable[[], None]) -> bool:
    """Do something once; return False if another agent is at it. Raise its error, also that of a failed try before.

    name: of the value in the ConfigMap. what: names the work there, for people who read it.
    """
    last = _begin(run, api, name, what)
    if last is None:
        return False
    try:
        function()
    except Exception as error:
        text = f"{error}" if isinstance(error, (Failure, OSError)) else f"{type(error).__name__}: {error}"
        with suppress(Unreachable, Refused):
            failed = {**last, "at": int(time.time()), "error": run.redact(text)[:300]}
            keep(api, **{name: json.dumps(failed, sort_keys=True)})
        raise
    keep(api, **{name: ""})
    return True


def _begin(run: Run, api: Api, name: str, what: str) -> dict[str, Any] | None:
    """Record that this machine tries; return the record, or None if another agent is at it. Raise RuntimeError."""
    memory = Memory(api)
    last, now = configmap_requests.parsed(memory, name), time.time()
    at, tries, error = last.get("at"), last.get("tries"), last.get("error")
    if not isinstance(at, int) or not isinstance(tries, int) or not 0 <= now - at <= LONGEST:
        at, tries = 0, tries if isinstance(tries, int) else 0
    due = at + pause(tries)
    if now < due:
        if error:
            moment = time.strftime("%H:%M:%SZ", time.gmtime(due))
            about = f"{error} (on {last.get('machine')}; not tried again before {moment})"
            raise RuntimeError("".join(filter(str.isprintable, about)))  # others can write the ConfigMap too
        return None
    machine = run.value("machine.name")
    record = {"machine": machine, "what": what, "at": int(now), "tries": tries + 1, "error": error or ""}
    return record if memory.write(**{name: json.dumps(record, sort_keys=True)}) else None


def pause(tries: int) -> int:
    """Return the minimum seconds to the next try, from the last one's failure, or its begin if it was interrupted."""
    return max(FIRST, min(LONGEST, 300 << min(max(tries, 1) - 1, DOUBLINGS))) if tries else 0
