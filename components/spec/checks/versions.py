"""Kubernetes, Windows and runtime versions, one against the other."""

from collections.abc import Iterator

from components import artifacts, releases
from components.spec.checks.check import Finding, Rule, Subject, at, error, warning

FIGURES_OF = "2026-11-21"
"""The day of the tables in releases; a release whose support ended before it warns. No clock: plans are repeatable."""

FIRST_MINOR = {"windows-2022": "1.23", "windows-2025": "1.33"}
"""OS-01: first Kubernetes minor that supports the Windows release."""


def order(version: str) -> tuple[int, ...]:
    """Versions as they follow each other: 1.9 before 1.10."""
    return tuple(int(part) for part in version.split("."))


def supported(subject: Subject) -> bool:
    """Whether the tables have the cluster's Kubernetes minor."""
    return subject.minor in releases.supported_minors()


def _unsupported(newer: bool) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        minors = releases.supported_minors()
        outside = order(subject.minor) > order(minors[-1]) if newer else order(subject.minor) < order(minors[0])
        if outside:
            yield at("kubernetes", value=subject.spec.kubernetes, first=minors[0], last=minors[-1])

    return rule


def _patch(subject: Subject) -> Iterator[Finding]:
    known, minors = artifacts.versions("kubernetes-node"), releases.supported_minors()
    within = order(minors[0]) <= order(subject.minor) <= order(minors[-1])
    if within and subject.spec.kubernetes not in known:
        same = [each for each in known if releases.minor(each) == subject.minor]
        patches = ", ".join(sorted(same, key=order)) or "another minor"
        yield at("kubernetes", value=subject.spec.kubernetes, patches=patches)


def _end_of_life(subject: Subject) -> Iterator[Finding]:
    if supported(subject) and (end := releases.release(subject.minor).end_of_life) < FIGURES_OF:
        minors = [each for each in releases.supported_minors() if releases.release(each).end_of_life >= FIGURES_OF]
        yield at("kubernetes", minor=subject.minor, end=end, minors=", ".join(minors))


def _windows_early(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        first = FIRST_MINOR.get(group.os.value)
        if first and order(subject.minor) < order(first):
            yield at(*group.path, "os", os=group.os.value, minor=subject.minor, first=first)


def _windows_late(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        last = releases.windows(group.os.value).last_upstream if group.os.is_windows else None
        if last and order(subject.minor) > order(last):
            yield at(*group.path, "os", os=group.os.value, minor=subject.minor, last=last)


def _dsr_2019(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.kube_proxy.dsr and group.os.value == "windows-2019":
            yield at(*group.path, "kube_proxy", "dsr")


def _linux_dsr(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        if group.kube_proxy.dsr and not group.os.is_windows:
            yield at(*group.path, "kube_proxy", "dsr")


CHECKS = (
    error(
        "kubernetes-too-old",
        "kubernetes",
        _unsupported(newer=False),
        "Mullion builds Kubernetes {first} to {last}, not {value}",
        "write a version of {first} or newer",
        "OS-01 RUN-01",
    ),
    error(
        "kubernetes-too-new",
        "kubernetes",
        _unsupported(newer=True),
        "Mullion builds Kubernetes {first} to {last}, not {value}: its flags and fields are not known yet",
        "write a version of {last} or older",
        "SRV-13",
    ),
    error(
        "kubernetes-patch",
        "kubernetes",
        _patch,
        "no download with a known digest exists for {value}",
        "write one of {patches}",
        "SRV-02",
    ),
    warning(
        "kubernetes-end-of-life",
        "kubernetes",
        _end_of_life,
        "Kubernetes {minor} got its last security fix by {end}",
        "move to {minors}, one minor at a time",
    ),
    error(
        "windows-before-kubernetes",
        "kubernetes pools.<pool>.os",
        _windows_early,
        "Kubernetes {minor} does not support {os}; the first that does is {first}",
        "write windows-2019 or windows-2022, or a newer Kubernetes",
        "OS-01",
    ),
    warning(
        "windows-2019-late",
        "kubernetes pools.<pool>.os",
        _windows_late,
        "Kubernetes stopped testing {os} after {last}; {minor} may fail on it",
        "write windows-2022 and rebuild images on ltsc2022",
        "OS-03",
    ),
    warning(
        "dsr-on-windows-2019",
        "pools.<pool>.kube_proxy.dsr pools.<pool>.os",
        _dsr_2019,
        "direct server return works on Windows Server 2019 only with updates from KB4580390 on",
        "use a current image, or write dsr: false",
        "SVC-03",
    ),
    error(
        "dsr-on-linux",
        "<machines>.kube_proxy.dsr <machines>.os",
        _linux_dsr,
        "direct server return is a setting of Windows nodes",
        "remove it",
        "SVC-03",
    ),
)
