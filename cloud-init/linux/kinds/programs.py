"""Programs that run once, and programs that only look."""

import json
import re

from failure import Failure
from run import Run, Step


def command_holds(run: Run, step: Step) -> bool:
    """What it creates is there; without `creates`, it ran in this run. Without what it requires it is not due."""
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    if step.get("creates"):
        return run.path(step["creates"]).exists()
    return step["name"] in run.done


def make_command(run: Run, step: Step) -> None:
    """Runs it, with `input` on its standard input."""
    text = step.get("input")
    text = text if text is None or isinstance(text, str) else json.dumps(text)
    run.command(*step["argv"], environment=step.get("environment"), text=text)
    run.done.add(step["name"])


def probe_holds(run: Run, step: Step) -> bool:
    """The program says what is expected; Failure probe-failed if not, so it is never set."""
    ended = run.command(*step["argv"], check=False)
    said, expected = ended.stdout.strip(), step.get("expect", r"(?s).+")
    if ended.returncode or not re.fullmatch(expected, said):
        shown = run.redact((said + " " + ended.stderr).strip())[-500:]  # half a secret would not be known
        about = f"{step['argv'][0]} ended with {ended.returncode}: {shown!r}"
        wanted = f", expected {step['expect']!r}" if "expect" in step else ""
        raise Failure("probe-failed", f"{step['message']}: {about}{wanted}")
    if "records" in step:
        run.recorded[step["records"]] = said
    return True


def make_probe(run: Run, step: Step) -> None:
    """Nothing: a probe that fails ends the run before."""
