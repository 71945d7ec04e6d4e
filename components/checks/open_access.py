"""Values in users' configuration that switch off authentication, authorization or TLS, or hand the cluster over."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from components.checks.check import Finding, Path, Subject, at, error
from components.checks.extra_arguments import programs
from components.checks.user_config import everywhere, kube_proxies, walk
from components.spec.kubeadm_flags import flags
from components.spec.web_addresses import in_clear, is_loopback_url
from components.spec.wording import shown

Judge = Callable[[str], bool]
"""Return whether a flag's value opens the program."""


def _listed(value: str) -> set[str]:
    return {each.strip() for each in value.split(",")}


def _is(wrong: str) -> Judge:
    """Return the judge of a truth value in each form that Go's strconv.ParseBool reads."""
    return lambda value: value.lower() in (wrong, wrong[0], {"true": "1", "false": "0"}[wrong])


def _any(value: str) -> bool:
    return True


_ADMITTING = {
    *("CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction"),
    *("NodeRestriction", "PodSecurity", "ValidatingAdmissionPolicy"),
}
"""Admission plugins that refuse what roles alone allow; all are on by default, or by kubeadm."""
_KEPT = ", ".join(("NodeRestriction", *sorted(_ADMITTING - {"NodeRestriction"})))
_GATES = {"podsecurity", "validatingadmissionpolicy"}
"""Feature gates of such plugins, in lower case."""
_POLICIES = re.compile(r"admissionregistration\.k8s\.io/.*|api/(all|ga)")
"""Matches the API groups without which the API server has no admission policies."""
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(rf"(\d+\.?\d*|\.\d+)({'|'.join(_UNITS)})")
_DAY = 86400.0


def _off(settings: str) -> set[str]:
    """Return what a list such as a=true,b=false switches off, in lower case."""
    pairs = (each.partition("=") for each in settings.lower().split(","))
    return {name.strip() for name, _, value in pairs if value.strip() in ("false", "0", "f")}


def _longer_than_a_day(duration: str) -> bool:
    """Return whether a duration of Go is longer than a day, or none that Go can read."""
    parts = _DURATION.findall(duration)
    whole = bool(parts) and "".join(number + unit for number, unit in parts) == duration
    return not whole or sum(float(number) * _UNITS[unit] for number, unit in parts) > _DAY


API_SERVER: dict[str, tuple[Judge, str]] = {
    "authorization-mode": (
        lambda value: not {"Node", "RBAC"} <= _listed(value) or "AlwaysAllow" in _listed(value),
        "clients would get rights that no role grants them; keep Node and RBAC, without AlwaysAllow",
    ),
    "disable-admission-plugins": (
        lambda value: bool(_ADMITTING & _listed(value)),
        f"kubelets, pods and certificate requests could do what only admission refuses; keep {_KEPT}",
    ),
    "feature-gates": (
        lambda value: bool(_GATES & _off(value)),
        "Mullion's admission policies or the Pod Security Standards would refuse nothing",
    ),
    "runtime-config": (
        lambda value: any(_POLICIES.fullmatch(each) for each in _off(value)),
        "Mullion's admission policies would refuse nothing",
    ),
    "enable-admission-plugins": (
        lambda value: "NodeRestriction" not in _listed(value),
        "a kubelet could change other nodes and their pods; add NodeRestriction: your list replaces kubeadm's",
    ),
    "token-auth-file": (_any, "tokens in a file never expire; use certificates"),
    "anonymous-auth": (
        _is("false"),
        "kubeadm's probes call the API server without a certificate, so the kubelet would restart it for ever",
    ),
    "insecure-port": (lambda value: value != "0", "the API server would answer everybody, without TLS"),
    "insecure-bind-address": (_any, "the API server would answer everybody, without TLS"),
    "service-account-lookup": (_is("false"), "tokens of deleted service accounts would stay valid"),
    "client-ca-file": (_any, "another authority could issue the certificate of any user, of administrators too"),
    "requestheader-client-ca-file": (_any, "another authority could name any user in a request"),
    "authentication-config": (_any, "a file that no check reads would decide who may sign in; write api.oidc"),
    "authentication-token-webhook-config-file": (_any, "another server would decide who a token is; write api.oidc"),
    "authorization-config": (_any, "a file that no check reads would decide what users may do"),
    "authorization-webhook-config-file": (
        _any,
        "another server would decide what users may do, and learn what they do",
    ),
    "service-account-key-file": (_any, "whoever has another key could sign tokens of every service account"),
    "audit-webhook-config-file": (_any, "another server would learn who reads and changes what"),
    **dict.fromkeys(
        ("etcd-servers", "etcd-servers-overrides", "etcd-cafile", "etcd-certfile", "etcd-keyfile"),
        (_any, "another etcd would hold all objects, Secrets included, or the cluster's would get no answer"),
    ),
    **dict.fromkeys(
        ("audit-policy-file", "audit-log-path"),
        (_any, "the audit log would lack what an attacker does, or not reach the snapshot store"),
    ),
    **{
        f"requestheader-{flag}": (_any, "more clients could name any user in a request")
        for flag in ("allowed-names", "username-headers", "uid-headers", "group-headers", "extra-headers-prefix")
    },
    "admission-control": (_any, "it replaces the list of admission plugins"),
    "port": (lambda value: value != "0", "the API server would answer everybody, without TLS"),
    "address": (_any, "the API server would answer everybody, without TLS"),
    "kubelet-https": (_is("false"), "requests to kubelets would be readable, and anybody could answer them"),
    "service-account-signing-key-file": (_any, "whoever has another key could sign tokens of every service account"),
    "service-account-signing-endpoint": (_any, "another program would sign tokens of every service account"),
}
"""Flags of the API server: which values open it, and why (CIS Kubernetes Benchmark, 1.2)."""

