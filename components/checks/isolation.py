"""Hyper-V isolation: pools, machines and runtimes that can offer it, and configuration that expects it."""

from collections.abc import Iterator

from components import releases
from components.catalogue import nested_virtualisation
from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.checks.user_config import containerds, kubelets, walk
from components.checks.versions import supported
from components.node.runtime import HYPERV_HANDLER
from components.spec.models import Isolation, Pool, Runtime

FIRST_CONTAINERD = "1.7"
"""First containerd that starts Hyper-V isolated pods for Kubernetes (containerd/containerd#6862)."""


def _isolated(subject: Subject) -> Iterator[tuple[str, Pool]]:
    """Yield the pools with `isolation: hyperv`."""
    return ((name, pool) for name, pool in subject.spec.pools.items() if pool.isolation is Isolation.HYPERV)


def _windows(subject: Subject) -> Iterator[tuple[str, Pool]]:
    return (each for each in _isolated(subject) if each[1].os.is_windows)


def _on_linux(subject: Subject) -> Iterator[Finding]:
    for name, pool in _isolated(subject):
        if not pool.os.is_windows:
            yield at("pools", name, "isolation", value=pool.os.value)


def _of_docker(subject: Subject) -> Iterator[Finding]:
    for name, pool in _windows(subject):
        if pool.runtime is Runtime.DOCKER:
            yield at("pools", name, "isolation")


def _of_cloud(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud.value
    for name, _ in _windows(subject):
        if cloud not in nested_virtualisation.OFFERED:
            yield at("pools", name, "isolation", why=nested_virtualisation.refusal(cloud, ""))


def _of_size(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud.value
    for name, pool in _windows(subject):
        offered = nested_virtualisation.OFFERED.get(cloud)
        if offered and (why := nested_virtualisation.refusal(cloud, pool.size)):
            yield at("pools", name, "size", value=pool.size, why=why, offered=offered)


def _old_containerd(subject: Subject) -> Iterator[Finding]:
    for name, pool in _windows(subject) if supported(subject) else ():
        if pool.runtime is Runtime.CONTAINERD:
            version = pool.containerd.version or releases.release(subject.minor).containerd.version
            if releases.older(releases.minor(version), FIRST_CONTAINERD):
                yield at("pools", name, "isolation", value=version, first=FIRST_CONTAINERD)


def _spot(subject: Subject) -> Iterator[Finding]:
    for name, pool in _windows(subject):
        if pool.spot and nested_virtualisation.is_chosen_at_launch(subject.spec.cloud.value):
            yield at("pools", name, "spot")


def _unsupported(subject: Subject) -> Iterator[Finding]:
    for name, _ in _windows(subject):
        yield at("pools", name, "isolation")


def _old_gate(subject: Subject) -> Iterator[Finding]:
    for _, path, fields, _ in kubelets(subject):
        for below, _value in walk(fields):
            if below[-1:] == ("HyperVContainer",):
                yield at(*path, *below)


def _handler(*, offered: bool) -> Rule:
    """Return a rule that finds the handler in containerd.config of groups that offer it, or of those that do not."""

    def rule(subject: Subject) -> Iterator[Finding]:
        names = {name for name, _ in _windows(subject)}
        for _, path, fields, _ in containerds(subject):
            if (path[0] == "pools" and path[1] in names) is offered:
                yield from (
                    at(*path, *below)
                    for below, value in walk(fields)
                    if value == HYPERV_HANDLER or (not offered and below[-1:] == (HYPERV_HANDLER,))
                )

    return rule


_POOL = "pools.<pool>.isolation pools.<pool>.os"

CHECKS = (
    error(
        "hyperv-on-linux",
        _POOL,
        _on_linux,
        "Hyper-V isolates Windows containers, but the pool runs {value}",
        "remove isolation",
        "SEC-06",
    ),
    error(
        "hyperv-of-docker-pool",
        f"{_POOL} pools.<pool>.runtime",
        _of_docker,
        "dockershim and cri-dockerd have one handler, which starts process-isolated containers",
        "write runtime: containerd, or remove isolation",
        "SEC-06",
    ),
    error(
        "hyperv-of-cloud",
        f"{_POOL} cloud",
        _of_cloud,
        "{why}",
        "remove isolation, or build the pool on AWS or Azure",
        "SEC-06",
    ),
    error(
        "hyperv-of-size",
        f"{_POOL} pools.<pool>.size cloud",
        _of_size,
        "Hyper-V does not run on {value}: {why}",
        "write {offered}; or remove isolation",
        "SEC-06",
    ),
    error(
        "hyperv-containerd",
        f"{_POOL} pools.<pool>.runtime pools.<pool>.containerd kubernetes",
        _old_containerd,
        "containerd {value} starts no Hyper-V isolated pods; {first} is the first that does",
        "write a version from {first} on in containerd.version, a newer kubernetes, or remove isolation",
        "SEC-06",
    ),
    warning(
        "hyperv-spot",
        f"{_POOL} pools.<pool>.spot cloud",
        _spot,
        "others saw EC2 refuse nested virtualization for spot instances, and AWS' pages do not say whether it does",
        "remove spot, or try it with one machine and acknowledge this warning",
        "SEC-06",
    ),
    warning(
        "hyperv-unsupported",
        _POOL,
        _unsupported,
        "Kubernetes does not support Hyper-V isolation; containerd does, for images that fit the nodes' own build",
        "acknowledge this warning if you tried your workloads (docs/hyper-v.md), or remove isolation",
        "SEC-06",
    ),
    error(
        "hyperv-isolation",
        "<machines>.containerd.config <machines>.isolation <machines>.os",
        _handler(offered=False),
        "containerd cannot start Hyper-V isolated containers here: the machines have no Hyper-V",
        "write isolation: hyperv in a Windows pool, or remove it: containers run with process isolation",
        "SEC-06",
    ),
    error(
        "hyperv-by-default",
        "<machines>.containerd.config <machines>.isolation <machines>.os",
        _handler(offered=True),
        "pods without a RuntimeClass would get a virtual machine whose memory the scheduler does not count",
        "remove it, and write the RuntimeClass in pods (docs/hyper-v.md)",
        "SEC-06",
    ),
    error(
        "hyperv-gate",
        "<machines>.kubelet.config",
        _old_gate,
        "HyperVContainer isolated containers of dockershim, and Kubernetes removed it in 1.21",
        "remove it, and write isolation: hyperv in a Windows pool with containerd",
        "SEC-06",
    ),
)
