"""Types of the fields that users write into configuration documents."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from components import releases
from components.checks.check import Finding, Path, Rule, Subject, at, error
from components.checks.user_config import Document, kube_proxies, kubeadms, kubelets
from components.checks.versions import supported
from components.spec.wording import known_words, shown

_DURATION = re.compile(r"[+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+")
"""The form of durations that Go's time.ParseDuration accepts."""


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _each(value: Any, kind: type, of: type[Any]) -> bool:
    inside: Any = cast(Mapping[str, Any], value).values() if isinstance(value, Mapping) else value
    return isinstance(value, kind) and all(isinstance(each, of) for each in cast(list[Any], inside))


FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text, in quotes"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (_whole, "a whole number"),
    "count": (lambda value: _whole(value) and value >= 0, "a whole number, 0 or more"),
    "number": (lambda value: _whole(value) or isinstance(value, float), "a number"),
    "duration": (lambda value: isinstance(value, str) and bool(_DURATION.fullmatch(value)), "a duration such as 10s"),
    "texts": (lambda value: _each(value, list, str), "a list of texts: [a, b]"),
    "list": (lambda value: isinstance(value, list), "a list: [...]"),
    "map": (lambda value: isinstance(value, Mapping), "keys and values: {key: value}"),
    "object": (lambda value: isinstance(value, Mapping), "keys and values: {key: value}"),
    "text-map": (lambda value: _each(value, Mapping, str), 'keys and texts: {key: "text"}'),
    "bool-map": (lambda value: _each(value, Mapping, bool), "keys and truth values: {key: true}"),
    "any": (lambda value: True, "a value"),
}
"""By kind: whether a value fits, and what to write. null always fits: it leaves the default, or Mullion's value."""

ITEMS: dict[str, tuple[str, ...]] = {
    "extraArgs": ("name", "value"),
    "extraEnvs": ("name",),
    "extraVolumes": ("name", "hostPath", "mountPath"),
}
"""Last part of a field that is a list of mappings -> fields that each item must have as text (kubeadm's v1beta4).

The user's items are merged with Mullion's by their names, so an item without one would replace all of them.
"""


def _typed(document: str | None, documents: Callable[[Subject], Iterator[Document]]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for name, path, fields, _ in documents(subject) if supported(subject) else ():
            yield from _wrong(fields, path, "", releases.fields(document or name, subject.minor))

    return rule


def _wrong(fields: Mapping[str, Any], path: Path, above: str, kinds: Mapping[str, str]) -> Iterator[Finding]:
    for key, value in fields.items():
        name = above + key
        kind = kinds.get(name)
        if kind is None:
            if above:  # unknown fields at the top: see user_config
                known = [each.removeprefix(above) for each in kinds if each.startswith(above)]
                names = sorted(each for each in known if "." not in each)
                yield at(*path, key, wrong=f"{above[:-1]} has no field {key!r}", fix=known_words(key, names))
            continue
        fits, expected = FITS[kind]
        if value is not None and not fits(value):
            yield at(*path, key, wrong=f"{name} cannot be {shown(value)}", fix=f"write {expected}")
        elif kind == "list" and value is not None:
            yield from _items(cast(list[Any], value), (*path, key), ITEMS.get(key, ()))
        elif kind == "object" and value is not None:
            yield from _wrong(value, (*path, key), f"{name}.", kinds)


def _items(items: list[Any], path: Path, needed: tuple[str, ...]) -> Iterator[Finding]:
    for index, item in enumerate(items) if needed else ():
        given = cast(Mapping[str, Any], item if isinstance(item, Mapping) else {})
        wrong = [
            name for name in needed if not isinstance(given.get(name), str) or (name == "name" and not given[name])
        ]
        if wrong:
            what = f"an item of {path[-1]} has no text in {', '.join(wrong)}"
            yield at(*path, index, wrong=what, fix=f"write {', '.join(needed)} of the item, in quotes")


CHECKS = tuple(
    error(f"{document}-config-type", f"{reads} kubernetes", _typed(fields, documents), "{wrong}", "{fix}", "SRV-13")
    for document, fields, reads, documents in (
        ("kubelet", "kubelet", "<machines>.kubelet.config", kubelets),
        ("kube-proxy", "kube-proxy", "<machines>.kube_proxy.config", kube_proxies),
        ("kubeadm", None, "kubeadm.config", kubeadms),
    )
)
