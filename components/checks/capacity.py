"""Licences of Windows."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error
from components.spec.models import Cloud, Licence

_OWN = {
    Cloud.AWS: "AWS bills Windows with every shared instance; a licence of yours needs Dedicated Hosts and an image"
    " that you import",
    Cloud.GCP: "Google Cloud bills Windows with every shared machine; a licence of yours needs sole-tenant nodes and"
    " an image that you import",
}
"""Why a pool cannot have the user's licence, by cloud (AWS, "Microsoft licensing on AWS", "Bring your own licenses";
Compute Engine, "Bring your own licenses")."""


def _own_elsewhere(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if pool.licence is Licence.OWN and pool.os.is_windows and subject.spec.cloud in _OWN:
            yield at("pools", name, "licence", why=_OWN[subject.spec.cloud])


def _own_on_linux(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if pool.licence is Licence.OWN and not pool.os.is_windows:
            yield at("pools", name, "licence", value=pool.os.value)


CHECKS = (
    error(
        "licence-of-the-cloud",
        "pools.<pool>.licence pools.<pool>.os cloud",
        _own_elsewhere,
        "{why}, and Mullion builds neither",
        "write licence: included, or build the pool on Azure",
        "OS-10",
    ),
    error(
        "licence-without-windows",
        "pools.<pool>.licence pools.<pool>.os",
        _own_on_linux,
        "the licence is that of Windows, but the pool runs {value}",
        "remove licence",
        "OS-10",
    ),
)
