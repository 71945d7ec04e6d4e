"""Verdicts on the answers, and their output: a table, a matrix, JSON, JUnit XML."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from xml.etree import ElementTree

from components.rollout.plain_text import plain
from operations.console.table import table
from operations.verification.questions import Place, Question


class Verdict(str, Enum):
    """Verdict of a row."""

    PASSED = "passed"
    FAILED = "failed"
    LIMIT = "known limit"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Row:
    """One result: check, place, subject, verdict, and the answer or reason."""

    check: str
    where: str
    what: str
    verdict: Verdict
    said: str = ""
    system: str = ""
    """Operating system of the place; empty for a row about the cluster."""
    column: str = ""


TITLES = {
    "SMK-01": "Deployments of web servers",
    "SMK-02": "nodes Ready, system pods Running",
    "SMK-03": "web servers Ready, with one sandbox and one container each",
    "SMK-04": "node to pod",
    "SMK-05": "pod to pod: ping and TCP",
    "SMK-06": "Service (cluster IP) to pod",
    "SMK-07": "DNS: full names of Services",
    "SMK-08": "NodePort",
    "SMK-09": "egress, by name and by address",
    "SMK-10": "pod to node, short names of Services, UDP",
    "SMK-11": "from a Windows node itself",
    "SMK-12": "volumes, ConfigMaps, Secrets, probes, hooks",
    "SMK-13": "controllers: ReplicaSet, DaemonSet, Job, ...",
    "SMK-14": "stats/summary, exec, port-forward, ResourceQuota",
    "SMK-15": "Kubernetes' own suite for Windows",
    "SEC-03": "gMSA: pods without the right are refused",
    "metadata": "metadata service: closed to pods, open to nodes",
    "packet-size": "256 KiB between nodes arrive whole (MTU)",
}
"""Checks in the order of the table."""


def judged(place: Place, question: Question, answer: tuple[bool, str] | None) -> Row:
    """Return the row of one answer; None: the pod gave none."""
    opened, text = answer or (False, "no answer")
    right = answer is not None and opened is question.opens
    verdict = Verdict.PASSED if right else Verdict.LIMIT if question.limit else Verdict.FAILED
    note = text if right or not question.limit else f"{question.limit} ({text})"
    words = question.title or question.words.removesuffix(" once")
    what = words if question.opens or question.title else f"closed: {words}"
    return Row(question.check, place.name, what, verdict, note, place.node.os, question.column)


def failed(rows: Iterable[Row]) -> list[Row]:
    """Return the failed rows."""
    return [row for row in rows if row.verdict is Verdict.FAILED]


def shown(rows: list[Row]) -> str:
    """Return a table of the checks, a table of the rows that did not pass, and the matrix."""
    lines: list[tuple[str, str, str, str]] = []
    for check, title in TITLES.items():
        of_check = [row for row in rows if row.check == check]
        counts = [(sum(row.verdict is verdict for row in of_check), verdict.value) for verdict in Verdict]
        text = ", ".join(f"{count} {verdict}" for count, verdict in counts if count)
        lines.append((check, title, _worst(of_check).value, text))
    parts = [table(("check", "description", "status", "results"), lines)]
    notes = [row for row in rows if row.verdict is not Verdict.PASSED]
    if notes:
        reasons = [(row.check, row.verdict.value, row.where, row.what, row.said) for row in notes]
        parts.append(table(("check", "status", "from", "target", "reason"), reasons))
    return "\n\n".join([*parts, matrix(rows)])


def matrix(rows: list[Row]) -> str:
    """Return a table of what pods and nodes of each operating system reach."""
    columns = list(dict.fromkeys(row.column for row in rows if row.column))
    systems = list(dict.fromkeys(row.system for row in rows if row.system))
    cells = [
        (
            system,
            *(
                _worst([row for row in rows if (row.system, row.column) == (system, column)]).value
                for column in columns
            ),
        )
        for system in systems
    ]
    return table(("from", *columns), cells) if cells else ""


def _worst(rows: list[Row]) -> Verdict:
    order = (Verdict.FAILED, Verdict.PASSED, Verdict.LIMIT, Verdict.NOT_COVERED)
    return next((verdict for verdict in order if any(row.verdict is verdict for row in rows)), Verdict.NOT_COVERED)


def as_json(rows: list[Row]) -> str:
    """Return every row as JSON, and the number of failed ones."""
    return json.dumps({"failed": len(failed(rows)), "rows": [asdict(row) for row in rows]}, indent=2)


def as_junit(stack: str, rows: list[Row]) -> str:
    """Return JUnit XML: a test case for each row; known limits and rows not covered are skipped."""
    skipped = [row for row in rows if row.verdict in (Verdict.LIMIT, Verdict.NOT_COVERED)]
    counts = {"tests": len(rows), "failures": len(failed(rows)), "skipped": len(skipped)}
    suite = ElementTree.Element(
        "testsuite", {"name": f"mullion verify {stack}", **{key: str(count) for key, count in counts.items()}}
    )
    for row in rows:
        case = ElementTree.SubElement(suite, "testcase", classname=row.check, name=plain(f"{row.where}: {row.what}"))
        if row.verdict is Verdict.FAILED:
            ElementTree.SubElement(case, "failure", message=plain(row.said))
        elif row in skipped:
            ElementTree.SubElement(case, "skipped", message=plain(f"{row.verdict.value}: {row.said}"))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
