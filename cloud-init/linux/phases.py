"""Runs a plan phase by phase and step by step: tests, sets, and retries temporary failures."""

import json
import time
from pathlib import Path
from typing import Any

import report
import tidying
from failure import Failure, of_file
from kinds import KINDS, Kind
from kinds.restart import Reboot
from report import Result
from run import Run, Step

FORMAT = 1
RETRIES = 3
WAITS = (2, 5, 10, 20, 40)


def read_plan(folder: Path) -> dict[str, Any]:
    """Return plan.json. Raise Failure if this executor cannot run it."""
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure("plan-format", f"plan.json is not JSON: {error}") from None
    if plan.get("format") != FORMAT:
        raise Failure("plan-format", f"plan.json has format {plan.get('format')}, this executor reads {FORMAT}")
    if plan["os"].startswith("windows"):
        raise Failure("other-system", f"the plan is for {plan['os']}")
    return plan


def execute(root: Path, folder: Path, told: dict[str, Any], check: bool = False) -> Result:
    """Run all phases; with `check`, only test them. `root` is /, `folder` the bundle's folder."""
    began, started = time.monotonic(), time.time()
    result: Result = {"bundle": folder.name, "state": "checked" if check else "done", "code": 0}
    result |= {"phases": [], "started": round(started, 3), "seconds": 0.0}
    run, place = Run(root, told, {}), {"phase": None, "step": None}
    try:
        run = Run(root, told, read_plan(folder))
        if not check:
            report.begin(root)
            report.record(run, {**result, "state": "running"})
        walk(run, result, place, check)
        if not check:
            # only after the whole plan: until then the machine has the previous version
            run.remember(reboots=0, kubernetes=run.plan.get("kubernetes"))
            tidying.tidy(run, folder)
    except Reboot:
        result |= {"state": "reboot", **place}
    except Exception as error:
        failure = numbered(error)
        result |= {"state": "failed", "code": failure.code, "name": failure.name, "message": run.redact(str(failure))}
        result |= place
    result["seconds"] = round(time.monotonic() - began, 3)
    if not check:
        report.write_result(root, result)
        report.record(run, result)
    return result


def walk(run: Run, result: Result, place: dict[str, Any], check: bool) -> None:
    """Apply (or check) each step in turn; `place` has the current phase and step."""
    for phase in run.plan["phases"]:
        done: list[dict[str, Any]] = []
        result["phases"].append({"name": phase["name"], "steps": done})
        place["phase"], run.begun = phase["name"], None
        for number, step in enumerate(phase["steps"]):
            place["step"] = step["name"]
            began = time.monotonic()
            run.later = phase["steps"][number + 1 :]
            outcome = judge(run, step) if check else reach(run, step)
            spent = round(time.monotonic() - began, 3)
            done.append({"name": step["name"], "outcome": outcome, "seconds": spent})
        run.reached = phase.get("reports", "ready")
        if "reports" in phase and not check:
            report.record(run, {**result, "state": phase["reports"]})


def known(step: Step) -> Kind:
    """Return the step's kind. Raise Failure kind-not-implemented."""
    if step["kind"] not in KINDS:
        raise Failure("kind-not-implemented", f"kind {step['kind']}")
    return KINDS[step["kind"]]


def reach(run: Run, step: Step) -> str:
    """Apply one step; return "held" or "set". Retry temporary failures with growing waits."""
    kind, attempt = known(step), 0
    while True:
        try:
            return attempt_once(run, kind, step)
        except Reboot:
            raise
        except Exception as error:
            failure = numbered(error)
            if not failure.retry or attempt >= step.get("retries", RETRIES):
                raise failure from None
        run.forget()
        wait = WAITS[min(attempt, len(WAITS) - 1)]
        report.say(f"{step['name']}: {run.redact(str(failure))}; again in {wait} s")
        time.sleep(wait)
        attempt += 1


def attempt_once(run: Run, kind: Kind, step: Step) -> str:
    """Test, set and test again within the step's timeout."""
    run.try_for(step.get("timeout_seconds", kind.seconds))
    step = run.resolve(step)
    kind.check(step)
    if kind.holds(run, step):
        return "held"
    kind.make(run, step)
    run.units = None
    if not kind.holds(run, step):
        raise Failure("not-reached", f"kind {step['kind']} was applied, but its check still fails")
    return "set"


LATER = ("reference-unresolved", "file-failed", "command-failed", "secret-unavailable", "network-missing")
"""Failures of a check that an earlier step, once set, may remove."""


def judge(run: Run, step: Step) -> str:
    """Return "held" or "would-set"; also "would-set" if the test needs an earlier step to be set."""
    kind = known(step)
    run.try_for(step.get("timeout_seconds", kind.seconds))
    try:
        step = run.resolve(step)
        kind.check(step)
        return "held" if kind.holds(run, step) else "would-set"
    except Exception as error:
        failure = numbered(error)
        if failure.name in LATER:
            return "would-set"
        raise failure from None


def numbered(error: Exception) -> Failure:
    """Return the Failure for any exception."""
    if isinstance(error, Failure):
        return error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        return of_file(error)
    wrong_step = isinstance(error, (KeyError, TypeError, ValueError, AttributeError))
    return Failure("step-invalid" if wrong_step else "unexpected", text)
