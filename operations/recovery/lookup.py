"""Whether the cloud has what the engine began to create and never heard of again.

A resource is known by its tags with our URN and cluster, one that takes no tags by all else that the program gave it:
its name and what it belongs to are among that.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operations.clouds import cloud_tables
from sandbox.values import REDACTED, SECRET, SIGNATURE, Secret

Resource = Mapping[str, Any]
"""A resource of a state, as `pulumi stack export` gives it; secrets in it are encrypted."""

Lookup = Callable[[Resource, set[str]], "Found | None"]
"""Finds one resource whose creation was cut off; None where the cloud has none. The set: ids of its type that the state
has already, which are others. For a cloud itself this would be a search by tag and the describe call of each type that
takes no tags; Mullion carries no client of a cloud, so there is none, and a person is told what to look for
(`recovery.by_hand`)."""


@dataclass(frozen=True)
class Found:
    """What the cloud has: its id and its properties as the provider reads them; secrets marked, and plain."""

    id: str
    inputs: dict[str, Any] = field(repr=False)
    outputs: dict[str, Any] = field(repr=False)


def is_tagged(resource: Resource) -> bool:
    """Whether the program gave a resource our tags."""
    cloud = cloud_tables.of_type(resource["type"])
    return bool(cloud.tag(resource["inputs"], "urn"))


def given(resource: Resource) -> dict[str, Any]:
    """Return the plain inputs of a resource that tell it from others: no secrets, no lists, no nested ones."""
    return {name: value for name, value in resource["inputs"].items() if isinstance(value, (str, int, float, bool))}


def in_sandbox(cloud_state_file: Path, cluster: str) -> Lookup:
    """Look in the sandbox's world."""
    from sandbox.cloud_state import CloudState, Record
    from sandbox.clouds import of_type
    from sandbox.provider import Provider

    def same(record: Record, resource: Resource) -> bool:
        known = record.inputs | {
            name: value for name, value in given(resource).items() if record.inputs.get(name) == REDACTED
        }
        cloud = cloud_tables.of_type(resource["type"])
        tags = {f"{cloud.mark}urn": cloud.tag_of(resource["urn"]), f"{cloud.mark}cluster": cluster}
        ours = not is_tagged(resource) or tags.items() <= record.tags.items()
        return given(resource).items() <= _plain(known).items() and ours

    def find(resource: Resource, others: set[str]) -> Found | None:
        cloud_state = CloudState(cloud_state_file)
        try:
            for record in cloud_state.resources(resource["type"]):
                if record.id not in others and same(record, resource):
                    inputs = dict(resource["inputs"])
                    # what the world keeps no copy of, such as files, is as the program gave it
                    read = Provider(of_type(resource["type"]), cloud_state).read(
                        resource["urn"], record.id, inputs, inputs
                    )
                    return Found(record.id, *map(_recorded, read)) if read else None
        finally:
            cloud_state.close()
        return None

    return find


def _recorded(value: Any) -> Any:
    """A value that a provider read, as a state holds it."""
    if isinstance(value, dict):
        return {name: _recorded(each) for name, each in value.items()}
    if isinstance(value, Secret):
        return {SIGNATURE: SECRET, "plaintext": json.dumps(value.value)}
    return [_recorded(each) for each in value] if isinstance(value, list) else value


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, (str, int, float, bool))}
