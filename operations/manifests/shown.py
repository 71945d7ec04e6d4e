"""What the linter found, as text, JSON, SARIF 2.1.0 or JUnit XML."""

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from components.lint import RULES, Level
from components.lint.documents import dotted
from components.lint.judge import Finding, Verdict
from components.rollout.plain_text import plain
from components.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
"""Address of the published schema of SARIF 2.1.0."""


def as_text(verdict: Verdict, objects: int) -> str:
    """Return the findings, one paragraph each, and the counts."""
    parts = [_paragraph(each) for each in verdict.findings]
    counts = [f"{_count(verdict, level)} {level.value}s" for level in Level]
    return "\n".join([*parts, f"{objects} objects: {', '.join(counts)}, {len(verdict.ignored)} ignored"])


def as_json(verdict: Verdict, objects: int) -> str:
    """Return {objects, ignored, findings: [...]}."""
    document = {
        "objects": objects,
        "ignored": len(verdict.ignored),
        "findings": [_fields(each) for each in verdict.findings],
    }
    return json.dumps(document, indent=2)


def as_sarif(verdict: Verdict, _objects: int) -> str:
    """Return a SARIF 2.1.0 log with one run; ignored findings are in it as suppressed."""
    results = [_result(each, suppressed=False) for each in verdict.findings]
    results += [_result(each, suppressed=True) for each in verdict.ignored]
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.what},
            "fullDescription": {"text": rule.why},
            "help": {"text": f"{rule.fix}. Source: {rule.source}"},
            "helpUri": rule.source,
            "defaultConfiguration": {"level": rule.level.value},
            "properties": {"tags": rule.requirements.split()},
        }
        for rule in RULES
    ]
    driver = {"name": "mullion lint", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def as_junit(verdict: Verdict, objects: int) -> str:
    """Return JUnit XML: a test case for each finding; errors fail, the rest and ignored findings are skipped."""
    failing = [each for each in verdict.findings if each.rule.level is Level.ERROR]
    rest = [each for each in verdict.findings if each.rule.level is not Level.ERROR]
    total = len(failing) + len(rest) + len(verdict.ignored) or 1
    counts = {"tests": total, "failures": len(failing), "skipped": len(rest) + len(verdict.ignored)}
    suite = ElementTree.Element(
        "testsuite", {"name": "mullion lint", **{key: str(count) for key, count in counts.items()}}
    )
    if not failing and not rest and not verdict.ignored:
        ElementTree.SubElement(suite, "testcase", classname="mullion lint", name=f"{objects} objects")
    cases = [("failure", each, each.rule.level.value) for each in failing]
    cases += [("skipped", each, each.rule.level.value) for each in rest]
    cases += [("skipped", each, "ignored") for each in verdict.ignored]
    for name, finding, level in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=finding.rule.id, name=plain(_where(finding)))
        ElementTree.SubElement(case, name, message=f"{level}: {finding.rule.what}; {finding.rule.fix}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


FORMATS: dict[str, Callable[[Verdict, int], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "junit": as_junit,
}


def _paragraph(finding: Finding) -> str:
    rule = finding.rule
    return (
        f"{plain(_where(finding))}\n"
        f"  {rule.level.value} [{rule.id}] {rule.what}. {rule.why}\n"
        f"  Fix: {rule.fix}.\n"
        f"  {rule.requirements}, {rule.source}\n"
    )


def _where(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    item = finding.object
    return f"{item.file}{line}: {item.kind}/{item.name} (document {item.document}): {dotted(finding.place)}"


def _fields(finding: Finding) -> dict[str, Any]:
    rule, item = finding.rule, finding.object
    return {
        "id": rule.id,
        "level": rule.level.value,
        "file": item.file,
        "line": finding.line,
        "document": item.document,
        "kind": item.kind,
        "namespace": item.namespace,
        "name": item.name,
        "path": dotted(finding.place),
        "what": rule.what,
        "why": rule.why,
        "fix": rule.fix,
        "requirements": rule.requirements.split(),
        "source": rule.source,
    }


def _result(finding: Finding, *, suppressed: bool) -> dict[str, Any]:
    rule, item = finding.rule, finding.object
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(item.file)}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    path = dotted(finding.place)
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "ruleIndex": RULES.index(rule),
        "level": rule.level.value,
        "message": {"text": f"{item.kind}/{item.name}: {path}: {rule.what}. Fix: {rule.fix}."},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": path}]}],
    }
    return result | ({"suppressions": [{"kind": "external"}]} if suppressed else {})


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/"))


def _count(verdict: Verdict, level: Level) -> int:
    return sum(each.rule.level is level for each in verdict.findings)
