"""The agent's part of the machine's status record, which `mullion` reads."""

import json
import time
from typing import Any

import report
from run import STATE, Run

EVERY = 300.0
"""Seconds after which an unchanged record is written again, which tells a hung agent from an idle one."""


class Status:
    """The last written record."""

    def __init__(self) -> None:
        self.written: tuple[Any, float] = (None, 0.0)

    def write(self, run: Run, current: str, said: dict[str, Any]) -> None:
        """Write the executor's last result with the agent's state, if either has changed or EVERY seconds have passed.

        current: digest of the current bundle; a result of another bundle means that the executor is running.
        """
        if not (run.root / report.ENDED).exists():
            return  # the executor is running or has not run since this boot: it writes its own record
        try:
            result = json.loads(run.path(f"{STATE}/result.json").read_text())
        except (OSError, ValueError):
            return  # the disk has no space for the result
        if result["bundle"] != current:
            result = {"bundle": current, "state": "running", "code": 0, "seconds": 0.0}
        now, text = time.monotonic(), json.dumps([current, result.get("started"), said], sort_keys=True)
        if text != self.written[0] or now - self.written[1] > EVERY:
            errors = "; ".join(f"{name}: {error}" for name, error in sorted(said.get("errors", {}).items()))
            report.record(run, result, agent=said, agent_errors=errors[: report.LONGEST])
            self.written = (text, now)
