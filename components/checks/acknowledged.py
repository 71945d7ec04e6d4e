"""Acknowledgements: each names a warning and gives a reason."""

from collections.abc import Iterator, Sequence

from components.checks.check import Check, Finding, Subject, at, error
from components.spec.report import Severity
from components.spec.wording import nearest

ACCOUNT = "account-limits"
"""Acknowledges what `up` finds in the account before it builds: short limits, and services that are not enabled."""


def acknowledged_checks(rows: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks of `acknowledge`. rows: all other checks."""
    severities = {**{row.id: row.severity for row in rows}, ACCOUNT: Severity.WARNING}
    warnings = [slug for slug, severity in severities.items() if severity is Severity.WARNING]

    def unknown(subject: Subject) -> Iterator[Finding]:
        for slug in subject.spec.acknowledge:
            if slug not in severities:
                near = nearest(slug, warnings)
                yield at("acknowledge", slug, value=slug, fix=f"write {near}" if near else "remove it")

    def of_error(subject: Subject) -> Iterator[Finding]:
        for slug in subject.spec.acknowledge:
            if severities.get(slug) is Severity.ERROR:
                yield at("acknowledge", slug, value=slug)

    def empty(subject: Subject) -> Iterator[Finding]:
        for slug, reason in subject.spec.acknowledge.items():
            if slug in severities and not reason.strip():
                yield at("acknowledge", slug, value=slug)

    return (
        error(
            "acknowledge-unknown",
            "acknowledge",
            unknown,
            "no check has the id {value!r}",
            "{fix}; docs/checks.md lists all warnings",
        ),
        error(
            "acknowledge-error",
            "acknowledge",
            of_error,
            "{value} is an error; only warnings can be acknowledged",
            "remove it, and correct the error",
        ),
        error(
            "acknowledge-without-reason",
            "acknowledge",
            empty,
            "the reason for accepting {value} is empty",
            "write why you accept this warning",
        ),
    )
