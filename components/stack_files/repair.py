"""Validate a spec and repair it: a valid ClusterSpec, and all problems of the form.

Wrong parts are reported, then left out or replaced by a placeholder, so that the checks can read the rest in the same
run. `broken` holds the paths of these parts; checks that read one of them say nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, cast

from pydantic import ValidationError

from components.checks.check import Path
from components.spec.form import FORMS
from components.spec.models import ClusterSpec
from components.spec.report import Problem
from components.spec.wording import shown, yaml_text
from components.stack_files.validation_errors import annotation_at, expected, explain

DEEPEST = 24
"""Most levels of nesting. No option needs half of them, but a YAML alias that contains itself never ends."""

PLACEHOLDERS: dict[str, Any] = {
    "cloud": "aws",
    "kubernetes": "1.32.13",
    "os": "ubuntu-24.04",
    "network": "",
    "subnets": [],
}
"""Values of required keys that are missing or wrong; checks do not read them."""


@dataclass(frozen=True)
class Reading:
    """The repaired spec, its problems, and the paths of broken parts."""

    spec: ClusterSpec
    problems: tuple[Problem, ...]
    broken: frozenset[Path]


def read(document: Mapping[str, Any]) -> Reading:
    """Validate a `mullion:cluster` object. Raises nothing, whatever the document holds."""
    problems: list[Problem] = []
    broken: set[Path] = set()
    plain = cast(dict[str, Any], _plain(document, (), problems, broken))
    while True:
        try:
            spec = ClusterSpec.model_validate(plain)
            return Reading(spec, tuple(problems), frozenset(broken))
        except ValidationError as failure:
            errors = [(_path(details["loc"]), details) for details in failure.errors(include_url=False)]
            problems += [explain(path, details) for path, details in errors if not _under(path, broken)]
            broken |= {path for path, _ in errors}
            for path in sorted({_removable(plain, path) for path, _ in errors}, key=_last_items_first):
                _repair(plain, path)


def _plain(value: Any, path: Path, problems: list[Problem], broken: set[Path], depth: int = 0) -> Any:
    """Return a copy in dicts and lists with text keys, without encrypted values and values nested too deep."""
    if depth > DEEPEST:
        problems.append(FORMS["nested-too-deep"].problem(".".join(path[:4]), limit=DEEPEST))
        broken.add(path[:4])
        return None
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        if set(items) == {"secure"}:
            problems.append(FORMS["secret-in-spec"].problem(".".join(path) or "mullion:cluster"))
            broken.add(path)
            return {}
        for key in items:
            if not isinstance(key, str):
                text = yaml_text(key)
                problems.append(FORMS["key-unquoted"].problem(".".join((*path, text)), key=text))
                broken.add((*path, text))
        texts = {key if isinstance(key, str) else yaml_text(key): value for key, value in items.items()}
        return {key: _plain(value, (*path, key), problems, broken, depth + 1) for key, value in texts.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        each = enumerate(cast(Sequence[Any], value))
        return [_plain(item, (*path, str(i)), problems, broken, depth + 1) for i, item in each]
    if _passes_unseen(value, annotation_at(path)):
        problems.append(FORMS["wrong-type"].problem(".".join(path), value=shown(value), expected=expected(path)))
        broken.add(path)
        return {}
    return value


def _passes_unseen(value: Any, annotation: Any) -> bool:
    """Return whether pydantic would convert the value silently: a number or bytes to an address, true to 1."""
    if annotation in (IPv4Network, IPv4Address):
        return isinstance(value, int | float | bytes)
    return annotation is int and isinstance(value, bool)


def _path(location: tuple[int | str, ...]) -> Path:
    return tuple(str(key) for key in location if key != "[key]")


def _under(path: Path, broken: set[Path]) -> bool:
    return any(path[: len(part)] == part for part in broken)


def _removable(document: dict[str, Any], path: Path) -> Path:
    """Return the path to remove: of an item in a list the whole item, because its rest could be wrong again and
    again.
    """
    for depth, (parent, _) in enumerate(_steps(document, path), 1):
        if isinstance(parent, list):
            return path[:depth]
    return path


def _last_items_first(path: Path) -> tuple[int, ...]:
    """Return a sort key that puts later items of a list first: removing an item moves those behind it."""
    return tuple(-int(key) if key.isdecimal() else 0 for key in path)


def _repair(document: dict[str, Any], path: Path) -> None:
    """Remove the value at the path, or the nearest part above it that exists; fill in a placeholder if it is
    required. The object that lacks a required key without a placeholder is removed.
    """
    *above, (parent, key) = _steps(document, path)
    lacks = key not in parent
    if isinstance(parent, list):
        del cast(list[Any], parent)[int(key)]
    elif parent.pop(key, None) is None and key in PLACEHOLDERS:
        parent[key] = PLACEHOLDERS[key]
    elif lacks and above:
        holder, name = above[-1]
        del holder[int(name) if isinstance(holder, list) else name]


def _steps(document: dict[str, Any], path: Path) -> Iterator[tuple[Any, str]]:
    current: Any = document
    for key in path:
        yield current, key
        inside: Any = None
        if isinstance(current, dict):
            inside = cast(dict[str, Any], current).get(key)
        elif isinstance(current, list):
            inside = cast(list[Any], current)[int(key)]
        if not isinstance(inside, dict | list):
            return
        current = cast(Any, inside)