OTHERS: dict[str, tuple[Judge, str]] = {
    "authorization-always-allow-paths": (
        lambda value: any("*" in path for path in _listed(value)),
        "everybody who can connect could ask for more than health",
    ),
    **dict.fromkeys(
        ("master", "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"),
        (_any, "another server would be its API, get its credentials and decide what runs in the cluster"),
    ),
    **dict.fromkeys(
        ("client-ca-file", "requestheader-client-ca-file"), (_any, "another authority could name any user in a request")
    ),
    "port": (lambda value: value != "0", "it would answer everybody, without TLS"),
}
"""Flags of kube-controller-manager and kube-scheduler: which values open them, and why."""

SIGNING: tuple[Judge, str] = (
    _longer_than_a_day,
    "certificates cannot be revoked, so a stolen one must end within a day; write at most 24h",
)
_SIGNERS = ("", "kube-apiserver-client-", "kubelet-client-", "kubelet-serving-", "legacy-unknown-")
MANAGER: dict[str, tuple[Judge, str]] = OTHERS | {
    **dict.fromkeys(("cluster-signing-duration", "experimental-cluster-signing-duration"), SIGNING),
    **{
        f"cluster-signing-{signer}{part}-file": (_any, "another authority would sign the cluster's certificates")
        for signer in _SIGNERS
        for part in ("cert", "key")
    },
    "root-ca-file": (_any, "pods would trust another authority as the API server's"),
    "service-account-private-key-file": (_any, "whoever has another key could sign tokens of every service account"),
    "use-service-account-credentials": (_is("false"), "every controller would have the rights of all"),
}
"""Flags of kube-controller-manager alone, and those of OTHERS."""

ETCD: dict[str, tuple[Judge, str]] = {
    "client-cert-auth": (_is("false"), "everybody who can connect could read and change all objects, Secrets included"),
    "peer-client-cert-auth": (_is("false"), "everybody who can connect could join as a member"),
    "trusted-ca-file": (_any, "another authority could issue certificates for all objects, Secrets included"),
    "peer-trusted-ca-file": (_any, "another authority could let a member join"),
    "auto-tls": (_is("true"), "etcd would use self-signed certificates"),
    "peer-auto-tls": (_is("true"), "etcd would use self-signed certificates"),
    "listen-client-urls": (in_clear, "etcd would use http without TLS"),
    "listen-peer-urls": (in_clear, "etcd would use http without TLS"),
    **dict.fromkeys(
        ("listen-client-http-urls", "advertise-client-urls", "initial-advertise-peer-urls"),
        (in_clear, "etcd would use http without TLS"),
    ),
    **dict.fromkeys(
        ("initial-cluster", "discovery", "discovery-endpoints", "discovery-srv", "discovery-proxy"),
        (_any, "others would decide which members hold all objects, Secrets included"),
    ),
    "config-file": (_any, "etcd ignores all flags beside it, those about certificates too"),
    "force-new-cluster": (_is("true"), "etcd would drop its other members"),
    "peer-skip-client-san-verification": (_is("true"), "any certificate of the authority could join as a member"),
}
"""Flags of etcd: which values open it, and why (CIS Kubernetes Benchmark, 2)."""

