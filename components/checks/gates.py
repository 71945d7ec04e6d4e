"""Feature gates that users set: known to the version, and not locked."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from components import releases
from components.checks.check import Finding, Rule, Subject, at, error
from components.checks.user_config import Document, kube_proxies, kubeadms, kubelets
from components.checks.versions import supported
from components.spec.wording import known_words

_Documents = Callable[[Subject], Iterator[Document]]

DOCUMENTS: tuple[tuple[str, _Documents, str], ...] = (
    ("kubelet", kubelets, "<machines>.kubelet.config kubernetes"),
    ("kube-proxy", kube_proxies, "<machines>.kube_proxy.config kubernetes"),
    ("kubeadm", kubeadms, "kubeadm.config kubernetes"),
)
"""Program, its documents, paths that the checks read."""


def _set(subject: Subject, program: str, documents: _Documents) -> Iterator[tuple[Finding, str, Any, str]]:
    """Yield every gate that is set: its place, name and value, and the document whose program must know it."""
    for document, path, fields, _ in documents(subject) if supported(subject) else ():
        written = fields.get("featureGates")
        if isinstance(written, Mapping) and (program != "kubeadm" or document == "ClusterConfiguration"):
            for name, value in cast(Mapping[str, Any], written).items():
                yield at(*path, "featureGates", name), name, value, document if program == "kubeadm" else program


def _unknown(program: str, documents: _Documents) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for place, name, _, document in _set(subject, program, documents):
            known = releases.gates(document, subject.minor)
            if name not in known:
                yield Finding(place.path, {"name": name, "minor": subject.minor, "fix": _fix(document, name, known)})

    return rule


def _fix(document: str, name: str, known: frozenset[str]) -> str:
    minors = [each for each in releases.supported_minors() if name in releases.gates(document, each)]
    if minors:
        return f"remove it: only Kubernetes {minors[0]} to {minors[-1]} know it"
    return known_words(name, sorted(known))


def _locked(program: str, documents: _Documents) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        locked: Mapping[str, bool] = releases.locked_gates(subject.minor) if supported(subject) else {}
        for place, name, value, _ in _set(subject, program, documents):
            if name in locked and value is not locked[name]:
                values = {"name": name, "minor": subject.minor, "value": str(locked[name]).lower()}
                yield Finding(place.path, values)

    return rule


CHECKS = (
    *(
        error(
            f"{program}-gate-unknown",
            reads,
            _unknown(program, documents),
            f"{program} of Kubernetes {{minor}} has no feature gate {{name}} and does not start with an unknown one",
            "{fix}",
            "SRV-13",
        )
        for program, documents, reads in DOCUMENTS
    ),
    *(
        error(
            f"{program}-gate-locked",
            reads,
            _locked(program, documents),
            f"in Kubernetes {{minor}} the gate {{name}} is locked to {{value}}; {program} does not start with"
            f" another value",
            "remove it",
            "SRV-13",
        )
        for program, documents, reads in DOCUMENTS[:2]
    ),
)
