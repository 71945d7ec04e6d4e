"""The times of the HTML report: predicted for a first build, measured by the state and by `mullion run`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.plan import ClusterPlan
from components.stack_files.stack import Stack
from operations.commands import forecast
from operations.engine.clusters import SANDBOX
from operations.engine.progress import duration
from operations.html_report.built import Known
from operations.html_report.results import Results
from operations.recorder.recorder import record

PREDICTED, MEASURED = "predicted", "measured"


@dataclass(frozen=True)
class Bar:
    """A bar of the time line: seconds from the start of `up`. kind: predicted or measured."""

    what: str
    kind: str
    start: float
    end: float


@dataclass(frozen=True)
class Prediction:
    """The predicted times of a first build. critical_path: as `forecast.critical_path` returns it.

    unknown: why there is no prediction; the program refused the stack.
    """

    sentence: str = ""
    bars: tuple[Bar, ...] = ()
    critical_path: tuple[tuple[str, str, str, str], ...] = ()
    unknown: str = ""


def predict(stack: Stack, planned: ClusterPlan, config: Mapping[str, Any]) -> Prediction:
    """Return the prediction, from a run of the program without an engine. config: plain values by full key."""
    recording = record(stack.name, config, preview=True)
    if recording.errors:
        return Prediction(unknown="; ".join(recording.errors))
    waits = forecast.waits_of(recording)
    times, path = forecast.first_build(planned, waits)
    ends = (("Resources created", times.created), ("API answers", times.api), ("All nodes Ready", times.ready))
    return Prediction(
        f"{times.sentence(stack.spec.cloud.value)}.",
        tuple(Bar(what, PREDICTED, 0, end) for what, end in ends if end is not None),
        tuple(forecast.critical_path(path, {urn: type_ for urn, _, type_ in waits})),
    )


def values(prediction: Prediction, known: Known, results: Sequence[Results]) -> dict[str, Any]:
    """Return the prediction, the bars of what was predicted and measured, and the measures in words."""
    bars = [*prediction.bars, *_measured(known, results)]
    return {
        "forecast": prediction,
        "bars": bars,
        "longest": max((bar.end for bar in bars), default=0) or 1,
        "measured": _words(known, results),
    }


def _measured(known: Known, results: Sequence[Results]) -> Iterator[Bar]:
    """Yield the bars of the state, and of the phases of the last run, one after the other."""
    if known.built and known.built.seconds is not None:
        yield Bar("Resources in the state", MEASURED, 0, known.built.seconds)
    runs = [each for each in results if each.run]
    clock = 0.0
    for row in runs[-1].rows if runs else ():
        if row.seconds and row.verdict != "skipped":
            yield Bar(f"Phase {row.what}", MEASURED, clock, clock + row.seconds)
            clock += row.seconds


def _words(known: Known, results: Sequence[Results]) -> str:
    built = known.built
    parts = list[str]()
    if built and built.seconds is not None:
        parts.append(
            f"Measured by the state: the last resource was created {duration(built.seconds)} after the cluster; "
            "later changes count too."
        )
        if built.facts.place == SANDBOX:
            parts.append("The sandbox answers faster than a cloud.")
    if any(each.run for each in results):
        parts.append("Phases are those of mullion run.")
    return " ".join(parts) or "Nothing was measured yet: there is no state, and no results of a run were given."
