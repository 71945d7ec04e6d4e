"""Configuration that users merge into the documents that Mullion renders: fields and values."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from components import releases
from components.checks.check import Finding, MachineGroupSpec, Path, Rule, Subject, at, error, warning
from components.checks.versions import supported
from components.spec.models import Runtime
from components.spec.wording import known_words, shown

Document = tuple[str, Path, Mapping[str, Any], Callable[[str], frozenset[str]]]
"""Key of releases.set_by_us; path in the spec; the user's fields; function that returns a version's fields."""


def kubelets(subject: Subject) -> Iterator[Document]:
    """Yield the KubeletConfiguration fields of each group."""
    for group in subject.groups:
        path = (*group.path, "kubelet", "config")
        yield f"kubelet-{_system(group)}", path, group.options.kubelet.config, partial(_kubelet_fields, group)


def _kubelet_fields(group: MachineGroupSpec, kubernetes: str) -> frozenset[str]:
    """Return the version's fields, and containerRuntimeEndpoint: where the field is missing, Mullion writes the flag.

    Only dockershim takes no endpoint.
    """
    known = releases.top_fields("kubelet", kubernetes)
    dockershim = group.runtime is Runtime.DOCKER and releases.release(kubernetes).dockershim
    return known if dockershim else known | {"containerRuntimeEndpoint"}


def kube_proxies(subject: Subject) -> Iterator[Document]:
    """Yield the KubeProxyConfiguration fields of each group."""
    for group in subject.groups:
        path = (*group.path, "kube_proxy", "config")
        yield (
            f"kube-proxy-{_system(group)}",
            path,
            group.options.kube_proxy.config,
            partial(releases.top_fields, "kube-proxy"),
        )


def containerds(subject: Subject) -> Iterator[Document]:
    """Yield the config.toml tables of each group."""
    for group in subject.groups:
        path = (*group.path, "containerd", "config")
        yield "containerd", path, group.options.containerd.config, partial(_tables, group.options.containerd.version)


def kubeadms(subject: Subject) -> Iterator[Document]:
    """Yield the fields of each of kubeadm's documents."""
    for kind, fields in subject.spec.kubeadm.config.items():
        if kind in KINDS:
            yield kind, ("kubeadm", "config", kind), fields, partial(releases.top_fields, kind)


def _tables(own: str | None, kubernetes: str) -> frozenset[str]:
    return releases.containerd_tables(releases.containerd_of(kubernetes, own).config_version)


KINDS = ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration")

DOCUMENTS: tuple[tuple[str, str, Callable[[Subject], Iterator[Document]], str], ...] = (
    ("kubelet", "<machines>.kubelet.config <machines>.os", kubelets, "KubeletConfiguration"),
    ("kube-proxy", "<machines>.kube_proxy.config <machines>.os", kube_proxies, "KubeProxyConfiguration"),
    ("containerd", "<machines>.containerd", containerds, "containerd's config.toml"),
    ("kubeadm", "kubeadm.config", kubeadms, "kubeadm's document"),
)


def _system(group: MachineGroupSpec) -> str:
    return "windows" if group.os.is_windows else "linux"


def _unknown(documents: Callable[[Subject], Iterator[Document]]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for _, path, fields, known in documents(subject) if supported(subject) else ():
            names = known(subject.minor)
            for name in fields:
                if name not in names:
                    yield at(*path, name, name=name, minor=subject.minor, fix=_instead(name, names))

    return rule


def _instead(name: str, known: frozenset[str]) -> str:
    """Return what to write instead of an unknown field; names that differ only in case come first."""
    same = [field for field in known if field.lower() == name.replace("_", "").replace("-", "").lower()]
    return f"write {same[0]}" if same else known_words(name, sorted(known))


def _override(documents: Callable[[Subject], Iterator[Document]]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for document, path, fields, _ in documents(subject) if supported(subject) else ():
            for name in fields:
                if name in releases.set_by_us(document, subject.minor):
                    yield at(*path, name, name=name)

    return rule


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value in a nested document, with its path below the top."""
    yield path, value
    if isinstance(value, Mapping):
        for key, each in cast(Mapping[str, Any], value).items():
            yield from walk(each, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, each in enumerate(cast(Sequence[Any], value)):
            yield from walk(each, (*path, str(index)))


def everywhere(wrong: Callable[[Path, Any], bool], *documents: Callable[[Subject], Iterator[Document]]) -> Rule:
    """Return a rule over every value in these documents. wrong: gets the path inside the document, and the value."""

    def rule(subject: Subject) -> Iterator[Finding]:
        for yield_documents in documents:
            for _, path, fields, _ in yield_documents(subject):
                for below, value in walk(fields):
                    if wrong(below, value):
                        yield at(*path, *below, value=shown(value))

    return rule


def _not_json(below: Path, value: Any) -> bool:
    plain = value is None or isinstance(value, str | bool | int | Mapping | list)
    return not plain and not (isinstance(value, float) and math.isfinite(value))


def _kinds(subject: Subject) -> Iterator[Finding]:
    for kind in subject.spec.kubeadm.config:
        if kind not in KINDS:
            yield at("kubeadm", "config", kind, kind=kind, fix=known_words(kind, list(KINDS)))


CHECKS = (
    *(
        error(
            f"{document}-config-unknown",
            f"{reads} kubernetes",
            _unknown(documents),
            f"{name} of Kubernetes {{minor}} has no field {{name!r}}",
            "{fix}",
            "SRV-13",
        )
        for document, reads, documents, name in DOCUMENTS
    ),
    *(
        warning(
            f"{document}-config-override",
            f"{reads} kubernetes",
            _override(documents),
            f"Mullion sets {{name}} of {name}, and this value replaces or extends it",
            "write the option of the spec, if there is one, or acknowledge this warning",
            "SRV-08",
        )
        for document, reads, documents, name in DOCUMENTS
    ),
    error(
        "kubeadm-kind-unknown",
        "kubeadm.config",
        _kinds,
        "Mullion writes no document {kind!r} for kubeadm",
        "{fix}",
        "CP-02",
    ),
    error(
        "config-not-json",
        "<machines>.kubelet.config <machines>.kube_proxy.config <machines>.containerd.config",
        everywhere(_not_json, kubelets, kube_proxies, containerds),
        "{value} cannot be written as JSON: it is not text, a number, true or false, a list or a mapping",
        "write it in quotes",
    ),
    error(
        "kubeadm-config-not-json",
        "kubeadm.config",
        everywhere(_not_json, kubeadms),
        "{value} cannot be written as JSON: it is not text, a number, true or false, a list or a mapping",
        "write it in quotes",
    ),
)
