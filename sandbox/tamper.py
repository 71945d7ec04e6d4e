"""Changes behind the engine's back: change or delete a resource without the cloud's rules.

Callers check changes themselves (operations/commands/sandbox_faults.py checks shapes and immutable properties).
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import ALL_TAGS, Record, bucket_name, object_place, secret_version


def changed(record: Record, changes: Mapping[str, Any]) -> Record:
    """Return the resource with inputs set by path (`instanceType`, `tags.owner`); the value None removes an input."""
    inputs = copy.deepcopy(record.inputs)
    for path, value in changes.items():
        parts = path.split(".")
        inputs.setdefault(parts[0], copy.deepcopy(record.outputs.get(parts[0])))
        _set(inputs, parts, value)
    touched = {path.split(".")[0] for path in changes}
    outputs = {name: value for name, value in record.outputs.items() if name not in touched}
    outputs |= {name: inputs[name] for name in touched & set(inputs)}
    for name, own in ALL_TAGS.items():
        if name in outputs:
            before, now = record.inputs.get(own) or {}, inputs.get(own) or {}
            outputs[name] = {key: value for key, value in outputs[name].items() if key not in before} | now
    return replace(record, inputs=inputs, outputs=outputs)


def change(cloud_state: CloudState, record: Record, changes: Mapping[str, Any]) -> None:
    """Set inputs of a resource by path; `content` also changes the object in its bucket."""
    after = changed(record, changes)
    with cloud_state.transaction():
        place = object_place(after)
        if isinstance(changes.get("content"), str) and place:
            etag = cloud_state.put_object(*place, changes["content"].encode(), "text/plain", versioned=False)
            after.outputs.update({"etag": etag} if "etag" in after.outputs else {})
        cloud_state.put(after)


def remove(cloud_state: CloudState, record: Record) -> None:
    """Delete a resource, and what the cloud deletes with it: its parts, objects, secret values."""
    with cloud_state.transaction():
        for dependent in cloud_state.referrers(record.type, record.id, "vanish"):
            cloud_state.remove(dependent.sequence)
        cloud_state.remove(record.sequence)
        cloud_state.empty_bucket(bucket_name(record))
        if place := object_place(record):
            cloud_state.remove_object(*place)
        cloud_state.remove_secret(*secret_version(record))


def _set(values: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        if not isinstance(values.get(part), dict):
            values[part] = {}
        values = values[part]
    if value is None:
        values.pop(parts[-1], None)
    else:
        values[parts[-1]] = value
