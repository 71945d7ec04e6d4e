"""Conformance cases: the behaviour of the executors of both systems, as data (tests/conformance/cases/*.yaml).

A file maps names, which are sentences, to cases. Texts may contain placeholders, which `placed` fills in:

    $root/a/b      a path in the case's own folder, with the system's separators
    $programs/x    the stand-in program x of the case
    $url/x $other/x        address of the served file x, by two host names
    $far/x $fartls/x       address by http and https with a host name that only the proxy resolves
    $tls/x         address of the served file x by https
    $sha256/x $sha512/x    digest of the served file x, in the form of artifact steps
    $proxy $port   address of the proxy; port of the server (a number if it is the whole text)
    $ca $ca/other  PEM of the CA of the https server's certificate, and of another CA
    $certificate/x         PEM of a node's certificate: good, over (expired), other (another node's)
    $state/x       a path in the folder of the executor's state
    $machine $instance     the machine's name and instance id

A step is written `{file: name, path: ...}`: the first key is its kind, the value its name and, if the kind has a field
of that name, also that field; or with `kind` and `name`, as in plan.json.
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
    """One start of the executor, events during it, and its expected end."""

    before: State = State()
    """Changes to the machine before the run."""
    plan: list[dict[str, Json]]
    """A new plan from this run on."""
    changes: dict[str, Json] = {}
    """New members of plan.json from this run on."""
    secrets: dict[str, str] = {}
    """Secrets that change before the run."""
    rebooted: bool = False
    """The machine was restarted before the run: a new boot, and no restart is pending."""
    check: bool = False
    """The run has --check (-Check)."""
    cut: str | None = None
    """Power is cut at <step>/<cut point>; the run is checked for nothing else."""
    disk: Literal["full"] | None = None
    """No file below $root can be written (ENOSPC, ERROR_DISK_FULL)."""
    clock: int = 0
    """Seconds that the wall clock jumps whenever a step is done, and in every wait. If the machine has the host's
    clock, the clock of the cloud's services is off by these seconds instead."""
    twice: bool = False
    """A second run is started during the first step of this run that sets something; it must end with 106."""
    state: Literal["done", "reboot", "failed"] = "done"
    name: str | None = None
    """Name of the error."""
    at: str | None = None
    """Step that failed or asked for the restart."""
    says: list[str] = []
    """Texts in the result's message."""
    outcomes: dict[str, Literal["held", "set", "would-set"]] = {}
    all: Literal["held", "set", "would-set"] | None = None
    """Outcome of every step."""
    waits: list[int] | None = None
    """Seconds between tries, in order."""
    requests: dict[str, int] = {}
    """Served file -> requests of this run; `proxy` counts those through the proxy."""
    ranges: dict[str, int] = {}
    """Served file -> first byte of the last request's range; 0: the whole file."""
    together: int = 0
    """Lowest number of parallel downloads."""
    exit: int | None = None

    @property
    def steps(self) -> list[dict[str, Json]]:
        """Return all steps of the run's plan."""
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
    """By default two runs: the first sets all steps, the second finds that all hold."""
    end: State = State()
    settle: int = 0
    """Seconds to wait before the end state is read."""
    lacks: list[str] = []
    """Texts that must not appear in a log, output, result, argument or file, except files of `end.files`."""
    machine: bool = False
    """Also run on a booted machine if the runner has one."""

    @property
    def steps(self) -> list[dict[str, Json]]:
        """Return all steps of all runs' plans."""
        return [step for run in self.runs for step in run.steps]

    @model_validator(mode="after")
    def _names_fit(self) -> "Case":
        """Check that steps named in runs exist and that each cut is a cut point of its step's kind."""
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
    """Return plan.json of the case, with the run's own plan if it has one; placeholders are not filled in."""
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
    r"\$(root|state|programs|url|other|far|fartls|tls|sha256|sha512|proxy|port|ca|certificate|machine|instance)\b(/[\w.+~/-]*)?"
)


def placed(document: Json, fill: Callable[[str, str], str]) -> Json:
    """Return the document with placeholders filled in: fill("root", "a/b") returns the path of $root/a/b."""
    if document == "$port":
        return int(fill("port", ""))
    if isinstance(document, str):
        return PLACEHOLDER.sub(lambda found: fill(found[1], (found[2] or "")[1:]), document)
    if isinstance(document, dict):
        return {placed(key, fill): placed(each, fill) for key, each in document.items()}
    return [placed(each, fill) for each in document] if isinstance(document, list) else document


_Loader: Any = type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
"""YAML loader that refuses a key that stands twice in one mapping."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    pairs = [(loader.construct_object(key, deep=True), loader.construct_object(each, deep=True))
             for key, each in node.value]  # fmt: skip
    assert len(dict(pairs)) == len(pairs), f"{node.start_mark}: duplicate name"
    return dict(pairs)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _named(step: dict[str, Json]) -> dict[str, Json]:
    """Return a step, or a phase of steps, in the form of plan.json."""
    if "steps" in step:
        return {**step, "steps": [_named(each) for each in step["steps"]]}
    if "kind" in step:
        return step
    kind = next(iter(step))
    own = {kind: step[kind]} if kind in KINDS and kind in KINDS[kind].fields else {}
    return {"kind": kind, "name": step[kind], **own, **{key: each for key, each in step.items() if key != kind}}


def read(name: str, fields: dict[str, Json]) -> Case:
    """Return a case from its fields in the file. A run's plan also applies to later runs."""
    plan, changes = [_named(each) for each in fields["plan"]], {}
    runs: list[dict[str, Json]] = []
    for run in fields.get("runs", [{"all": "set"}, {"all": "held"}]):
        plan = [_named(each) for each in run["plan"]] if "plan" in run else plan
        changes = {**changes, **run.get("changes", {})}
        runs.append({**run, "plan": plan, "changes": changes})
    return Case(**{**fields, "name": name, "plan": runs[0]["plan"], "runs": runs})


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases in the order of the files and within them."""
    files = [yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader) for file in sorted(CASES.glob("*.yaml"))]
    return tuple(read(name, fields) for file in files for name, fields in file.items())
