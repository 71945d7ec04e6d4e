"""The policy pack's rules on what the program registers, without an engine: for a cluster that is not built yet."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from operations.recorder.recorder import Registered
from policies.rules import RULES
from policies.rules.rule import UNKNOWN, Content, Resource
from sandbox import values


def broken(registered: Iterable[Registered]) -> list[str]:
    """Return a line for each violation, as `policy_preview.judge` does: resource, reason, name of the rule.

    Values that the cloud decides are unknown, and rules accept them, as in the engine's preview.
    """
    resources = [resource(each) for each in registered]
    return [f"{each.name}: {wrong} [{rule.name}]" for rule in RULES for each, wrong in rule.violations(resources)]


def resource(registered: Registered) -> Resource:
    """Return a registered resource as the rules see it."""
    return Resource(
        registered.urn,
        registered.type,
        _plain({**registered.inputs, **(registered.outputs or {})}),
        registered.protect,
        frozenset(registered.ignore_changes),
        registered.dependencies,
        registered.property_dependencies,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, values.Secret):
        return _plain(value.value)
    if isinstance(value, values.Asset):
        return Content(Path(value.path).read_bytes() if value.path else (value.text or "").encode())
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return UNKNOWN if value is values.UNKNOWN else value
