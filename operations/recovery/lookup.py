"""Finds resources in the cloud whose creation was interrupted.

A tagged resource is recognised by its URN and cluster tags, an untagged one by its other inputs, such as its name and
its parent's id.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operations.clouds import cloud_tables
from sandbox.values import REDACTED, SECRET, SIGNATURE, Secret

Resource = Mapping[str, Any]
"""A resource of a state, as `pulumi stack export` prints it; its secrets are encrypted."""

Lookup = Callable[[Resource, set[str]], "Found | None"]
"""Finds one resource whose creation was interrupted; None if the cloud does not have it. The set contains the ids of
this type that are in the state already. There is no lookup for real clouds, because Mullion has no API client of a
cloud: `recovery.by_hand` prints what the user must search for."""


@dataclass(frozen=True)
class Found:
    """A resource in the cloud: its id, and its properties as the provider reads them, with secrets in plain text but
    marked.
    """

    id: str
    inputs: dict[str, Any] = field(repr=False)
    outputs: dict[str, Any] = field(repr=False)


def is_tagged(resource: Resource) -> bool:
    """Return whether the program set Mullion's tags on a resource."""
    cloud = cloud_tables.of_type(resource["type"])
    return bool(cloud.tag(resource["inputs"], "urn", resource["type"]))


def given(resource: Resource) -> dict[str, Any]:
    """Return the inputs of a resource that identify it: plain values, without secrets, lists and nested objects."""
    return {name: value for name, value in resource["inputs"].items() if isinstance(value, (str, int, float, bool))}


def in_sandbox(database: Path, cluster: str) -> Lookup:
    """Return a lookup in a sandbox's cloud state."""
    from sandbox.cloud_state import CloudState, Record
    from sandbox.clouds import of_type
    from sandbox.provider import Provider

    def same(record: Record, resource: Resource) -> bool:
        known = record.inputs | {
            name: value for name, value in given(resource).items() if record.inputs.get(name) == REDACTED
        }
        cloud = cloud_tables.of_type(resource["type"])
        mark = cloud.mark_of(resource["type"])
        tags = {f"{mark}urn": cloud.tag_of(resource["urn"]), f"{mark}cluster": cluster}
        ours = not is_tagged(resource) or tags.items() <= record.tags.items()
        return given(resource).items() <= _plain(known).items() and ours

    def find(resource: Resource, others: set[str]) -> Found | None:
        cloud_state = CloudState(database)
        try:
            for record in cloud_state.resources(resource["type"]):
                if record.id not in others and same(record, resource):
                    inputs = dict(resource["inputs"])
                    # properties that the cloud state does not store, such as files, come from the program's inputs
                    read = Provider(of_type(resource["type"]), cloud_state).read(
                        resource["urn"], record.id, inputs, inputs
                    )
                    return Found(record.id, *map(_recorded, read)) if read else None
        finally:
            cloud_state.close()
        return None

    return find


def _recorded(value: Any) -> Any:
    """Return a value from a provider in the form of a state."""
    if isinstance(value, dict):
        return {name: _recorded(each) for name, each in value.items()}
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET, "plaintext": json.dumps(value.value)}
    return [_recorded(each) for each in value] if isinstance(value, list) else value


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, (str, int, float, bool))}
