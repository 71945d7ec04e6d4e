"""Checks that a provider makes without its cloud: automatic names, name rules, properties that exclude each other."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from sandbox.cloud import ResourceType
from sandbox.shapes import Failure
from sandbox.values import select

DEFAULTS = "__defaults"


def with_name(
    row: ResourceType, urn: str, old: dict[str, Any], inputs: dict[str, Any], seed: bytes
) -> tuple[dict[str, Any], list[Failure]]:
    """Return inputs with an automatic name, if the type has automatic names and the program sets none, and failures.

    The name stays while it is automatic; the input DEFAULTS lists automatic properties.
    """
    rule = row.auto_name
    if rule is None or rule.property in inputs or f"{rule.property}Prefix" in inputs:
        return inputs | {DEFAULTS: []}, []
    if rule.property in old.get(DEFAULTS, []) and old.get(rule.property):
        return inputs | {rule.property: old[rule.property], DEFAULTS: [rule.property]}, []
    logical = urn.rsplit("::", 1)[-1]
    logical = re.sub(r"[^a-z0-9.-]", "-", logical.lower()) if rule.lower else logical
    digits = hashlib.sha256(seed + urn.encode()).hexdigest()[: rule.digits]
    name = f"{logical}{rule.separator}{digits}" if rule.digits else logical
    if len(name) > rule.limit:
        reason = f"the automatic name {name!r} has more than {rule.limit} characters; shorten the logical name"
        return inputs, [Failure(rule.property, f"{reason} or set {rule.property}")]
    return inputs | {rule.property: name, DEFAULTS: [rule.property]}, []


def conditions(row: ResourceType, inputs: dict[str, Any]) -> Iterator[Failure]:
    """Check name rules, ranges and combinations of properties; inputs are plain."""
    yield from _values(row, inputs)
    for group in row.at_most_one:
        given = [name for name in group if inputs.get(name) is not None]
        if len(given) > 1:
            yield Failure(given[1], f"conflicts with {given[0]}; set one of {', '.join(group)}")
    for group in row.at_least_one:
        if all(inputs.get(name) is None for name in group):
            yield Failure(group[0], f"missing: set {' or '.join(group)}")


def _values(row: ResourceType, inputs: dict[str, Any]) -> Iterator[Failure]:
    for path, (pattern, rule) in row.patterns.items():
        for value in select(inputs, path):
            if isinstance(value, str) and not pattern.fullmatch(value):
                yield Failure(path, f"{value!r} is not valid: {rule}")
    for path, (least, most) in row.ranges.items():
        for value in select(inputs, path):
            if isinstance(value, int) and not least <= value <= most:
                yield Failure(path, f"{value} is not in the range ({least} - {most})")
