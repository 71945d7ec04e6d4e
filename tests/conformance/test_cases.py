"""Tests of the conformance cases: valid plans, and every kind, cut point and error on each system."""

import http.client
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from components.node.kinds import KINDS, Cut
from components.node.plan_schema import schema
from tests.conformance.case import Case, Run, cases, placed, plan_document
from tests.conformance.contents import content
from tests.conformance.downloads import serving
from tests.conformance.judge import CODES
from tests.conformance.state import AREAS, State, System

FEWEST = 120
SYSTEMS: tuple[System, ...] = ("linux", "windows")
WRONG = {"step-invalid", "kind-not-implemented", "plan-format"}
"""Errors of cases whose plans the schema must also refuse."""
NOT_HERE = {
    "not-privileged": "tests/cloud_init: a case cannot be set up without these rights",
    "locked": "runs with `twice`: the second run ends with it",
    "step-timeout": "tests/cloud_init: a case cannot slow down a step that runs no program",
    "code-blocked": "tests/cloud_init/test_windows_blocked.py: the script files themselves are refused",
    "unexpected": "an executor that ends with it has a bug",
}
"""Errors that no case ends with, and where they are tested."""
ROOTS = {"linux": "/srv/case", "windows": r"C:\case"}


def _fill(system: System, kind: str, rest: str) -> str:
    """Return a value of the right form for a placeholder."""
    place = rest if system == "linux" else rest.replace("/", "\\")
    separator = "/" if system == "linux" else "\\"
    path = ROOTS[system] + separator + place
    digests = {"sha256": "sha256:" + 64 * "0", "sha512": "sha512:" + 128 * "0"}
    urls = dict.fromkeys(("url", "other", "far", "tls", "fartls", "proxy"), f"http://127.0.0.1/{rest}")
    return {"root": path, "programs": path, "state": path, "port": "80", **digests, **urls}.get(kind, kind)


def _plan(case: Case, run: Run, system: System) -> dict[str, Any]:
    plan = placed(plan_document(case, run, system), lambda kind, rest: _fill(system, kind, rest))
    return {**plan, "registration": {"taint_text": "", **plan["registration"]}}


def test_there_are_enough_cases_with_unique_names() -> None:
    names = Counter(case.name for case in cases())
    assert [name for name, count in names.items() if count > 1] == []
    for system in SYSTEMS:
        assert sum(system in case.systems for case in cases()) >= FEWEST, system


@pytest.mark.parametrize("system", SYSTEMS)
def test_plans_fit_the_schema_unless_the_case_is_about_a_wrong_plan(system: System) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    for case in cases():
        for run in (each for each in case.runs if system in case.systems):
            errors = [f"{each.json_path}: {each.message}" for each in validator.iter_errors(_plan(case, run, system))]
            unpublished = any(step.get("digest") == "unknown" for step in run.steps)  # can be planned but not run
            assert bool(errors) == (run.name in WRONG and not unpublished), f"{case.name}: {errors[:2]}"


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_cut_point_of_every_kind_is_cut_and_then_repaired_by_a_run(system: System) -> None:
    cut: set[tuple[str, Cut]] = set()
    for case in (each for each in cases() if system in each.systems):
        kinds = {step["name"]: step["kind"] for step in case.steps}
        cut |= {(kinds[run.cut.rpartition("/")[0]], Cut(run.cut.rpartition("/")[2])) for run in case.runs if run.cut}
        assert not case.runs[-1].cut, f"{case.name} ends with a cut"
    assert cut == {(name, each) for name, kind in KINDS.items() if system in kind.systems for each in kind.cuts}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_kind_is_set_and_held_and_refuses_wrong_fields(system: System) -> None:
    own = {name for name, kind in KINDS.items() if system in kind.systems}
    outcomes: dict[str, set[str]] = {"set": set(), "held": set(), "step-invalid": set()}
    for case in (each for each in cases() if system in each.systems):
        for run in case.runs:
            steps = {step["name"]: step["kind"] for step in run.steps}
            for name, kind in steps.items():
                outcome = run.outcomes.get(name, run.all)
                outcomes.setdefault(str(outcome), set()).add(kind)
            if run.name == "step-invalid" and run.at:
                outcomes["step-invalid"].add(steps[run.at])
    quiet = {"reboot", "probe", "build", "hypervisor"}
    assert own - outcomes["held"] == set()
    assert own - outcomes["set"] <= quiet, "only these kinds may set nothing"
    assert own - outcomes["step-invalid"] <= {"reboot", "swap", "firewall-profiles", "hypervisor"}, (
        "only these kinds may lack fields to refuse"
    )


def test_every_error_ends_a_case_or_is_tested_elsewhere() -> None:
    ends = {run.name for case in cases() for run in case.runs if run.name}
    assert ends | NOT_HERE.keys() == set(CODES)
    assert not ends & NOT_HERE.keys()


def test_areas_belong_to_the_systems_of_their_case() -> None:
    for case in cases():
        states: list[State] = [case.start, case.end, *(run.before for run in case.runs)]
        for area in {each for state in states for each in state.system}:
            assert set(case.systems) <= set(AREAS[area][0]), f"{case.name}: {area}"


def test_served_files_are_the_same_every_time() -> None:
    for case in cases():
        for name, served in case.served.items():
            assert content(served) == content(served), f"{case.name}: {name}"


def test_the_download_server_sends_each_fault_in_order_and_then_the_file() -> None:
    case = next(each for each in cases() if each.name.startswith("a download that fails with 500"))
    with serving() as downloads:
        downloads.serve(case.served, downloads.urls)
        connection = http.client.HTTPConnection(urlsplit(downloads.urls["url"]).netloc)
        answers: list[tuple[int, bytes]] = []
        for _ in range(3):
            connection.request("GET", "/a.bin")
            answer = connection.getresponse()
            answers.append((answer.status, answer.read()))
        connection.close()
        assert answers == [(500, b""), (500, b""), (200, b"good")]
        assert downloads.count("a.bin") == 3
