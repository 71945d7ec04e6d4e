"""`mullion explain`: what an option of the stack file means, its values, and what a change of it does."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from components.spec import change_effects
from components.spec.change_effects import Effect
from components.spec.examples import EXAMPLES
from components.spec.units import FORMATS, QUANTITIES, allowed, unit
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.stacks.paths import REPOSITORY

ROOT = "ClusterSpec"
EVERY = "*"

TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "keys and values"}
LISTS = ("entries", "subnets", "ports")
"""Options that are lists of groups of options."""
SENTENCES = {
    Effect.IN_PLACE: "the next `up` applies it, and every machine stays",
    Effect.NEXT_MACHINE: "it applies to machines created later; existing machines stay as they are",
    Effect.REFUSED: "`up` refuses it while the cluster exists; run `mullion down`, then `mullion up`",
    Effect.NOT_AVAILABLE: "this version of Mullion accepts only the default",
}
REPLACED = "the next `up` replaces the machines of {}, wave by wave"
IN_CLUSTER = "; control-plane machines are updated in place"


@dataclass(frozen=True)
class Option:
    """One option, or a group of options. model: the definition of the schema that contains it."""

    path: tuple[str, ...]
    model: str
    required: bool
    schema: dict[str, Any]

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def kind(self) -> dict[str, Any]:
        """Return the schema of the value: references followed, null left out."""
        return _value(self.schema)


@lru_cache
def _definitions() -> dict[str, Any]:
    return json.loads((REPOSITORY / "stacks" / "schema.json").read_text("utf-8"))["definitions"]


def _value(schema: dict[str, Any]) -> dict[str, Any]:
    for member in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        if member.get("type") != "null":
            return _value(member)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return {"title": name, **_definitions()[name]}
    return schema


def explain(path: str) -> None:
    """Print the page of an option. Raises Stop with the nearest option if the path names none."""
    print(page(path))


def page(path: str) -> str:
    """Return the page of an option; of the whole spec for an empty path."""
    parts = tuple(path.strip().removeprefix("mullion:cluster").strip(".").replace("[", ".").replace("]", "").split("."))
    option = find(parts) if parts != ("",) else None
    lines = [*_head(option)] if option else ["mullion:cluster   describes the cluster of a stack file", ""]
    if below := list(children(option)):
        lines += [
            "Options:",
            table(("option", "type", "default", "change", "meaning"), [_row(child) for child in below]),
        ]
    return "\n".join(lines).rstrip()


def children(option: Option | None) -> Iterator[Option]:
    """Yield the options directly below an option; those of the whole spec for None."""
    path = option.path if option else ()
    kind = {"title": ROOT, **_definitions()[ROOT]} if option is None else option.kind
    if "properties" not in kind:
        inner = kind.get("additionalProperties") or kind.get("items")
        kind = _value(inner) if isinstance(inner, dict) else {}
        path = (*path, EVERY) if path else path
    for name, schema in kind.get("properties", {}).items():
        yield Option((*path, name), kind["title"], name in kind.get("required", ()), schema)


def find(parts: tuple[str, ...]) -> Option:
    """Return the option of a path, such as pools.*.os or pools.web.os. Raises Stop if there is no such option."""
    option = _root_option(parts[0])
    for part in parts[1:]:
        option = _below(option, part)
    return option


def _root_option(name: str) -> Option:
    known = {child.name: child for child in children(None)}
    if name not in known:
        raise Stop(Exit.USAGE, _unknown((), name, list(known)))
    return known[name]


def _below(option: Option, part: str) -> Option:
    """Return the option of this name; below a map or list, whose items are alike, the item of any name or index."""
    known = {child.name: child for child in children(option)}
    if known and "properties" not in option.kind and part not in known:
        return Option((*option.path, part), option.model, False, _item(option))
    if part not in known:
        raise Stop(Exit.USAGE, _unknown(option.path, part, list(known)))
    return known[part]


def _item(option: Option) -> dict[str, Any]:
    inner = option.kind.get("additionalProperties") or option.kind.get("items")
    return inner if isinstance(inner, dict) else {}


def _unknown(place: tuple[str, ...], name: str, known: list[str]) -> str:
    from components.stack_files.validation_errors import instead  # imports pydantic, which takes a third of a second

    where = ".".join(place) or "mullion:cluster"
    if not known:
        return f"{where} has no options below it; run: mullion explain {where}"
    advice = re.match(r"(?:write|move it to) (.*?)(?:, or remove it)?$", instead((*place, name))) if name else None
    meant = f"; did you mean {advice[1].replace('<name>', EVERY)}?" if advice else "."
    return f"{where} has no option {name!r}{meant} Its options: {', '.join(known)}"


def _head(option: Option) -> Iterator[str]:
    yield f"{option.dotted}   {_type(option)}"
    yield ""
    yield f"  {option.schema.get('description') or option.kind.get('description', '')}"
    yield ""
    for label, value in _facts(option):
        yield f"  {label:<8} {value}"
    yield ""
    yield from _example(option)


def _facts(option: Option) -> Iterator[tuple[str, str]]:
    if default := _default(option):
        yield "default", default
    kind = option.kind
    if values := allowed(kind):
        yield "allowed", values
    if measure := unit(option.model, option.name):
        yield "unit", measure
    yield "change", _change(option)


def _change(option: Option) -> str:
    """Say what a change of the option does."""
    effect, note = change_effects.effect(option.dotted), change_effects.note(option.dotted)
    if effect is None:
        return "see each option below"
    sentence = SENTENCES.get(effect, REPLACED.format("the pool"))
    if effect is Effect.REPLACED and option.path[0] != "pools":
        sentence = REPLACED.format("every pool") + IN_CLUSTER
    return f"{effect.value}: {sentence}. {note}".rstrip()


def _default(option: Option) -> str:
    """Return the default as YAML; empty for a group of options, `required` where there must be a value."""
    if option.required:
        return "none: it is required"
    if "properties" in option.kind or "default" not in option.schema:
        return "" if "properties" in option.kind else "see above"
    value = option.schema["default"]
    return "not set" if value is None else json.dumps(value) if not isinstance(value, str) else value


def _type(option: Option) -> str:
    kind = option.kind
    if "enum" in kind and kind.get("type") == "string":
        return "one of a list"
    if kind.get("type") == "array":
        return f"list of {_plural(_value(kind.get('items', {})))}"
    if "properties" in kind:
        return "group of options"
    if isinstance(kind.get("additionalProperties"), dict) and "properties" in _value(kind["additionalProperties"]):
        return "groups of options, by name"
    return QUANTITIES.get(kind.get("pattern", "")) or FORMATS.get(kind.get("format", "")) or TYPES[kind["type"]]


def _plural(kind: dict[str, Any]) -> str:
    if "properties" in kind:
        return "groups of options"
    words = FORMATS.get(kind.get("format", "")) or TYPES.get(kind.get("type", ""), "text")
    return {"text": "texts", "whole number": "whole numbers", "IPv4 address": "IPv4 addresses"}.get(
        words, "IPv4 ranges (address/prefix)"
    )


def _row(option: Option) -> tuple[str, ...]:
    meaning = option.schema.get("description") or option.kind.get("description", "")
    kind, default = _type(option).partition(":")[0], _default(option)
    short = {"none: it is required": "required", "see above": "see meaning"}.get(default, default)
    effect = change_effects.effect(option.dotted)
    change = effect.value if effect else "see its page"
    return option.name, kind, short if len(short) <= 24 else "see its page", change, meaning


def _example(option: Option) -> Iterator[str]:
    value = EXAMPLES.get(f"{option.model}.{option.name}")
    if value is None:
        return
    yield "  Example:"
    indent, item = 4, False
    for depth, key in enumerate(("mullion:cluster", *option.path)):
        if depth > 1 and option.path[depth - 2] in LISTS:
            item = True  # a list: the first key of an item follows a hyphen
            continue
        line = f"{' ' * indent}{'- ' if item else ''}{'NAME' if key == EVERY else key}:"
        yield f"{line} {value}" if depth == len(option.path) else line
        indent, item = indent + 2, False
    yield ""
