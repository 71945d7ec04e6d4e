"""The agent's part of the machine's status record, which the program and `mullion` read."""

import json
import time
from typing import Any

import report
from run import STATE, Run

EVERY = 300.0
"""Seconds after which an unchanged record is written again: so a silent agent can be told from a content one."""


class Status:
    """The record as it was written last."""

    def __init__(self) -> None:
        self.written: tuple[Any, float] = (None, 0.0)

    def write(self, run: Run, current: str, said: dict[str, Any]) -> None:
        """Write the executor's last result with what the agent says, if either changed or it is time.

        current: digest of the bundle that is current; a result of another one says that the executor runs.
        """
        if not (run.root / report.ENDED).exists():
            return  # the executor's run is under way, or this boot's is still to come: it writes its own
        try:
            result = json.loads(run.path(f"{STATE}/result.json").read_text())
        except (OSError, ValueError):
            return  # the disk has no space for it
        if result["bundle"] != current:
            result = {"bundle": current, "state": "running", "code": 0, "seconds": 0.0}
        now, text = time.monotonic(), json.dumps([current, result.get("started"), said], sort_keys=True)
        if text != self.written[0] or now - self.written[1] > EVERY:
            report.record(run, result, agent=said)
            self.written = (text, now)
