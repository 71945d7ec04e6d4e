"""Acknowledgements must name a warning and give a reason."""

from collections.abc import Iterator, Sequence

from components.checks.check import Check, Finding, Subject, at, error
from components.spec.report import Severity
from components.spec.wording import nearest


def acknowledged_checks(rows: Sequence[Check]) -> tuple[Check, ...]:
    """The checks of `acknowledge`, which need to know all others."""
    severities = {row.id: row.severity for row in rows}
    warnings = [slug for slug, severity in severities.items() if severity is Severity.WARNING]

    def unknown(subject: Subject) -> Iterator[Finding]:
        for each in subject.spec.acknowledge:
            if each not in severities:
                near = nearest(each, warnings)
                yield at("acknowledge", each, value=each, fix=f"write {near}" if near else "remove it")

    def of_error(subject: Subject) -> Iterator[Finding]:
        for each in subject.spec.acknowledge:
            if severities.get(each) is Severity.ERROR:
                yield at("acknowledge", each, value=each)

    def empty(subject: Subject) -> Iterator[Finding]:
        for each, reason in subject.spec.acknowledge.items():
            if each in severities and not reason.strip():
                yield at("acknowledge", each, value=each)

    return (
        error(
            "acknowledge-unknown",
            "acknowledge",
            unknown,
            "{value!r} is the id of no check",
            "{fix}; docs/checks.md lists the warnings",
        ),
        error(
            "acknowledge-error",
            "acknowledge",
            of_error,
            "{value} is an error, which cannot be acknowledged",
            "remove it and correct what the error names",
        ),
        error(
            "acknowledge-without-reason",
            "acknowledge",
            empty,
            "no reason is given for accepting {value}",
            "write why the warning is accepted here",
        ),
    )
