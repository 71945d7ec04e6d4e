"""Values in users' configuration that let people in without a proof of who they are, or without the right to it."""

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from components.checks.check import Finding, Path, Subject, at, error, warning
from components.checks.extra_arguments import flags
from components.checks.user_config import walk
from components.spec.wording import shown

Judge = Callable[[str], bool]
"""Return whether a flag's value opens the program."""


def _listed(value: str) -> set[str]:
    return {each.strip() for each in value.split(",")}


def _is(wrong: str) -> Judge:
    return lambda value: value.lower() == wrong


def _any(value: str) -> bool:
    return True


def in_clear(urls: str) -> bool:
    """Return whether one of the URLs is http and not of the loopback interface."""
    parts = [urlsplit(each.strip()) for each in urls.split(",")]
    return any(part.scheme == "http" and not is_loopback(part.hostname or "") for part in parts)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself: localhost, or an address of 127.0.0.0/8 or ::1."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another name, such as 127.example.com
        return False


API_SERVER: dict[str, tuple[Judge, str]] = {
    "authorization-mode": (
        lambda value: not {"Node", "RBAC"} <= _listed(value) or "AlwaysAllow" in _listed(value),
        "nodes and people would get rights that nobody granted; keep Node and RBAC, and no AlwaysAllow",
    ),
    "disable-admission-plugins": (
        lambda value: "NodeRestriction" in _listed(value),
        "a kubelet could change other nodes and their pods; keep NodeRestriction",
    ),
    "enable-admission-plugins": (
        lambda value: "NodeRestriction" not in _listed(value),
        "a kubelet could change other nodes and their pods; list NodeRestriction too, because kubeadm's is replaced",
    ),
    "token-auth-file": (_any, "tokens in a file never expire, and whoever reads the file is let in; use certificates"),
    "anonymous-auth": (
        _is("false"),
        "kubeadm's probes call the API server without a certificate, so the kubelet would restart it for ever",
    ),
    "insecure-port": (lambda value: value != "0", "it lets everybody in, without TLS"),
    "insecure-bind-address": (_any, "it lets everybody in, without TLS"),
    "service-account-lookup": (_is("false"), "tokens of deleted service accounts would stay valid"),
}
"""Flags of the API server: which values open it, and why (CIS Kubernetes Benchmark, 1.2)."""

ETCD: dict[str, tuple[Judge, str]] = {
    "client-cert-auth": (_is("false"), "whoever reaches etcd could read and change everything, secrets included"),
    "peer-client-cert-auth": (_is("false"), "whoever reaches etcd could become a member of it"),
    "auto-tls": (_is("true"), "its certificates would prove nothing"),
    "peer-auto-tls": (_is("true"), "its certificates would prove nothing"),
    "listen-client-urls": (in_clear, "etcd would speak plain http on the network"),
    "listen-peer-urls": (in_clear, "etcd would speak plain http on the network"),
}
"""Flags of etcd: which values open it, and why (CIS Kubernetes Benchmark, 2)."""

KUBELET: tuple[tuple[Path, Callable[[Any], bool], str], ...] = (
    (("readOnlyPort",), bool, "everybody who reaches the node reads its pods"),
    (("authentication", "anonymous", "enabled"), bool, "the kubelet answers without a proof of who asks"),
    (("authentication", "webhook", "enabled"), lambda value: value is False, "the kubelet cannot check tokens"),
    (("authorization", "mode"), lambda value: value == "AlwaysAllow", "everybody may run programs in all pods"),
    (
        ("staticPodURL",),
        lambda value: not str(value).startswith("https://"),
        "whoever is on the network between can run pods as root; write https",
    ),
)
"""Fields of the kubelet: which values open it, and why (CIS Kubernetes Benchmark, 4.2)."""


def _arguments(subject: Subject) -> Iterator[Finding]:
    cluster = subject.spec.kubeadm.config.get("ClusterConfiguration", {})
    etcd = cast(Mapping[str, Any], cluster.get("etcd") if isinstance(cluster.get("etcd"), Mapping) else {})
    top: Path = ("kubeadm", "config", "ClusterConfiguration")
    programs = (
        ("kube-apiserver", (*top, "apiServer"), cluster.get("apiServer"), API_SERVER),
        ("etcd", (*top, "etcd", "local"), etcd.get("local"), ETCD),
    )
    for program, place, written, table in programs:
        for path, name, value in flags(written, place):
            judge, why = table.get(name, (None, ""))
            if judge and judge(f"{value}"):
                yield at(*path, program=program, name=name, value=shown(value), why=why)


def _kubelet(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for below, value in walk(group.options.kubelet.config):
            for path, wrong, why in KUBELET:
                if below == path and value is not None and wrong(value):
                    name = ".".join(below)
                    yield at(*group.path, "kubelet", "config", *below, name=name, value=shown(value), why=why)


def _mirrors(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for registry, urls in group.options.containerd.mirrors.items():
            for index, url in enumerate(urls):
                if in_clear(url):
                    yield at(*group.path, "containerd", "mirrors", registry, index, value=url)
        for below, value in walk(group.options.containerd.config):
            if below[-1:] == ("insecure_skip_verify",) and value is True:
                yield at(*group.path, "containerd", "config", *below, value="a server without a valid certificate")
            elif below[-2:-1] == ("endpoint",) and isinstance(value, str) and in_clear(value):
                yield at(*group.path, "containerd", "config", *below, value=value)


UNENCRYPTED = "mirror-unencrypted"
"""Id of the warning about registries that prove nothing; it stops `up` unless it is acknowledged."""

CHECKS = (
    error(
        "argument-opens-cluster",
        "kubeadm.config",
        _arguments,
        "{program} with --{name}={value}: {why}",
        "remove it",
    ),
    error(
        "kubelet-config-open",
        "<machines>.kubelet.config",
        _kubelet,
        "{name}: {value}: {why}",
        "remove it",
    ),
    warning(
        UNENCRYPTED,
        "<machines>.containerd.mirrors <machines>.containerd.config",
        _mirrors,
        "images come from {value}, so whoever is on the network between decides what runs on the machines; `up` stops"
        " unless this is acknowledged",
        "give the mirror a certificate (trusted_cas has its authority) and write https",
    ),
)
