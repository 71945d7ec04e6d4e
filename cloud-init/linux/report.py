"""What a run tells: the result file, the status record in the bundle store, and lines for the journal and console."""

import json
import os
import time
from pathlib import Path
from typing import Any

from run import STATE, Run
from writing import write_whole

LONGEST = 1000
"""Characters of a message in the status record."""
PRIORITIES = {"failed": "<3>"}
"""systemd takes it from the head of a line for the journal's priority (sd-daemon(3)): 3 is an error."""
SECONDS = 10
"""A record may take so long; it never fails a run."""

ENDED = "run/mullion.ended"
"""Is there when a run ended since this boot and no other began: /run is empty after a boot."""

Result = dict[str, Any]
"""{bundle, state: done | reboot | failed | checked, code, phases: [{name, steps: [{name, outcome, seconds}]}],
started, seconds}; failed: and name, message; failed and reboot: and phase, step."""


def say(text: str, state: str = "") -> None:
    """A line for the journal, which the unit also shows on the serial console."""
    journal = "JOURNAL_STREAM" in os.environ
    print(f"{PRIORITIES.get(state, '') if journal else ''}mullion: {text}", flush=True)


def summary(result: Result) -> str:
    """One line for people."""
    if result["state"] == "failed":
        where = f"phase {result['phase']}, step {result['step']}"
        return f"E{result['code']} {result['name']} in {where}: {result['message']}"
    return f"{result['state']} in {result['seconds']} s, bundle {result['bundle']}"


def begin(root: Path) -> None:
    """From now on the result file tells of an earlier run."""
    (root / ENDED).unlink(missing_ok=True)


def write_result(root: Path, result: Result) -> None:
    """The result file; a disk without space for it does not hide the result from the journal and the record."""
    try:
        write_whole(root / STATE.lstrip("/") / "result.json", json.dumps(result, indent=1).encode(), 0o644)
        write_whole(root / ENDED, b"", 0o644)
    except Exception as error:
        say(f"result.json cannot be written: {error}", "failed")


def record(run: Run, result: Result, **more: Any) -> None:
    """The machine's status record, where the cluster's facts have a place for it; more: members besides."""
    url = run.told["facts"].get("status_url")
    if not url:
        return
    run.try_for(SECONDS)
    try:
        me = run.cloud.instance()
        body = {
            "machine": run.told["machine"].get("name"),
            "instance": me,
            "bundle": result["bundle"],
            "state": run.reached if result["state"] == "done" else result["state"],
            **{name: result.get(name) for name in ("phase", "step", "code", "name")},
            "message": result.get("message", "")[:LONGEST],
            "kubernetes": run.remember().get("kubernetes"),
            "seconds": result["seconds"],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time())),
            **more,
        }
        run.ask("store", f"{url}{me}.json", "PUT", json.dumps(body).encode(), content_type="application/json")
    except Exception as error:
        say(f"the status record cannot be written: {type(error).__name__}: {error}", "failed")
