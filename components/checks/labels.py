"""Node labels: their form, and prefixes that users cannot set."""

import re
from collections.abc import Callable, Iterator

from components.checks.check import Finding, Rule, Subject, at, error

_NAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
VALUE = re.compile(r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")
_PREFIX = re.compile(r"^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")

OWN_PREFIX = "mullion"
"""Prefix of labels and tags that Mullion sets."""

SET_BY_US = frozenset(
    [
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "node.kubernetes.io/windows-build",
        "node.kubernetes.io/instance-type",
    ]
)
"""Labels that the kubelet or Mullion sets; another value would break selectors."""

KUBELET_MAY = frozenset(
    [
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "beta.kubernetes.io/instance-type",
    ]
)
"""Labels of kubernetes.io that the NodeRestriction admission plugin lets a kubelet set."""

KUBELET_MAY_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")
"""Prefixes that NodeRestriction lets a kubelet set (plugin/pkg/admission/noderestriction,
kubelet/pkg/apis/well_known_labels.go)."""


def key_fault(key: str) -> str:
    """Return why the key of a label or taint is not valid; "" if it is."""
    prefix, slash, name = key.rpartition("/")
    if slash and not _PREFIX.fullmatch(prefix):
        return f"the prefix {prefix!r} is not a DNS name"
    return "" if _NAME.fullmatch(name) else f"{name!r} is not made of 1 to 63 letters, digits, - _ and ."


def _each_label(wrong: Callable[[str, str], str]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for name, pool in subject.spec.pools.items():
            for key, value in pool.labels.items():
                if why := wrong(key, value):
                    yield at("pools", name, "labels", key, key=key, value=value, why=why)

    return rule


def _label_key(key: str, value: str) -> str:
    return key_fault(key)


def _label_value(key: str, value: str) -> str:
    return "" if VALUE.fullmatch(value) else "it is not made of at most 63 letters, digits, - _ and ."


def _label_ours(key: str, value: str) -> str:
    mine = key in SET_BY_US or key.startswith((f"{OWN_PREFIX}.", f"{OWN_PREFIX}/"))
    return "Mullion or the kubelet sets it" if mine else ""


def _label_restricted(key: str, value: str) -> str:
    prefix = key.rpartition("/")[0]
    in_space = any(prefix == space or prefix.endswith("." + space) for space in ("kubernetes.io", "k8s.io"))
    allowed = key in KUBELET_MAY | SET_BY_US or any(
        prefix == each or prefix.endswith("." + each) for each in KUBELET_MAY_PREFIXES
    )
    return "the API server lets no kubelet set it, so the node could not register" if in_space and not allowed else ""


CHECKS = (
    error(
        "label-key",
        "pools.<pool>.labels",
        _each_label(_label_key),
        "the label key {key!r} is not valid: {why}",
        "write name or prefix/name, such as team or example.com/team",
        "SCH-01",
    ),
    error(
        "label-value",
        "pools.<pool>.labels",
        _each_label(_label_value),
        "the label value {value!r} is not valid: {why}",
        "write letters, digits, - _ and ., beginning and ending with a letter or digit",
        "SCH-01",
    ),
    error(
        "label-set-by-mullion",
        "pools.<pool>.labels",
        _each_label(_label_ours),
        "{key} is reserved: {why}",
        "remove it: the node gets this label without it",
        "SCH-01 SCH-04",
    ),
    error(
        "label-restricted",
        "pools.<pool>.labels",
        _each_label(_label_restricted),
        "{key}: {why} (NodeRestriction)",
        "write a prefix of your organisation, such as example.com/, or node.kubernetes.io/",
        "SCH-01",
    ),
)
