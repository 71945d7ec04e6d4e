"""Makes this machine the node that plan.json describes: test, then set, step by step, again at every boot.

    node.py            makes the plan true. Exit code 0: it is, or the machine restarts; 1: a step failed.
    node.py --check    says what that would set and changes nothing. Exit code 0: nothing; 2: something; 1: it cannot
                       be told, because a step failed. The last line is the result as JSON.

Reads plan.json beside it and machine.json of the loader; writes /var/lib/mullion/result.json (phase, step, code,
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
"""Not in /run/lock, where everyone may make files."""
RESTART = ("systemctl", "reboot", "--no-block")


def place(root: Path) -> tuple[Path, dict[str, Any]]:
    """The bundle's folder, and what the machine was told. Failure file-failed."""
    file = root / str(loader.HOME).lstrip("/") / "machine.json"
    try:
        told = json.loads(file.read_text())
        return Path(__file__).resolve().parent, {"machine": told["machine"], "facts": told["facts"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure("file-failed", f"{file} does not say what the machine is: {error!r}") from None


def check(root: Path) -> int:
    """What a run would set."""
    result = execute(root, *place(root), check=True)
    steps = [(phase["name"], step) for phase in result["phases"] for step in phase["steps"]]
    changes = [f"{phase}/{step['name']}" for phase, step in steps if step["outcome"] != "held"]
    for each in changes:
        report.say(f"would set {each}")
    report.say(report.summary(result) + f", {len(changes)} to set")
    print(json.dumps(result), flush=True)
    return 1 if result["state"] == "failed" else 2 if changes else 0


def run(root: Path) -> int:
    """The whole run, under the machine's lock."""
    (root / LOCK).parent.mkdir(parents=True, exist_ok=True)
    # for root alone: who can read a file can hold its lock
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
    """Asks for the restart; Failure command-failed lets the unit try again."""
    ended = programs.start(RESTART, 60)
    if ended.returncode:
        raise Failure("command-failed", f"{' '.join(RESTART)} ended with {ended.returncode}: {ended.stderr.strip()}")


def require_root() -> None:
    """Failure not-privileged for anyone else."""
    if os.geteuid() != 0:
        raise Failure("not-privileged", "run it as root")


def main(words: list[str], root: Path = Path("/")) -> int:
    """As the words of the command line say; returns the exit code."""
    parser = argparse.ArgumentParser(description="Makes this machine the node that its plan describes.")
    parser.add_argument("--check", action="store_true", help="say what would be set, and change nothing")
    told = parser.parse_args(words)
    try:
        require_root()
        return check(root) if told.check else run(root)
    except Failure as failure:
        report.say(f"E{failure.code} {failure.name}: {failure}", "failed")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
