"""The form of a check, and what its rule sees."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from components import releases
from components.naming import CONTROL_PLANE, machine_name
from components.spec.models import ClusterSpec, ControlPlane, OperatingSystem, Pool, Runtime
from components.spec.report import Problem, Severity

Path = tuple[str, ...]
"""Where something stands in the spec, key by key; list items by their number."""


KUBELET_MAX_PODS = 110
"""Pods per control-plane node: the kubelet's default (KubeletConfiguration maxPods)."""


@dataclass(frozen=True)
class MachineGroupSpec:
    """Options of the control plane or of one pool, with its name and its path in the spec."""

    name: str
    path: Path
    options: ControlPlane | Pool

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
    """One place where a check fails, and the values its texts need."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict[str, Any])


def at(*path: object, **values: object) -> Finding:
    """A finding at a path, given key by key."""
    return Finding(tuple(str(each) for each in path), values)


Rule = Callable[[Subject], Iterable[Finding]]
"""A pure function from what is looked at to where it fails."""


@dataclass(frozen=True)
class Check:
    """One row of a table.

    `reads`: paths the rule depends on. `*` is any key, so a broken part anywhere under it silences the
    check; `<pool>` and `<machines>` are the pool (or the control plane) that a finding is about, so a
    broken pool silences only findings about itself; `<key>` stands for no key at all, so that only what is above
    it matters. `wrong` and `fix` are templates over the finding's values.
    """

    id: str
    severity: Severity
    reads: tuple[str, ...]
    rule: Rule
    wrong: str
    fix: str
    requirements: tuple[str, ...] = ()

    def problems(self, subject: Subject, broken: frozenset[Path]) -> Iterator[Problem]:
        """What the check finds, without findings that rest on a broken part."""
        for found in self.rule(subject):
            if not any(_touches(read, found.path, part) for read in self.reads for part in broken):
                path = ".".join(found.path)
                wrong, fix = self.wrong.format(**found.values), self.fix.format(**found.values)
                yield Problem(self.id, path, self.severity, wrong, fix)


def error(
    slug: str,
    reads: str,
    rule: Rule,
    wrong: str,
    fix: str,
    requirements: str = "",
) -> Check:
    """A row that stops everything; `reads` and `requirements` are separated by spaces."""
    return Check(slug, Severity.ERROR, tuple(reads.split()), rule, wrong, fix, tuple(requirements.split()))


def warning(
    slug: str,
    reads: str,
    rule: Rule,
    wrong: str,
    fix: str,
    requirements: str = "",
) -> Check:
    """A row that can be acknowledged; `reads` and `requirements` are separated by spaces."""
    return Check(slug, Severity.WARNING, tuple(reads.split()), rule, wrong, fix, tuple(requirements.split()))


def _touches(read: str, found: Path, part: Path) -> bool:
    """Whether a read path and a broken part lie above or below each other."""
    if read.startswith("<machines>"):
        group = found[:1] if found[0] == "control_plane" else found[:2]
        read_path = (*group, *read.split(".")[1:])
    else:
        read_path = tuple(found[1] if key == "<pool>" else key for key in read.split("."))
    return all(mine in ("*", theirs) for mine, theirs in zip(read_path, part, strict=False))
