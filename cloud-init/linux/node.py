"""Makes this machine the Node in plan.json: test, then set, step by step, again at every boot.

    node.py            apply the plan. Exit code 0: applied, or the machine restarts; 1: a step failed.
    node.py --check    print what would be set and change nothing. Exit code 0: nothing; 2: something; 1: a step
                       failed, so the check is incomplete. The last line is the result as JSON.

Reads plan.json beside it and the loader's machine.json; writes /var/lib/mullion/result.json (phase, step, code,
message, timings; never a secret) and the machine's status record. Standard library of Python 3.10.
"""

import argparse
import fcntl
import json
import os
import sys
from pathlib import Path
from typing import Any

import loader
import programs
import report
from failure import Failure
from phases import execute

LOCK = "run/mullion.lock"
"""Not in /run/lock, where every user may create files."""
RESTART = ("systemctl", "reboot", "--no-block")


def place(root: Path) -> tuple[Path, dict[str, Any]]:
    """Return the bundle's folder and machine.json. Raise Failure file-failed."""
    file = root / str(loader.HOME).lstrip("/") / "machine.json"
    try:
        told = json.loads(file.read_text())
        return Path(__file__).resolve().parent, {"machine": told["machine"], "facts": told["facts"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure("file-failed", f"{file} is missing or invalid: {error!r}") from None


def check(root: Path) -> int:
    """Print what a run would set; return the exit code."""
    result = execute(root, *place(root), check=True)
    steps = [(phase["name"], step) for phase in result["phases"] for step in phase["steps"]]
    changes = [f"{phase}/{step['name']}" for phase, step in steps if step["outcome"] != "held"]
    for each in changes:
        report.say(f"would set {each}")
    report.say(report.summary(result) + f", {len(changes)} to set")
    print(json.dumps(result), flush=True)
    return 1 if result["state"] == "failed" else 2 if changes else 0


def run(root: Path) -> int:
    """Run the plan under the machine's lock; return the exit code."""
    (root / LOCK).parent.mkdir(parents=True, exist_ok=True)
    # only for root: any user who can read the file could hold its lock
    with open(os.open(root / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure("locked", f"another run holds /{LOCK}") from None
        result = execute(root, *place(root))
        report.say(report.summary(result), result["state"])
        if result["state"] == "reboot":
            restart()
    return 1 if result["state"] == "failed" else 0


def restart() -> None:
    """Request a restart. After Failure command-failed systemd starts the unit again."""
    ended = programs.start(RESTART, 60)
    if ended.returncode:
        raise Failure("command-failed", f"{' '.join(RESTART)} ended with {ended.returncode}: {ended.stderr.strip()}")


def require_root() -> None:
    """Raise Failure not-privileged unless run as root."""
    if os.geteuid() != 0:
        raise Failure("not-privileged", "run it as root")


def main(words: list[str], root: Path = Path("/")) -> int:
    """Run with the command line's arguments; return the exit code."""
    parser = argparse.ArgumentParser(description="Makes this machine the node that its plan describes.")
    parser.add_argument("--check", action="store_true", help="say what would be set, and change nothing")
    options = parser.parse_args(words)
    try:
        require_root()
        return check(root) if options.check else run(root)
    except Failure as failure:
        report.say(f"E{failure.code} {failure.name}: {failure}", "failed")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
