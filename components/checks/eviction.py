"""The kubelet's eviction thresholds and log level."""

import re
from collections.abc import Callable, Iterator

from components.checks.check import Finding, MachineGroupSpec, Rule, Subject, at, error, warning

SIGNALS = frozenset(
    [
        "memory.available",
        "nodefs.available",
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "containerfs.available",
        "containerfs.inodesFree",
        "allocatableMemory.available",
        "pid.available",
    ]
)
"""Eviction signals of the kubelet (pkg/kubelet/eviction/api/types.go)."""

THRESHOLD = re.compile(r"^(\d+(\.\d+)?%|\d+(k|M|G|T|Ki|Mi|Gi|Ti)?)$")

CHATTY = 6
"""Log level above which the kubelet logs every request."""


def _thresholds(wrong: Callable[[MachineGroupSpec, str, str], bool]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for group in subject.groups:
            for signal, text in group.options.kubelet.eviction_hard.items():
                if wrong(group, signal, text):
                    signals = ", ".join(sorted(SIGNALS))
                    path = (*group.path, "kubelet", "eviction_hard", signal)
                    yield at(*path, signal=signal, value=text, known=signals)

    return rule


def _unknown_signal(group: MachineGroupSpec, signal: str, text: str) -> bool:
    return signal not in SIGNALS


def _bad_threshold(group: MachineGroupSpec, signal: str, text: str) -> bool:
    return not THRESHOLD.fullmatch(text) or (text.endswith("%") and float(text[:-1]) > 100)


def _linux_signal(group: MachineGroupSpec, signal: str, text: str) -> bool:
    return group.os.is_windows and (signal.endswith("inodesFree") or signal == "pid.available")


def _windows_eviction(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.os.is_windows and "memory.available" in group.options.kubelet.eviction_hard:
            yield at(*group.path, "kubelet", "eviction_hard", "memory.available")


def _soft_eviction(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        for field in group.options.kubelet.config:
            if group.os.is_windows and field.startswith(("evictionSoft", "evictionMaxPodGracePeriod")):
                yield at(*group.path, "kubelet", "config", field, field=field)


def _chatty(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        if group.options.kubelet.verbosity > CHATTY:
            yield at(*group.path, "kubelet", "verbosity", value=group.options.kubelet.verbosity)


_EVICTION = "<machines>.kubelet.eviction_hard <machines>.os"

CHECKS = (
    error(
        "eviction-signal",
        _EVICTION,
        _thresholds(_unknown_signal),
        "{signal!r} is not an eviction signal",
        "write one of {known}",
        "RES-05",
    ),
    error(
        "eviction-threshold",
        _EVICTION,
        _thresholds(_bad_threshold),
        "{value!r} is not a threshold",
        "write a quantity such as 500Mi, or a percentage such as 10%",
        "RES-05",
    ),
    error(
        "eviction-signal-linux-only",
        _EVICTION,
        _thresholds(_linux_signal),
        "Windows does not have the signal {signal}",
        "remove it",
        "RES-05",
    ),
    warning(
        "eviction-hard-on-windows",
        _EVICTION,
        _windows_eviction,
        "on Windows memory.available only lowers the memory that pods can request: the kubelet evicts no pod and"
        " never sets MemoryPressure",
        "give every Windows pod a memory limit, and acknowledge this warning",
        "RES-05",
    ),
    warning(
        "eviction-soft-on-windows",
        "<machines>.kubelet.config <machines>.os",
        _soft_eviction,
        "{field} has no effect on Windows",
        "remove it",
        "RES-05",
    ),
    warning(
        "verbosity-high",
        "<machines>.kubelet.verbosity",
        _chatty,
        "at --v={value} the kubelet logs every request: that fills disks and can show request bodies",
        "write 2 to 6",
    ),
)
