"""Resources of the repository's stacks as the rules see them, recorded without an engine."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from operations.recorder.recorder import record
from operations.stacks import stack_files
from policies.rules import RULES
from policies.rules.rule import UNKNOWN, Content, Resource
from sandbox import values

STACKS = tuple(f"{cloud}-{kind}" for cloud in ("aws", "azure", "gcp") for kind in ("dev", "ci", "prod"))


@lru_cache
def resources(stack: str, *, preview: bool = False) -> tuple[Resource, ...]:
    recording = record(stack, stack_files.config(stack), preview=preview)
    assert recording.errors == []
    return tuple(
        Resource(
            registered.urn,
            registered.type,
            plain({**registered.inputs, **(registered.outputs or {})}),
            registered.protect,
            frozenset(registered.ignore_changes),
            registered.dependencies,
            registered.property_dependencies,
        )
        for registered in recording.resources.values()
    )


def plain(value: Any) -> Any:
    if isinstance(value, values.Secret):
        return plain(value.value)
    if isinstance(value, values.Asset):
        return Content(Path(value.path).read_bytes() if value.path else (value.text or "").encode())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return UNKNOWN if value is values.UNKNOWN else value


def broken(seen: tuple[Resource, ...]) -> dict[str, list[str]]:
    """Return rule -> violations, without the rules that hold."""
    violations = {rule.name: [f"{each.name}: {wrong}" for each, wrong in rule.violations(seen)] for rule in RULES}
    return {name: wrong for name, wrong in violations.items() if wrong}
