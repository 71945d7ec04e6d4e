"""Reports of a run: result file, status record in the bundle store, lines for the journal and the console."""

import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from run import STATE, Run
from writing import write_whole

LONGEST = 1000
"""Maximum characters of a message in the status record."""
PRIORITIES = {"failed": "<3>"}
"""Prefix of a line that sets its priority in the journal (sd-daemon(3)); 3 is an error."""
SECONDS = 10
"""Timeout of a status record; its errors never fail a run."""

BUSY, PAUSE = (429, 503), 2
"""Statuses of a store that takes no more writes at the moment, and seconds until the second try."""

ENDED = "run/mullion.ended"
"""Exists if a run has ended since this boot and no other has begun; a boot empties /run."""

Result = dict[str, Any]
"""{bundle, state: done | reboot | failed | checked, code, phases: [{name, steps: [{name, outcome, seconds}]}],
started, seconds}. If failed also name, message, phase and step; if reboot also phase and step.
"""


def say(text: str, state: str = "") -> None:
    """Write a line to the journal; the unit also copies it to the serial console."""
    journal = "JOURNAL_STREAM" in os.environ
    print(f"{PRIORITIES.get(state, '') if journal else ''}mullion: {text}", flush=True)


def summary(result: Result) -> str:
    """Return the result in one line."""
    if result["state"] == "failed":
        where = f"phase {result['phase']}, step {result['step']}"
        return f"E{result['code']} {result['name']} in {where}: {result['message']}"
    return f"{result['state']} in {result['seconds']} s, bundle {result['bundle']}"


def begin(root: Path) -> None:
    """Mark the result file as an earlier run's."""
    (root / ENDED).unlink(missing_ok=True)


def write_result(root: Path, result: Result) -> None:
    """Write the result file. A full disk does not keep the result from the journal and the status record."""
    try:
        write_whole(root / STATE.lstrip("/") / "result.json", json.dumps(result, indent=1).encode(), 0o644)
        write_whole(root / ENDED, b"", 0o644)
    except Exception as error:
        say(f"result.json cannot be written: {error}", "failed")


def _write(run: Run, url: str, body: bytes) -> None:
    """Write a record; once more if the store was busy: Cloud Storage takes one write of an object in a second."""
    try:
        run.ask("store", url, "PUT", body, content_type="application/json")
    except HTTPError as error:
        if error.code not in BUSY:
            raise
        time.sleep(PAUSE)
        run.ask("store", url, "PUT", body, content_type="application/json")


def record(run: Run, result: Result, **more: Any) -> None:
    """Write the machine's status record if the facts have a URL for it; more: additional members."""
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
        _write(run, f"{url}{me}.json", json.dumps(body).encode())
    except Exception as error:
        say(f"the status record cannot be written: {type(error).__name__}: {error}", "failed")
