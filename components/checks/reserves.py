"""Reserved and allocatable resources of nodes, and the kubelet's priority on Windows."""

from collections.abc import Iterator

from components.catalogue import node_reserves
from components.catalogue.instance_sizes import Size
from components.checks.check import Finding, MachineGroupSpec, Subject, at, error, warning
from components.checks.eviction import THRESHOLD
from components.checks.machines import GIB, known
from components.spec.defaults import HARD_EVICTION, windows_cpu_milli
from components.spec.models import Pool, PriorityClass, Reserve
from components.spec.quantities import cpu_milli, memory_bytes

WINDOWS_MEMORY = 2 * GIB
"""Bytes that Windows itself needs (RES-01)."""

LITTLE = GIB
"""Bytes of allocatable memory: with less, no Windows container with a program in it can run."""

LOW = (PriorityClass.IDLE, PriorityClass.BELOW_NORMAL, PriorityClass.NORMAL)


def _threshold_bytes(text: str, capacity: int) -> int:
    if not THRESHOLD.fullmatch(text):
        return 0
    return round(capacity * float(text[:-1]) / 100) if text.endswith("%") else memory_bytes(text)


def _memory(reserve: Reserve) -> int:
    return memory_bytes(reserve.memory) if reserve.memory else 0


def kube_reserved(group: MachineGroupSpec, size: Size | None) -> dict[str, str]:
    """Return kubeReserved as quantities: the default, overridden by the spec."""
    options = group.options
    in_pool = isinstance(options, Pool) and not group.os.is_windows
    default = node_reserves.kube_reserved(size, group.max_pods, linux_pool=in_pool)
    return {**default, **options.kubelet.kube_reserved.model_dump(exclude_none=True)}


def allocatable_memory(group: MachineGroupSpec, size: Size) -> int:
    """Return bytes for pods: memory less system_reserved, kube_reserved and the hard eviction threshold (RES-06)."""
    default = HARD_EVICTION["windows" if group.os.is_windows else "linux"]["memory.available"]
    eviction = _threshold_bytes(group.options.kubelet.eviction_hard.get("memory.available", default), size.memory)
    kube = memory_bytes(kube_reserved(group, size).get("memory", "0"))
    return size.memory - _memory(group.options.kubelet.system_reserved) - kube - eviction


def allocatable_cpu_milli(group: MachineGroupSpec, size: Size) -> int:
    """Return CPU for pods in thousandths of a core: cores less system_reserved and kube_reserved (RES-06)."""
    system = group.options.kubelet.system_reserved.cpu
    reserved = cpu_milli(system) if system else windows_cpu_milli(size.vcpu) if group.os.is_windows else 0
    return size.vcpu * 1000 - reserved - cpu_milli(kube_reserved(group, size).get("cpu", "0"))


