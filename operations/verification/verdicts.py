"""What came of the questions, and how it is shown: a table, a matrix, JSON, JUnit."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from xml.etree import ElementTree

from operations.console.table import table
from operations.verification.questions import Place, Question


class Verdict(str, Enum):
    """Of one row."""

    PASSED = "passed"
    FAILED = "failed"
    LIMIT = "known limit"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Row:
    """One thing that was looked at."""

    check: str
    where: str
    what: str
    verdict: Verdict
    said: str = ""
    system: str = ""
    """linux or windows, of the place; empty where the row is about the cluster."""
    column: str = ""


TITLES = {
    "SMK-01": "the web servers' Deployments",
    "SMK-02": "all nodes are Ready, system pods run",
    "SMK-03": "the web servers are Ready, each a sandbox and a container",
    "SMK-04": "node to pod",
    "SMK-05": "pod to pod, ping and TCP",
    "SMK-06": "service to pod",
    "SMK-07": "discovery by the full name",
    "SMK-08": "inbound: NodePort",
    "SMK-09": "outbound, by name and by address",
    "SMK-10": "pod to node, Service by its short name, UDP",
    "SMK-11": "from a Windows node itself",
    "SMK-12": "volumes, settings, probes and hooks of pods",
    "SMK-13": "controllers reach their end state",
    "SMK-14": "summaries, exec, port-forward, quotas",
    "SMK-15": "the upstream suite for Windows",
    "metadata": "the metadata service: closed to pods, open to nodes",
    "packet-size": "large answers between nodes arrive whole",
}
"""Checks in the order in which they are shown."""


def judged(place: Place, question: Question, answer: tuple[bool, str] | None) -> Row:
    """The verdict on one answer; None: there was none."""
    opened, said = answer or (False, "no answer")
    right = answer is not None and opened is question.opens
    verdict = Verdict.PASSED if right else Verdict.LIMIT if question.limit else Verdict.FAILED
    note = said if right or not question.limit else f"{question.limit} ({said})"
    words = question.title or question.words.removesuffix(" once")
    what = words if question.opens or question.title else f"closed: {words}"
    return Row(question.check, place.name, what, verdict, note, place.node.os, question.column)


def failed(rows: Iterable[Row]) -> list[Row]:
    """Those that failed."""
    return [row for row in rows if row.verdict is Verdict.FAILED]


def shown(rows: list[Row]) -> str:
    """A line for each check, every row that did not pass, and the matrix."""
    lines: list[tuple[str, str, str, str]] = []
    for check, title in TITLES.items():
        mine = [row for row in rows if row.check == check]
        counts = ", ".join(
            f"{count} {each.value}" for each in Verdict if (count := sum(row.verdict is each for row in mine))
        )
        lines.append((check, title, _worst(mine).value, counts))
    parts = [table(("check", "what", "verdict", "rows"), lines)]
    notes = [row for row in rows if row.verdict is not Verdict.PASSED]
    if notes:
        said = [(row.check, row.verdict.value, row.where, row.what, row.said) for row in notes]
        parts.append(table(("check", "verdict", "from", "to", "because"), said))
    return "\n\n".join([*parts, matrix(rows)])


def matrix(rows: list[Row]) -> str:
    """Of each system: what its pods and nodes reach."""
    columns = list(dict.fromkeys(row.column for row in rows if row.column))
    systems = list(dict.fromkeys(row.system for row in rows if row.system))
    cells = [
        (
            system,
            *(_worst([row for row in rows if (row.system, row.column) == (system, each)]).value for each in columns),
        )
        for system in systems
    ]
    return table(("from", *columns), cells) if cells else ""


def _worst(rows: list[Row]) -> Verdict:
    order = (Verdict.FAILED, Verdict.PASSED, Verdict.LIMIT, Verdict.NOT_COVERED)
    return next((each for each in order if any(row.verdict is each for row in rows)), Verdict.NOT_COVERED)


def as_json(rows: list[Row]) -> str:
    """Every row."""
    return json.dumps({"failed": len(failed(rows)), "rows": [asdict(row) for row in rows]}, indent=2)


def as_junit(stack: str, rows: list[Row]) -> str:
    """JUnit's XML: a test case for each row; known limits and what is not covered are skipped."""
    skipped = [row for row in rows if row.verdict in (Verdict.LIMIT, Verdict.NOT_COVERED)]
    counts = {"tests": len(rows), "failures": len(failed(rows)), "skipped": len(skipped)}
    suite = ElementTree.Element(
        "testsuite", {"name": f"mullion verify {stack}", **{key: str(each) for key, each in counts.items()}}
    )
    for row in rows:
        case = ElementTree.SubElement(suite, "testcase", classname=row.check, name=f"{row.where}: {row.what}")
        if row.verdict is Verdict.FAILED:
            ElementTree.SubElement(case, "failure", message=row.said)
        elif row in skipped:
            ElementTree.SubElement(case, "skipped", message=f"{row.verdict.value}: {row.said}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
