"""Flags that users give to control-plane programs through kubeadm's documents (extraArgs)."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from components import releases
from components.checks.check import Finding, Path, Subject, at, error
from components.checks.versions import supported
from components.spec.wording import known_words

PROGRAMS = {
    "apiServer": "kube-apiserver",
    "controllerManager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}
"""Field of ClusterConfiguration -> program that gets its extraArgs."""

PLANNED = {
    ("apiServer", "encryption-provider-config"): "rotation.encryption",
    ("apiServer", "service-cluster-ip-range"): "network.services",
    ("controllerManager", "allocate-node-cidrs"): "network.mode",
    ("controllerManager", "cluster-cidr"): "network.pods",
    ("controllerManager", "node-cidr-mask-size"): "network.pods",
    ("controllerManager", "service-cluster-ip-range"): "network.services",
}
"""Flags whose values other parts of the cluster depend on (encryption keys, ranges of nodes and kube-proxy) -> option
that decides the value. kubeadm would let a user's value replace Mullion's."""


def _unknown(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    known = releases.control_plane_flags(subject.minor) if supported(subject) else frozenset[str]()
    for field, program in PROGRAMS.items() if known else ():
        for path, name in _names(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
            if name not in known:
                yield at(*path, program=program, name=name, minor=subject.minor, fix=_fix(name, known))


def _planned(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    for field, program in PROGRAMS.items():
        for path, name in _names(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
            if option := PLANNED.get((field, name)):
                yield at(*path, program=program, name=name, option=option)


def _names(component: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield path and name of every flag; values of another form are left to another check."""
    written = cast(Mapping[str, Any], component).get("extraArgs") if isinstance(component, Mapping) else None
    if isinstance(written, Mapping):
        for name in cast(Mapping[str, Any], written):
            yield (*path, "extraArgs", name), name
    elif isinstance(written, list):
        for index, each in enumerate(cast(list[Any], written)):
            name = cast(Mapping[str, Any], each).get("name") if isinstance(each, Mapping) else None
            if isinstance(name, str):
                yield (*path, "extraArgs", str(index)), name


def _fix(name: str, known: frozenset[str]) -> str:
    had = [minor for minor in releases.supported_minors() if name in releases.control_plane_flags(minor)]
    return f"remove it: only Kubernetes {had[0]} to {had[-1]} have it" if had else known_words(name, sorted(known))


def _kubelet(subject: Subject) -> Iterator[Finding]:
    for kind in ("InitConfiguration", "JoinConfiguration"):
        registration = subject.spec.kubeadm.config.get(kind, {}).get("nodeRegistration")
        if isinstance(registration, Mapping) and cast(Mapping[str, Any], registration).get("kubeletExtraArgs"):
            yield at("kubeadm", "config", kind, "nodeRegistration", "kubeletExtraArgs")


CHECKS = (
    error(
        "extra-argument-unknown",
        "kubeadm.config kubernetes",
        _unknown,
        "{program} of Kubernetes {minor} has no flag --{name} and does not start with an unknown one",
        "{fix}",
        "SRV-13",
    ),
    error(
        "extra-argument-planned",
        "kubeadm.config",
        _planned,
        "the option {option} sets --{name} of {program}; with another value the cluster breaks",
        "remove it, and write {option}",
        "SRV-13",
    ),
    error(
        "kubelet-extra-arguments",
        "kubeadm.config",
        _kubelet,
        "Mullion's kubelet service does not read kubeadm-flags.env, so this has no effect",
        "write the fields in kubelet.config of the control plane or of a pool",
        "SRV-13",
    ),
)
