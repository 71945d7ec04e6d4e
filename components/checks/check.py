"""Checks: a rule over a spec, with the texts of the problem that it finds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from components import releases
from components.naming import CONTROL_PLANE, machine_name
from components.spec.models import ClusterSpec, MachineOptions, OperatingSystem, Pool, Runtime
from components.spec.report import Problem, Severity

Path = tuple[str, ...]
"""Keys from the top of the spec to an option; items of lists by their index."""


KUBELET_MAX_PODS = 110
"""Pods per control-plane node: the kubelet's default (KubeletConfiguration maxPods)."""


@dataclass(frozen=True)
class MachineGroupSpec:
    """Options of the control plane or of one pool, with its name and its path in the spec."""

    name: str
    path: Path
    options: MachineOptions

    @property
    def os(self) -> OperatingSystem:
        """Operating system of the machines."""
        return self.options.os

    @property
    def count(self) -> int:
        """Number of machines."""
        return self.options.count

    @property
    def runtime(self) -> Runtime:
        """Container runtime; containerd on the control plane."""
        return self.options.runtime if isinstance(self.options, Pool) else Runtime.CONTAINERD

    @property
    def max_pods(self) -> int:
        """Pods per node."""
        return self.options.max_pods if isinstance(self.options, Pool) else KUBELET_MAX_PODS

    @property
    def machines(self) -> list[str]:
        """Machine names: the group's name and a number from 0."""
        return [machine_name(self.name, index) for index in range(self.count)]


@dataclass(frozen=True)
class Subject:
    """A complete spec to check, with the stack's name and region."""

    name: str
    region: str
    spec: ClusterSpec

    @cached_property
    def groups(self) -> tuple[MachineGroupSpec, ...]:
        """The control plane, then the pools in their order."""
        return (MachineGroupSpec(CONTROL_PLANE, ("control_plane",), self.spec.control_plane), *self.workers)

    @cached_property
    def workers(self) -> tuple[MachineGroupSpec, ...]:
        """The pools in their order."""
        return tuple(MachineGroupSpec(name, ("pools", name), pool) for name, pool in self.spec.pools.items())

    @property
    def minor(self) -> str:
        """Kubernetes minor, e.g. 1.32."""
        return releases.minor(self.spec.kubernetes)


@dataclass(frozen=True)
class Finding:
    """A place in the spec where a check fails, with the values for the check's texts."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict[str, Any])


def at(*path: object, **values: object) -> Finding:
    """Return a finding at a path, given key by key."""
    return Finding(tuple(str(each) for each in path), values)


Rule = Callable[[Subject], Iterable[Finding]]
"""A pure function from the spec to the places where it fails."""


@dataclass(frozen=True)
class Check:
    """One check, a row of a table.

    reads: paths that the rule depends on; the check says nothing where one of them is broken. `*` is any key.
    `<pool>` is the pool of a finding, `<machines>` its pool or the control plane, so a broken pool silences only
    findings about itself. `<key>` matches no key, so only broken parts above it count.
    wrong, fix: templates, filled in with the finding's values.
    """

    id: str
    severity: Severity
    reads: tuple[str, ...]
    rule: Rule
    wrong: str
    fix: str
    requirements: tuple[str, ...] = ()

    def problems(self, subject: Subject, broken: frozenset[Path]) -> Iterator[Problem]:
        """Yield the problems that the check finds, except where a part that it reads is broken."""
        for finding in self.rule(subject):
            if not any(_touches(read, finding.path, part) for read in self.reads for part in broken):
                path = ".".join(finding.path)
                wrong, fix = self.wrong.format(**finding.values), self.fix.format(**finding.values)
                yield Problem(self.id, path, self.severity, wrong, fix)


@dataclass(frozen=True)
class Row:
    """Writes checks of one severity as rows of a table."""

    severity: Severity

    def __call__(self, slug: str, reads: str, rule: Rule, wrong: str, fix: str, requirements: str = "") -> Check:
        """Return a check. reads, requirements: separated by spaces."""
        return Check(slug, self.severity, tuple(reads.split()), rule, wrong, fix, tuple(requirements.split()))


error = Row(Severity.ERROR)
"""A check that stops everything."""
warning = Row(Severity.WARNING)
"""A check that can be acknowledged."""


def _touches(read: str, place: Path, part: Path) -> bool:
    """Return whether a path that a check reads and a broken part are the same, or one lies below the other."""
    if read.startswith("<machines>"):
        group = place[:1] if place[0] == "control_plane" else place[:2]
        read_path = (*group, *read.split(".")[1:])
    else:
        read_path = tuple(place[1] if key == "<pool>" else key for key in read.split("."))
    return all(mine in ("*", theirs) for mine, theirs in zip(read_path, part, strict=False))
