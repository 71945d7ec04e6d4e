"""Resources of the repository's stacks as the rules see them, recorded without an engine."""

from functools import lru_cache

from operations.engine import recorded_policies
from operations.recorder.recorder import record
from operations.stacks import stack_files
from policies.rules import RULES
from policies.rules.rule import Resource

STACKS = tuple(f"{cloud}-{kind}" for cloud in ("aws", "azure", "gcp") for kind in ("dev", "ci", "prod"))


@lru_cache
def resources(stack: str, *, preview: bool = False) -> tuple[Resource, ...]:
    recording = record(stack, stack_files.config(stack), preview=preview)
    assert recording.errors == []
    return tuple(map(recorded_policies.resource, recording.resources.values()))


def broken(seen: tuple[Resource, ...]) -> dict[str, list[str]]:
    """Return rule -> violations, without the rules that hold."""
    violations = {rule.name: [f"{each.name}: {wrong}" for each, wrong in rule.violations(seen)] for rule in RULES}
    return {name: wrong for name, wrong in violations.items() if wrong}
