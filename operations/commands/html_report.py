"""`mullion report`: one HTML file about a stack, planned or built. Reads the state, and changes nothing."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pulumi import automation as auto

from components.plan import plan_cluster
from components.spec.report import SpecError
from components.stack_files.stack import Stack
from operations.commands import kubeconfig, report_contents, report_times
from operations.commands.report_times import Prediction
from operations.commands.run_report import explained
from operations.console import faults
from operations.console.exits import EngineError, Exit, Stop
from operations.engine import clusters
from operations.engine.clusters import BACKEND, SANDBOX
from operations.engine.workspace import has_backend, sandbox_config
from operations.html_report import built, page, results
from operations.html_report.built import Known
from operations.recovery import recovery
from operations.stacks import machine_records, stack_files, target

OF_RUN = ("result.json", "verify.xml")
"""Files of the folder of a `mullion run` that a report shows."""


def report(name: str, output: Path, files: Sequence[Path]) -> None:
    """Write the report. files: results to show; without any, those of the stack's last `mullion run` in this clone."""
    stack = stack_files.load(name)
    found = [results.read(file) for file in files] or list(results.of_folder(target.root() / "runs" / name, OF_RUN))
    known = known_of(stack)
    text = page.html(report_contents.contents(stack, known, predicted(stack, known), found))
    try:
        if output.exists() and not output.is_file():
            output.write_text(text, "utf-8")
        else:
            target.write(output.resolve(), text)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise Stop(Exit.USAGE, f"-o {output}: {error}; name a file that can be written") from error
    if known.unknown:
        print(f"mullion: the state of {name} is unknown: {known.unknown}", file=sys.stderr)
    there = "built" if known.built else "state unknown" if known.unknown else "not built"
    print(f"{name} ({there}): {output}, {len(text.encode()):,} bytes")


def known_of(stack: Stack) -> Known:
    """Return what is known of a stack beside its file. A state that cannot be read is unknown, and no error."""
    name, place = stack.name, target.recall(stack.name)
    if place is None and not has_backend():
        return Known("Not built", config=stack_files.config(name))
    sandbox = place is not None and place.name == target.SANDBOX
    config = sandbox_config(name) if sandbox else stack_files.config(name)
    where = "Built in the sandbox" if sandbox else f"In {place or 'the backend'}"
    try:
        deployment = clusters.in_sandbox(name) if sandbox else _exported(name)
        cluster = built.read(name, SANDBOX if sandbox else BACKEND, deployment)
    except (Stop, EngineError, SpecError, auto.CommandError) as error:
        if place is None and isinstance(error, Stop) and error.code is Exit.USAGE:
            return Known("Not built", config=config)
        return Known(where, unknown=faults.redacted(explained(error)[1]), config=config)
    if cluster is None:
        return Known("Not built", config=config)
    return Known(
        where,
        built=cluster,
        resources=list(deployment.get("resources") or []),
        records=machine_records.read(name),
        config=config,
    )


def _exported(name: str) -> Any:
    """Return the state of a stack in the backend, secrets encrypted. Raises Stop if it was never built."""
    print(f"mullion: reading the state of {name}", file=sys.stderr, flush=True)
    with kubeconfig.built(name) as run:
        return recovery.export(run)["deployment"]


def of_run(name: str, folder: Path) -> Callable[[str], str]:
    """Return a function that gives the page of a run: from the text of its result.json, and what is known now.

    folder: of the run, whose verify.xml is shown. The cluster may be gone when the function is called.
    """
    stack = stack_files.load(name)
    known = known_of(stack)
    known = replace(known, place=f"{known.place}, as it was before the run's end")
    verified = list(results.of_folder(folder, OF_RUN[1:]))
    forecast = predicted(stack, known)

    def text(result: str) -> str:
        found = [results.of_run(result, OF_RUN[0]), *verified]
        return page.html(report_contents.contents(stack, known, forecast, found))

    return text


def predicted(stack: Stack, known: Known) -> Prediction:
    """Return the predicted times of a stack's first build."""
    return report_times.predict(stack, plan_cluster(stack.name, stack.spec), known.config)