def _windows_memory(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        reserved = group.options.kubelet.system_reserved
        if group.os.is_windows and _memory(reserved) < WINDOWS_MEMORY and not group.options.kubelet.accept_low_reserve:
            yield at(*group.path, "kubelet", "system_reserved", "memory", value=reserved.memory)


def _needless_override(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        low = group.os.is_windows and _memory(group.options.kubelet.system_reserved) < WINDOWS_MEMORY
        if group.options.kubelet.accept_low_reserve and not low:
            yield at(*group.path, "kubelet", "accept_low_reserve")


def _windows_cpu(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        size, reserved = known(subject, group), group.options.kubelet.system_reserved.cpu
        least = windows_cpu_milli(size.vcpu if size else 0)
        if group.os.is_windows and reserved and cpu_milli(reserved) < least:
            yield at(*group.path, "kubelet", "system_reserved", "cpu", value=reserved, least=f"{least}m")


def _no_memory(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        size = known(subject, group)
        if size and (left := allocatable_memory(group, size)) <= 0:
            yield at(*group.path, "kubelet", size=size.name, gib=size.memory / GIB, missing=-left // 2**20)


def _little_memory(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        size = known(subject, group)
        if size and 0 < (left := allocatable_memory(group, size)) < LITTLE:
            yield at(*group.path, "kubelet", size=size.name, gib=size.memory / GIB, left=left // 2**20)


def _no_cpu(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        size = known(subject, group)
        if size and allocatable_cpu_milli(group, size) <= 0:
            yield at(*group.path, "kubelet", size=size.name, vcpu=size.vcpu)


def _no_disk(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        reserves = (group.options.kubelet.system_reserved, group.options.kubelet.kube_reserved)
        kept = sum(memory_bytes(each.ephemeral_storage) for each in reserves if each.ephemeral_storage)
        if kept >= group.options.disk_gb * GIB:
            yield at(*group.path, "kubelet", kept=kept / GIB, disk=group.options.disk_gb)


def _low_priority(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        priority = group.options.kubelet.priority_class
        if group.os.is_windows and priority in LOW:
            yield at(*group.path, "kubelet", "priority_class", value=priority.value if priority else "")


def _realtime(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.os.is_windows and group.options.kubelet.priority_class is PriorityClass.REALTIME:
            yield at(*group.path, "kubelet", "priority_class")


def _linux_priority(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        if not group.os.is_windows and group.options.kubelet.priority_class:
            yield at(*group.path, "kubelet", "priority_class")


_SIZED = "<machines>.size <machines>.os <machines>.kubelet cloud"
_PRIORITY = "<machines>.kubelet.priority_class <machines>.os"

CHECKS = (
    error(
        "windows-memory-reserve",
        "<machines>.kubelet.system_reserved <machines>.kubelet.accept_low_reserve <machines>.os",
        _windows_memory,
        "{value} is less than the 2Gi that Windows itself needs, and the kubelet evicts no pods when memory runs out",
        "write 2Gi or more, or write kubelet.accept_low_reserve: true",
        "RES-01",
    ),
    warning(
        "accept-low-reserve-needless",
        "<machines>.kubelet.system_reserved <machines>.kubelet.accept_low_reserve <machines>.os",
        _needless_override,
        "accept_low_reserve has no effect: these machines reserve 2Gi or more, or run Linux",
        "remove it, so that the check catches a later mistake",
        "RES-01",
    ),
    warning(
        "windows-cpu-reserve",
        "<machines>.kubelet.system_reserved <machines>.size <machines>.os cloud",
        _windows_cpu,
        "{value} CPU is too little: on Windows the system needs the larger of 500m and a tenth of the cores",
        "write {least} or more, or remove it",
        "RES-02",
    ),
    error(
        "allocatable-memory",
        _SIZED,
        _no_memory,
        "reserves and hard eviction exceed the {gib:g} GiB of {size} by {missing} MiB, so no memory is left for pods",
        "choose a larger size, or reserve less",
        "RES-06",
    ),
    warning(
        "allocatable-memory-little",
        _SIZED,
        _little_memory,
        "only {left} MiB of the {gib:g} GiB of {size} are left for pods",
        "choose a larger size, or reserve less",
        "RES-06",
    ),
    error(
        "allocatable-cpu",
        _SIZED,
        _no_cpu,
        "reserves take all {vcpu} vCPU of {size}, so no CPU is left for pods",
        "choose a larger size, or reserve less",
        "RES-06",
    ),
    error(
        "allocatable-disk",
        "<machines>.kubelet.system_reserved <machines>.kubelet.kube_reserved <machines>.disk_gb",
        _no_disk,
        "reserves take {kept:g} GiB of ephemeral storage of a disk with {disk} GiB, so none is left for pods",
        "reserve less, or raise disk_gb",
        "RES-06",
    ),
    warning(
        "priority-class-low",
        _PRIORITY,
        _low_priority,
        "at {value} the kubelet misses heartbeats when containers use all CPU, and the node becomes NotReady",
        "write ABOVE_NORMAL_PRIORITY_CLASS, or remove it",
        "RES-03",
    ),
    warning(
        "priority-class-realtime",
        _PRIORITY,
        _realtime,
        "at REALTIME_PRIORITY_CLASS a busy kubelet can starve Windows, its disk and its network",
        "write HIGH_PRIORITY_CLASS or ABOVE_NORMAL_PRIORITY_CLASS",
        "RES-03",
    ),
    error(
        "priority-class-on-linux",
        _PRIORITY,
        _linux_priority,
        "priority classes exist only on Windows",
        "remove it",
        "RES-03",
    ),
)
