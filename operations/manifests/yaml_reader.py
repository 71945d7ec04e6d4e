"""YAML documents with the lines of their values, read within limits on size, depth and aliases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from components.lint.conditions import Place

MOST_BYTES = 64 * 1024 * 1024
"""Largest file, bytes: a hundred times the manifests of a large chart."""
MOST_NODES = 1_000_000
"""Most values of a file, counting those that aliases repeat."""
DEEPEST = 200
"""Deepest nesting, with aliases expanded; schemas in CRDs have up to 80 levels."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_TAG = "tag:yaml.org,2002:"
_TOO_DEEP = f"it is nested deeper than {DEEPEST} levels, with aliases expanded"


class Unreadable(Exception):
    """The file cannot be read as YAML. line: counted from 1, if known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class Document:
    """One document of a file."""

    number: int
    data: Any
    lines: dict[Place, int]
    """Line of each value, from 1."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A value, its line, and its children."""

    value: Any
    line: int
    children: "Mapping[str | int, _Node]"
    size: int = 1
    """Number of values, with this one."""
    height: int = 0
    """Levels below it."""

    def at_line(self, line: int) -> "_Node":
        """Return the value on another line: that of its key, or of an alias."""
        return _Node(self.value, line, self.children, self.size, self.height)


def documents(text: str) -> Iterator[Document]:
    """Yield the documents that are not empty. Raises Unreadable."""
    try:
        events = yaml.parse(text, Loader=_LOADER)
        yield from _Reader(events).documents()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = (getattr(error, "context", None), getattr(error, "problem", None) or str(error))
        reason = ", ".join(each for each in words if each)
        raise Unreadable(f"it is not YAML: {reason}", mark.line + 1 if mark else None) from None


class _Reader:
    """Builds the values of a file from YAML's events, within the limits, which PyYAML's composer lacks."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.anchors: dict[str, _Node] = {}
        self.left = MOST_NODES

    def documents(self) -> Iterator[Document]:
        number = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                number += 1
                self.anchors = {}
                node = self._node(next(self.events), 0)
                if node.value is not None:
                    lines: dict[Place, int] = {}
                    _collect(node, (), lines)
                    yield Document(number, node.value, lines)

    def _node(self, event: Any, depth: int) -> _Node:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            known = self.anchors.get(event.anchor)
            if known is None:
                raise Unreadable(
                    f"the alias *{event.anchor} has no anchor before it, or is inside its own anchor", line
                )
            return self._counted(known.at_line(line), known.size, depth)
        if isinstance(event, yaml.ScalarEvent):
            node = self._counted(_Node(_scalar(event, line), line, {}), 1, depth)
        elif depth >= DEEPEST:
            raise Unreadable(_TOO_DEEP, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(line, depth)
        else:
            node = self._map(line, depth)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _list(self, line: int, depth: int) -> _Node:
        children: dict[str | int, _Node] = {}
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            children[len(children)] = self._node(event, depth + 1)
        return self._counted(_above([each.value for each in children.values()], line, children), 1, depth)

    def _map(self, line: int, depth: int) -> _Node:
        children: dict[str | int, _Node] = {}
        merged: list[_Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, at = self._node(event, depth + 1).value, event.start_mark.line + 1
            value = self._node(next(self.events), depth + 1)
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                merged += _to_merge(value, at)
                continue
            name = _key(key, at)
            if name in children:
                raise Unreadable(f"the key {name} appears twice", at)
            children[name] = value.at_line(at)
        for node in merged:
            for name, child in node.children.items():
                children.setdefault(name, child)
        return self._counted(_above({name: each.value for name, each in children.items()}, line, children), 1, depth)

    def _counted(self, node: _Node, more: int, depth: int) -> _Node:
        """Count `more` new values, and return the node. Raises Unreadable beyond the limits."""
        self.left -= more
        if self.left < 0:
            raise Unreadable(f"it has more than {MOST_NODES} values, with those that aliases repeat", node.line)
        if depth + node.height > DEEPEST:
            raise Unreadable(_TOO_DEEP, node.line)
        return node


def _above(value: Any, line: int, children: dict[str | int, _Node]) -> _Node:
    size = 1 + sum(each.size for each in children.values())
    return _Node(value, line, children, size, 1 + max((each.height for each in children.values()), default=0))


def _to_merge(node: _Node, line: int) -> list[_Node]:
    nodes = [*node.children.values()] if isinstance(node.value, list) else [node]
    if not all(isinstance(each.value, dict) for each in nodes):
        raise Unreadable("<< merges a value that is not a map", line)
    return nodes


def _key(key: Any, line: int) -> str:
    if isinstance(key, dict | list):
        raise Unreadable("a key is a map or a list", line)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)


def _scalar(event: Any, line: int) -> Any:
    """Return the value as sigs.k8s.io/yaml does: dates and times stay text."""
    tag = event.tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)
    kind = tag.removeprefix(_TAG)
    if kind in ("str", "timestamp", "value", "merge") or (":" in event.value and kind in ("int", "float")):
        return event.value
    if kind not in ("bool", "int", "float", "null"):
        raise Unreadable(f"the tag !{kind} is not allowed in Kubernetes manifests", line)
    try:
        value = _CONSTRUCTOR.construct_object(yaml.ScalarNode(tag, event.value), deep=True)
    except (ValueError, yaml.YAMLError):
        return event.value
    # Python prints no integer of more than 4300 digits; Kubernetes has none of more than 64 bits
    return event.value if isinstance(value, int) and value.bit_length() > 64 else value


def _collect(node: _Node, place: Place, lines: dict[Place, int]) -> None:
    lines[place] = node.line
    for key, child in node.children.items():
        _collect(child, (*place, key), lines)
