"""Conformance cases: what the executors of both systems must do, as data (tests/conformance/cases/*.yaml).

A file maps names, which are sentences, to cases. Texts may begin with, or hold, placeholders that `placed` fills in:

    $root/a/b      a place in the case's own folder, with the system's separators
    $programs/x    the stand-in program x of the case
    $url/x $other/x        address of the served file x, by two host names
    $far/x $fartls/x       the same by a name that only the proxy knows, and that by https
    $tls/x         the same by https
    $sha256/x $sha512/x    its digest, as artifact steps write it
    $proxy $port   address of the proxy; port of the server (a number where it stands alone)
    $ca $ca/other  PEM of the authority that signed the https server's certificate, and of another
    $certificate/x         PEM of a node's certificate: good, over (its last day is past), other (another node's)
    $machine $instance     the machine's name and instance id

A step is written `{file: name, path: ...}`: its first key is the kind, the value its name and, where the kind has a
field of that name, that field too; or with `kind` and `name`, as it stands in plan.json.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, model_validator

from components.node.kinds import KINDS, Cut
from tests.conformance.state import Json, Program, Served, State, System

CASES = Path(__file__).with_name("cases")


class Run(BaseModel, extra="forbid", frozen=True):
    """One start of the executor, what happens to it, and how it must end."""

    before: State = State()
    """Changes to the machine before the run."""
    plan: list[dict[str, Json]]
    """Another plan from this run on."""
    changes: dict[str, Json] = {}
    """Other members of plan.json from this run on."""
    secrets: dict[str, str] = {}
    """Secrets that change before the run."""
    rebooted: bool = False
    """The machine was restarted before the run: a new boot, and what waits for one is done."""
    check: bool = False
    """It runs with --check (-Check)."""
    cut: str | None = None
    """Power goes at <step>/<cut point>; nothing more is expected of the run."""
    disk: Literal["full"] | None = None
    """Nothing can be written below $root (ENOSPC, ERROR_DISK_FULL)."""
    clock: int = 0
    """The wall clock jumps by so many seconds whenever a step is done, and in every wait. Where a machine's clock is
    its host's, it is the services' clock that is off by so much."""
    twice: bool = False
    """A second run is started while this one is in its first step that sets something; it must end with 106."""
    state: Literal["done", "reboot", "failed"] = "done"
    name: str | None = None
    """Name of the error."""
    at: str | None = None
    """Step that failed or asked for the restart."""
    says: list[str] = []
    """Texts that the result's message holds."""
    outcomes: dict[str, Literal["held", "set", "would-set"]] = {}
    all: Literal["held", "set", "would-set"] | None = None
    """Outcome of every step."""
    waits: list[int] | None = None
    """Seconds between tries, in order."""
    requests: dict[str, int] = {}
    """Served file -> requests of this run; `proxy` counts those through the proxy."""
    ranges: dict[str, int] = {}
    """Served file -> first byte that the last request asked for; 0: all."""
    together: int = 0
    """At least so many downloads were under way at the same time."""
    exit: int | None = None

    @property
    def steps(self) -> list[dict[str, Json]]:
        """All steps of its plan."""
        return [step for part in self.plan for step in part.get("steps", [part])]


class Case(BaseModel, extra="forbid", frozen=True):
    """One case. `plan` is a list of steps, one phase of scope node, or a list of phases."""

    name: str
    systems: list[System] = ["linux", "windows"]
    start: State = State()
    plan: list[dict[str, Json]]
    changes: dict[str, Json] = {}
    """Members of plan.json to change: format, os, egress, registration."""
    facts: dict[str, str] = {}
    secrets: dict[str, str] = {}
    served: dict[str, Served] = {}
    programs: dict[str, Program] = {}
    runs: list[Run]
    """By default: all steps are set, then all hold."""
    end: State = State()
    settle: int = 0
    """Seconds to wait before the machine is looked at."""
    lacks: list[str] = []
    """Texts in no log, output, result, argument or file but those named in `end.files`."""
    machine: bool = False
    """Also run on a booted machine, where the runner has one."""

    @property
    def steps(self) -> list[dict[str, Json]]:
        """All steps of all runs' plans."""
        return [step for run in self.runs for step in run.steps]

    @model_validator(mode="after")
    def _names_fit(self) -> "Case":
        """Steps that runs name exist, and cuts are those of the step's kind."""
        kinds = {step["name"]: step["kind"] for step in self.steps}
        for run in self.runs:
            unknown = {*run.outcomes, *([run.at] if run.at else [])} - kinds.keys()
            assert not unknown, f"{self.name}: no steps {unknown}"
            if run.cut:
                step, _, cut = run.cut.rpartition("/")
                assert Cut(cut) in KINDS[kinds[step]].cuts, f"{self.name}: {kinds[step]} has no cut {cut}"
        return self