KUBELET: tuple[tuple[Path, Callable[[Any], bool], str], ...] = (
    (("readOnlyPort",), bool, "everybody who can connect to the node could read its pods"),
    (("authentication", "anonymous", "enabled"), bool, "the kubelet would answer requests without authentication"),
    (("authentication", "webhook", "enabled"), lambda value: value is False, "the kubelet could not verify tokens"),
    (("authorization", "mode"), lambda value: value == "AlwaysAllow", "every client could run programs in all pods"),
    (("staticPodURL",), bool, "whoever answers there could run pods as root on every node"),
    (
        ("authentication", "x509", "clientCAFile"),
        bool,
        "clients of another authority could run programs in all pods",
    ),
    (
        ("staticPodPath",),
        lambda value: value not in ("", "/etc/kubernetes/manifests"),
        "whoever can write there could run pods as root on the node",
    ),
    *(
        (
            (name,),
            lambda value: f"{value}".startswith("tcp:") and not is_loopback_url(f"{value}"),
            "another server would decide what runs on the node",
        )
        for name in ("containerRuntimeEndpoint", "imageServiceEndpoint")
    ),
)
"""Fields of the kubelet: which values open it, and why (CIS Kubernetes Benchmark, 4.2)."""


TABLES = {"apiServer": API_SERVER, "controllerManager": MANAGER, "scheduler": OTHERS, "etcd": ETCD}
"""Flags of each control-plane program, by its field of ClusterConfiguration."""


def _arguments(subject: Subject) -> Iterator[Finding]:
    for program, place, written in programs(subject):
        for path, name, value in flags(written, place):
            judge, why = TABLES[place[3]].get(name, (None, ""))
            if judge and judge(f"{value}"):
                yield at(*path, program=program, name=name, value=shown(value), why=why)


def judged(field: str, name: str) -> bool:
    """Return whether a table here judges a flag. field: of ClusterConfiguration."""
    return name in TABLES[field]


def _external_etcd(subject: Subject) -> Iterator[Finding]:
    etcd = subject.spec.kubeadm.config.get("ClusterConfiguration", {}).get("etcd")
    if isinstance(etcd, Mapping) and "external" in etcd:
        yield at("kubeadm", "config", "ClusterConfiguration", "etcd", "external")


def _kubelet(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for below, value in walk(group.options.kubelet.config):
            for path, wrong, why in KUBELET:
                if below == path and value is not None and wrong(value):
                    name = ".".join(below)
                    yield at(*group.path, "kubelet", "config", *below, name=name, value=shown(value), why=why)


def _kube_proxy(below: Path, value: Any) -> bool:
    return below == ("clientConnection", "kubeconfig") and bool(value)


CHECKS = (
    error(
        "argument-opens-cluster",
        "kubeadm.config",
        _arguments,
        "--{name}={value} of {program} is not safe: {why}",
        "remove it",
    ),
    error(
        "kubelet-config-open",
        "<machines>.kubelet.config",
        _kubelet,
        "{name}: {value} is not safe: {why}",
        "remove it",
    ),
    error(
        "kube-proxy-config-open",
        "<machines>.kube_proxy.config",
        everywhere(_kube_proxy, kube_proxies),
        "another server, by {value}, would decide where the traffic of Services goes",
        "remove kubeconfig",
    ),
    error(
        "etcd-external",
        "kubeadm.config",
        _external_etcd,
        "an external etcd would hold all objects; Mullion's control planes run etcd themselves and take its snapshots",
        "remove external",
    ),
)
