"""Flags that users give to control-plane programs through kubeadm's documents (extraArgs)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from components import releases
from components.checks.check import Finding, Path, Subject, at, error, warning
from components.checks.versions import supported
from components.spec.kubeadm_flags import flags
from components.spec.models import ApiAccess, Cloud
from components.spec.wording import known_words, shown

PROGRAMS = {
    "apiServer": "kube-apiserver",
    "controllerManager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}
"""Field of ClusterConfiguration -> program that gets its extraArgs."""

PLANNED = {
    ("apiServer", "encryption-provider-config"): "rotation.encryption",
    ("apiServer", "experimental-encryption-provider-config"): "rotation.encryption",
    **{
        ("apiServer", f"oidc-{flag}"): "api.oidc"
        for flag in ("client-id", "groups-claim", "groups-prefix", "issuer-url", "required-claim")
    },
    **{("apiServer", f"oidc-username-{flag}"): "api.oidc" for flag in ("claim", "prefix")},
    ("apiServer", "service-cluster-ip-range"): "network.services",
    ("controllerManager", "allocate-node-cidrs"): "network.mode",
    ("controllerManager", "cluster-cidr"): "network.pods",
    ("controllerManager", "node-cidr-mask-size"): "network.pods",
    ("controllerManager", "service-cluster-ip-range"): "network.services",
}
"""Flags whose values other parts of the cluster depend on (encryption keys, ranges of nodes and kube-proxy) -> option
that decides the value. kubeadm would let a user's value replace Mullion's."""

FIXED = {
    ("apiServer", "kubelet-certificate-authority"): "the API server must verify the certificates of kubelets",
}
"""Flags that protect every cluster and that no option sets -> reason."""

_NAME = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
"""Form of all flags. kubeadm writes --NAME=VALUE, so a name with an equals sign would set another flag."""

_APPROVERS = ("csrapproving", "certificatesigningrequest-approving-controller")
"""Names of the controller that approves kubelets' certificate requests; the first is known to every minor, the second
since 1.28 (kubernetes/cmd/kube-controller-manager/names)."""


def _unknown(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    known = releases.control_plane_flags(subject.minor) if supported(subject) else frozenset[str]()
    for field, program in PROGRAMS.items() if known else ():
        for path, name, _ in flags(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
            if name not in known:
                yield at(*path, program=program, name=name, minor=subject.minor, fix=_fix(name, known))


def _names(subject: Subject) -> Iterator[Finding]:
    for program, place, written in programs(subject):
        for path, name, _ in flags(written, place):
            if not _NAME.fullmatch(name):
                yield at(*path, program=program, name=shown(name))


def _planned(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    for field, program in PROGRAMS.items():
        for path, name, _ in flags(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
            if option := PLANNED.get((field, name)):
                yield at(*path, program=program, name=name, option=option)


def _fixed(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    for field, program in PROGRAMS.items():
        for path, name, _ in flags(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
            if reason := FIXED.get((field, name)):
                yield at(*path, program=program, name=name, reason=reason)


def _approver(subject: Subject) -> Iterator[Finding]:
    cluster, field = subject.spec.kubeadm.config.get("ClusterConfiguration", {}), "controllerManager"
    for path, name, value in flags(cluster.get(field), ("kubeadm", "config", "ClusterConfiguration", field)):
        listed = [each.strip() for each in f"{value}".split(",")]
        if name == "controllers" and (f"-{_APPROVERS[0]}" not in listed or set(listed) & {*_APPROVERS}):
            yield at(*path, controller=_APPROVERS[0])


def _no_tls_12(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    written = spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer")
    for path, name, value in flags(written, ("kubeadm", "config", "ClusterConfiguration", "apiServer")):
        checked = spec.cloud is Cloud.AWS and (spec.control_plane.count > 1 or spec.api.access is ApiAccess.PUBLIC)
        if checked and name == "tls-min-version" and value == "VersionTLS13":
            yield at(*path)


def programs(subject: Subject) -> Iterator[tuple[str, Path, Any]]:
    """Yield the name of each control-plane program, its path in the spec, and what the user writes there."""
    cluster: Mapping[str, Any] = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    top: Path = ("kubeadm", "config", "ClusterConfiguration")
    for field, program in PROGRAMS.items():
        yield program, (*top, field), cluster.get(field)
    etcd = cluster.get("etcd")
    if isinstance(etcd, Mapping):
        yield "etcd", (*top, "etcd", "local"), cast(Mapping[str, Any], etcd).get("local")


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
        "extra-argument-name",
        "kubeadm.config",
        _names,
        "{name} is not the name of a flag of {program}, and could set another one",
        "write the name without dashes before it, and the value as the value",
        "SRV-13",
    ),
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
        "extra-argument-fixed",
        "kubeadm.config",
        _fixed,
        "{reason}, so --{name} of {program} cannot be set",
        "remove it",
        "SRV-13",
    ),
    warning(
        "api-without-tls-12",
        "kubeadm.config control_plane.count api.access cloud",
        _no_tls_12,
        "health checks of AWS's network load balancers do not support targets that speak TLS 1.3 alone, so the load"
        " balancer of the API may find no control plane",
        "write VersionTLS12, or remove it",
        "SRV-13",
    ),
    error(
        "certificate-approver",
        "kubeadm.config",
        _approver,
        "kube-controller-manager would approve any machine's request for a certificate of any node",
        "add -{controller}, or remove --controllers: Mullion's value has it",
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