OS: dict[System, str] = {"linux": "ubuntu-22.04", "windows": "windows-2019"}


def plan_document(case: Case, run: Run | None, system: System) -> dict[str, Json]:
    """plan.json of the case (or of the last run with a plan of its own), placeholders not filled in."""
    steps = (run.plan if run else None) or case.plan
    phases = steps if steps and "steps" in steps[0] else [{"name": "all", "scope": "node", "steps": steps}]
    taint = {"key": "os", "value": "x", "effect": "NoSchedule"}
    plan = {
        "format": 1,
        "role": "worker",
        "pool": "web",
        "os": OS[system],
        "registration": {"labels": "mullion.dev/pool=web", "taints": [taint]},
        "phases": phases,
    }
    return {**plan, **case.changes, **(run.changes if run else {})}


PLACEHOLDER = re.compile(
    r"\$(root|programs|url|other|far|fartls|tls|sha256|sha512|proxy|port|ca|certificate|machine|instance)\b(/[\w.+~/-]*)?"
)


def placed(document: Json, fill: Callable[[str, str], str]) -> Json:
    """The document with placeholders filled in: fill("root", "a/b") gives the place of $root/a/b."""
    if document == "$port":
        return int(fill("port", ""))
    if isinstance(document, str):
        return PLACEHOLDER.sub(lambda found: fill(found[1], (found[2] or "")[1:]), document)
    if isinstance(document, dict):
        return {placed(key, fill): placed(each, fill) for key, each in document.items()}
    return [placed(each, fill) for each in document] if isinstance(document, list) else document


_Loader: Any = type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
"""Refuses a name that stands twice in one mapping."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    pairs = [(loader.construct_object(key, deep=True), loader.construct_object(each, deep=True))
             for key, each in node.value]  # fmt: skip
    assert len(dict(pairs)) == len(pairs), f"{node.start_mark}: a name stands twice"
    return dict(pairs)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _named(step: dict[str, Json]) -> dict[str, Json]:
    """A step, or a phase of steps, as it stands in plan.json."""
    if "steps" in step:
        return {**step, "steps": [_named(each) for each in step["steps"]]}
    if "kind" in step:
        return step
    kind = next(iter(step))
    own = {kind: step[kind]} if kind in KINDS and kind in KINDS[kind].fields else {}
    return {"kind": kind, "name": step[kind], **own, **{key: each for key, each in step.items() if key != kind}}


def read(name: str, fields: dict[str, Json]) -> Case:
    """A case as files have it. A run's plan is that of the runs after it too."""
    plan, changes = [_named(each) for each in fields["plan"]], {}
    runs: list[dict[str, Json]] = []
    for run in fields.get("runs", [{"all": "set"}, {"all": "held"}]):
        plan = [_named(each) for each in run["plan"]] if "plan" in run else plan
        changes = {**changes, **run.get("changes", {})}
        runs.append({**run, "plan": plan, "changes": changes})
    return Case(**{**fields, "name": name, "plan": runs[0]["plan"], "runs": runs})


@cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of files and of their places there."""
    files = [yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader) for file in sorted(CASES.glob("*.yaml"))]
    return tuple(read(name, fields) for file in files for name, fields in file.items())
