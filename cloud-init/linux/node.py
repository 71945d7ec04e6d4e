"""Makes this machine the node that plan.json describes: test, then set, step by step, again at every boot.

Reads plan.json beside it and machine.json of the loader; writes result.json (phase, step, code, message, timings;
never a secret). Exit code 0: the plan is true, or the machine restarts. 1: a step failed, the result names the code.
Standard library of Python 3.10.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import loader
from failure import Failure
from kinds import KINDS, Kind
from kinds.system import Reboot
from run import STATE, Run, Step, write_whole

FORMAT = 1
LOCK = "/run/lock/mullion.lock"
TRIES = 4
WAITS = (2, 5, 10, 20, 40)


def reach(run: Run, step: Step) -> str:
    """Makes one step true; returns "held" or "set". Tries again, with growing waits, what may pass."""
    kind = KINDS.get(step["kind"])
    if kind is None:
        raise Failure("kind-not-implemented", f"kind {step['kind']}")
    tries = step.get("retries", TRIES - 1) + 1
    for attempt in range(tries):
        try:
            return attempt_once(run, kind, run.resolve(step))
        except Failure as failure:
            if not failure.retry or attempt == tries - 1:
                raise
            say(run, f"{step['name']}: {failure}; again in {WAITS[min(attempt, len(WAITS) - 1)]} s")
            time.sleep(WAITS[min(attempt, len(WAITS) - 1)])
    raise Failure("step-invalid", f"retries {step['retries']} is below 0")


def attempt_once(run: Run, kind: Kind, step: Step) -> str:
    """Test, set, test. Any error becomes a numbered one."""
    try:
        if kind.holds(run, step):
            return "held"
        kind.make(run, step)
        if not kind.holds(run, step):
            raise Failure("not-reached", f"kind {step['kind']} was set, and still does not hold")
        return "set"
    except OSError as error:
        raise Failure("file-failed", f"{type(error).__name__}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise Failure("step-invalid", f"{type(error).__name__}: {error}") from error


def read_plan(folder: Path) -> dict[str, Any]:
    """plan.json, if this executor can run it."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    if plan.get("format") != FORMAT:
        raise Failure("plan-format", f"plan.json has format {plan.get('format')}, this executor reads {FORMAT}")
    if plan["os"].startswith("windows"):
        raise Failure("other-system", f"the plan is for {plan['os']}")
    return plan


def execute(root: Path, folder: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Runs all phases; returns the result document. `root` is / on a machine, `folder` is the bundle's."""
    started = time.time()
    result = {"bundle": folder.name, "state": "done", "code": 0, "phases": [], "started": round(started, 3)}
    run, phase, step = Run(root, told, {}), {"name": None}, {"name": None}
    try:
        plan = read_plan(folder)
        run.told["registration"] = plan["registration"]
        for phase in plan["phases"]:
            result["phases"].append({"name": phase["name"], "steps": []})
            for step in phase["steps"]:
                begin = time.monotonic()
                outcome = reach(run, step)
                spent = round(time.monotonic() - begin, 3)
                result["phases"][-1]["steps"].append({"name": step["name"], "outcome": outcome, "seconds": spent})
        run.remember(reboots=0)
    except Reboot:
        result |= {"state": "reboot", "phase": phase["name"], "step": step["name"]}
    except Exception as error:
        failure = error if isinstance(error, Failure) else Failure("unexpected", f"{type(error).__name__}: {error}")
        result |= {"state": "failed", "code": failure.code, "name": failure.name, "message": run.redact(str(failure))}
        result |= {"phase": phase["name"], "step": step["name"]}
    result["seconds"] = round(time.time() - started, 3)
    return result


def say(run: Run, text: str) -> None:
    """A line for the journal and the serial console."""
    print(f"mullion: {run.redact(text)}", flush=True)


def summary(result: dict[str, Any]) -> str:
    """One line for people."""
    if result["state"] == "failed":
        where = f"phase {result['phase']}, step {result['step']}"
        return f"E{result['code']} {result['name']} in {where}: {result['message']}"
    return f"{result['state']} in {result['seconds']} s, bundle {result['bundle']}"


def main() -> None:
    """The whole run, under the machine's lock."""
    if os.geteuid() != 0:
        sys.exit(f"mullion: {Failure('not-privileged', 'run it as root').code} not-privileged: run it as root")
    with open(LOCK, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"mullion: E{Failure('locked', '').code} locked: another run holds {LOCK}")
        told = json.loads((loader.HOME / "machine.json").read_text())
        result = execute(Path("/"), Path(__file__).resolve().parent, told)
        write_whole(Path(STATE) / "result.json", json.dumps(result, indent=1).encode(), 0o644)
        print(f"mullion: {summary(result)}", flush=True)
    sys.exit(1 if result["state"] == "failed" else 0)


if __name__ == "__main__":
    main()
