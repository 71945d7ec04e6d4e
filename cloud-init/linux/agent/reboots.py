"""Restarts that packages ask for: a new kernel becomes active only then. In the machine's turn, within the window."""

import time
from typing import Any

from failure import Failure
from kinds.restart import REQUIRED
from run import Run

UPTIME = "/proc/uptime"
LEAST_UPTIME = 3600.0
"""Minimum uptime before a restart, so that a package that asks for one at every boot causes no loop."""
OVERDUE_DAYS = 7
"""Days after the packages' request, with a window, after which a missing restart is an error."""
DAY = 86400
DAY_MINUTES = 1440


def since(run: Run) -> float | None:
    """Return when a restart was first asked for, in seconds since 1970; None if none is."""
    try:
        return run.path(REQUIRED).stat().st_mtime
    except OSError:
        return None


def is_open(window: dict[str, int] | None, now: float) -> bool:
    """Return whether the machine may restart now. window: {begin: minute of the day, UTC, minutes}; None: never."""
    return bool(window) and (int(now // 60) - window["begin"]) % DAY_MINUTES < window["minutes"]


def due(run: Run, config: dict[str, Any], now: float) -> bool:
    """Return whether the machine has to restart now, in its turn."""
    if since(run) is None or not is_open(config.get("reboots"), now):
        return False
    return float(run.path(UPTIME).read_text().split()[0]) >= LEAST_UPTIME


def reconcile(run: Run, config: dict[str, Any], now: float) -> dict[str, object]:
    """Return values for the status record. Raise Failure wait-timeout if it is overdue."""
    asked = since(run)
    if asked is None:
        return {}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(asked))
    if config.get("reboots") and now - asked > OVERDUE_DAYS * DAY:
        text = f"packages have asked for a restart since {stamp}, and none has happened: see waits_for in the record"
        raise Failure("wait-timeout", text)
    return {"required_since": stamp}
