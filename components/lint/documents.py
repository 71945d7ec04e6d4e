"""Objects of manifests, and where their pods are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from components.lint.conditions import Place, items, read

T = TypeVar("T")
TEMPLATE: Place = ("spec", "template")
POD_PLACES: dict[str, Place] = {
    "Pod": (),
    **dict.fromkeys(("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"), TEMPLATE),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
}
"""Kinds with a pod -> place of the pod's metadata and spec."""

IGNORED = "mullion.dev/lint-ignore"
"""Annotation of an object, or of its pod template, with rules to ignore, separated by commas."""


@dataclass(frozen=True)
class Object:
    """One Kubernetes object."""

    data: Mapping[str, Any]
    file: str = ""
    document: int = 1
    """Number of the document in the file, from 1."""
    place: Place = ()
    """Place of the object in its document, for items of a List."""
    lines: Mapping[Place, int] = field(default_factory=dict[Place, int])
    """Lines of places of the document, from 1."""

    @property
    def kind(self) -> str:
        """Return its kind; empty if it is no text."""
        return text(self.data, "kind")

    @property
    def name(self) -> str:
        """Return its name; empty if it has none, or if the name is not text."""
        return text(self.data, "metadata.name") or text(self.data, "metadata.generateName")

    @property
    def namespace(self) -> str:
        """Return its namespace; `default` if it names none."""
        return text(self.data, "metadata.namespace") or "default"

    @property
    def pod_place(self) -> Place | None:
        """Return the place of its pod's spec; None if it has no pod."""
        place = POD_PLACES.get(self.kind)
        return None if place is None else (*place, "spec")

    @cached_property
    def pod(self) -> Mapping[str, Any] | None:
        """Return the spec of its pod; None if it has none."""
        found = at(self.data, self.pod_place) if self.pod_place is not None else None
        return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else None

    @property
    def labels(self) -> Mapping[str, Any]:
        """Return the labels of its pods."""
        place = POD_PLACES.get(self.kind)
        found = at(self.data, (*place, "metadata", "labels")) if place is not None else None
        return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else {}

    @cached_property
    def ignored(self) -> frozenset[str]:
        """Return the rules that its annotations ignore."""
        places = {(), POD_PLACES.get(self.kind, ())}
        texts = (read(at(self.data, place), f"metadata.annotations[{IGNORED}]") for place in places)
        return frozenset(rule.strip() for text in texts if isinstance(text, str) for rule in text.split(",")) - {""}

    def line(self, place: Place) -> int | None:
        """Return the line of a place of the object, or of the nearest parent; None if lines are unknown."""
        whole = (*self.place, *place)
        nearest = (whole[:length] for length in range(len(whole), -1, -1))
        return next((self.lines[each] for each in nearest if each in self.lines), None)


@dataclass(frozen=True)
class Manifests:
    """The objects that are judged together."""

    objects: tuple[Object, ...]
    _known: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False, repr=False)
    """Results of `once`, by function."""

    def once(self, find: Callable[["Manifests"], T]) -> T:
        """Return what a function finds in these manifests. The function is called for the first caller only."""
        if find not in self._known:
            self._known[find] = find(self)
        return self._known[find]

    def of(self, *kinds: str) -> Iterator[Object]:
        """Yield the objects of some kinds."""
        return (each for each in self.objects if each.kind in kinds)

    def workloads(self) -> Iterator[Object]:
        """Yield the objects with a pod."""
        return (each for each in self.objects if each.pod is not None)


def at(value: Any, place: Place) -> Any:
    """Return the value at a place; None if it is missing."""
    for key in place:
        if isinstance(value, Mapping):
            value = cast(Mapping[str | int, Any], value).get(key)
        else:
            found = items(value)
            value = found[key] if isinstance(key, int) and key < len(found) else None
    return value


def text(value: Any, path: str) -> str:
    """Return the text at a path; empty if it is missing or no text."""
    found = read(value, path)
    return found if isinstance(found, str) else ""


def dotted(place: Place) -> str:
    """Return a place as people write it: spec.containers[0].image, metadata.labels[app.kubernetes.io/name]."""
    path = ""
    for key in place:
        if isinstance(key, int) or "." in key or "/" in key:
            path += f"[{key}]"
        else:
            path += f".{key}" if path else key
    return path
