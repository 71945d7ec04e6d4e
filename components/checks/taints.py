"""Taints: their form, reserved keys, and whether pods still find a node."""

import re
from collections.abc import Callable, Iterator

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.checks.labels import OWN_PREFIX, VALUE, key_fault
from components.spec.models import Pool

_TAINT = re.compile(r"^(?P<key>[^=:]+)(=(?P<value>[^=:]*))?:(?P<effect>[^=:]+)$")

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OS_KEYS = ("os", "kubernetes.io/os")
"""Taint keys that keep Linux pods off Windows nodes."""

Taint = tuple[str, str, str]
"""Key, value ("" if there is none), effect."""


def taint(text: str) -> Taint | None:
    """Return the parts of `key=value:Effect` or `key:Effect`; None for text of another form."""
    match = _TAINT.fullmatch(text)
    return (match["key"], match["value"] or "", match["effect"]) if match else None


def _each_taint(wrong: Callable[[Pool, str, int], str]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for name, pool in subject.spec.pools.items():
            for index, text in enumerate(pool.taints):
                if why := wrong(pool, text, index):
                    yield at("pools", name, "taints", index, value=text, why=why)

    return rule


def _taint_form(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    if not parts:
        return "it does not have the form key=value:Effect"
    if parts[2] not in EFFECTS:
        return f"{parts[2]!r} is not one of the effects {', '.join(EFFECTS)}"
    return key_fault(parts[0]) or (
        ""
        if VALUE.fullmatch(parts[1])
        else f"the value {parts[1]!r} is not made of at most 63 letters, digits, - _ and ."
    )


def _taint_twice(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    before = [taint(each) for each in pool.taints[:index]]
    return "twice" if parts and any(each and (each[0], each[2]) == (parts[0], parts[2]) for each in before) else ""


def _taint_reserved(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    prefix = parts[0].rpartition("/")[0] if parts else ""
    ours = f"{prefix}.".startswith(f"{OWN_PREFIX}.")
    return "reserved" if prefix == "node.kubernetes.io" or "cloudprovider" in prefix or ours else ""


def _taint_role(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    return "role" if parts and parts[0].startswith("node-role.kubernetes.io/") else ""


def _taint_linux_as_windows(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    linux = not pool.os.is_windows
    return "Windows" if linux and parts and parts[0] in OS_KEYS and parts[1].lower().startswith("win") else ""


def _taint_evicts(pool: Pool, text: str, index: int) -> str:
    parts = taint(text)
    return "evicts" if parts and parts[2] == "NoExecute" else ""


def _os_taints(pool: Pool) -> set[tuple[str, str]]:
    parts = [taint(each) for each in pool.taints]
    return {(each[0], each[1]) for each in parts if each and each[0] in OS_KEYS and each[2] != "PreferNoSchedule"}


def _several_values(subject: Subject) -> Iterator[Finding]:
    first: tuple[str, set[tuple[str, str]]] | None = None
    for name, pool in subject.spec.pools.items():
        if pool.os.is_windows and (own := _os_taints(pool)):
            first = first or (name, own)
            if own != first[1]:
                texts = [", ".join(sorted(f"{key}={value}" for key, value in each)) for each in (own, first[1])]
                yield at("pools", name, "taints", own=texts[0], other=first[0], value=texts[1])


def _no_windows_taint(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        closed = [each for each in map(taint, pool.taints) if each and each[2] in ("NoSchedule", "NoExecute")]
        if pool.os.is_windows and not closed:
            yield at("pools", name, "taints")


def _all_linux_tainted(subject: Subject) -> Iterator[Finding]:
    linux = {name: pool for name, pool in subject.spec.pools.items() if not pool.os.is_windows and pool.count}

    def closed(pool: Pool) -> bool:
        return any(each and each[2] in ("NoSchedule", "NoExecute") for each in map(taint, pool.taints))

    if linux and all(map(closed, linux.values())):
        yield at("pools", names=", ".join(linux))


def _several_builds(subject: Subject) -> Iterator[Finding]:
    builds = sorted({group.os.value for group in subject.workers if group.os.is_windows and group.count})
    if len(builds) > 1:
        yield at("pools", builds=", ".join(builds))


_TAINTS = "pools.<pool>.taints pools.<pool>.os"

CHECKS = (
    error(
        "taint-form",
        "pools.<pool>.taints",
        _each_taint(_taint_form),
        "{value!r} is not a taint: {why}",
        "write key=value:NoSchedule",
        "SCH-02",
    ),
    error(
        "taint-twice",
        "pools.<pool>.taints",
        _each_taint(_taint_twice),
        "{value!r} repeats a key and effect, which a node can have only once",
        "keep one",
        "SCH-02",
    ),
    error(
        "taint-reserved",
        "pools.<pool>.taints",
        _each_taint(_taint_reserved),
        "{value!r} is reserved: Kubernetes or Mullion set and remove it",
        "write another key",
        "SCH-02",
    ),
    warning(
        "taint-of-a-role",
        "pools.<pool>.taints",
        _each_taint(_taint_role),
        "{value!r} is the taint of a node role: pods for that role tolerate it and would run here",
        "write another key",
        "SCH-02",
    ),
    error(
        "taint-windows-on-linux",
        _TAINTS,
        _each_taint(_taint_linux_as_windows),
        "{value!r} is a taint for Windows nodes on a Linux pool: Windows pods tolerate it and would be scheduled here",
        "remove it",
        "SCH-02",
    ),
    warning(
        "taint-evicts",
        "pools.<pool>.taints",
        _each_taint(_taint_evicts),
        "{value!r} evicts all pods that do not tolerate it, also agents' DaemonSets that tolerate only NoSchedule",
        "write NoSchedule",
        "SCH-02",
    ),
    error(
        "windows-taint-values",
        "pools.*.taints pools.*.os",
        _several_values,
        "Windows nodes have the taint {own} here, but {value} in pool {other}; RuntimeClasses can tolerate only one",
        "write the same value in all Windows pools, such as os=windows:NoSchedule",
        "SCH-02",
    ),
    warning(
        "windows-taint-missing",
        _TAINTS,
        _no_windows_taint,
        "without a taint Linux pods that select no operating system are scheduled here, where they cannot start",
        "write taints: [os=windows:NoSchedule], or remove taints",
        "SCH-02 SCH-09",
    ),
    warning(
        "linux-workers-all-tainted",
        "pools.*.taints pools.*.os pools.*.count",
        _all_linux_tainted,
        "all Linux pools ({names}) have taints: Linux pods without a toleration, such as metrics-server and webhooks,"
        " find no node",
        "remove the taints of one Linux pool",
        "SCH-02 CP-01",
    ),
    warning(
        "several-windows-builds",
        "pools.*.os pools.*.count",
        _several_builds,
        "the Windows pools have several builds ({builds}), and a container runs only on the build of its image",
        "write runtimeClassName, or select node.kubernetes.io/windows-build, in every Windows workload",
        "SCH-05",
    ),
)
