"""What someone does behind the program's back: change a thing, or delete it, without the cloud's rules.

A change is refused only where the caller asks for it (operations/faults.py asks shapes and immutable properties).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.records import Record
    from sandbox.world import World


def changed(record: Record, changes: Mapping[str, Any]) -> Record:
    """The thing with inputs set by path (`instanceType`, `tags.owner`); None takes one away."""
    inputs = copy.deepcopy(record.inputs)
    for path, value in changes.items():
        parts = path.split(".")
        inputs.setdefault(parts[0], copy.deepcopy(record.outputs.get(parts[0])))
        _set(inputs, parts, value)
    outputs = {name: value for name, value in record.outputs.items() if name not in record.inputs} | inputs
    if "tagsAll" in outputs:
        own, now = record.inputs.get("tags") or {}, inputs.get("tags") or {}
        outputs["tagsAll"] = {key: value for key, value in record.tags.items() if key not in own} | now
    return replace(record, inputs=inputs, outputs=outputs)


def change(world: World, record: Record, changes: Mapping[str, Any]) -> None:
    """Set inputs of a thing; the `content` of an object is also what one reads in its bucket."""
    after = changed(record, changes)
    with world.transaction():
        if isinstance(changes.get("content"), str) and "key" in after.inputs:
            bucket, key, content = after.inputs["bucket"], after.inputs["key"], changes["content"].encode()
            after.outputs["etag"] = world.put_object(bucket, key, content, "text/plain", versioned=False)
        world.put(after)


def remove(world: World, record: Record) -> None:
    """Take a thing away, with what the cloud takes along: parts of it, objects, secret values."""
    with world.transaction():
        for dependent in world.referrers(record.type, record.id, "vanish"):
            world.remove(dependent.sequence)
        world.remove(record.sequence)
        world.empty_bucket(record.id)
        if "key" in record.inputs and "bucket" in record.inputs:
            world.remove_object(record.inputs["bucket"], record.inputs["key"])
        secret, _, version = record.id.partition("|")
        world.remove_secret(secret, version or None)


def _set(values: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        if not isinstance(values.get(part), dict):
            values[part] = {}
        values = values[part]
    if value is None:
        values.pop(parts[-1], None)
    else:
        values[parts[-1]] = value
