"""What a rule is, and what it sees. Nothing here or in the other rules knows the engine."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Properties = Mapping[str, Any]
"""Inputs by the provider's names. Values are JSON's, UNKNOWN, or Content."""


class Unknown:
    """The type of UNKNOWN."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()
"""A value that only the cloud will know. Rules say nothing about it: they run again in `up`, once it is known."""


@dataclass(frozen=True)
class Content:
    """The content of an asset; None where it cannot be read here."""

    data: bytes | None = field(repr=False)


@dataclass(frozen=True)
class Resource:
    """One resource as the engine plans it."""

    urn: str
    type: str
    properties: Properties = field(repr=False)
    protect: bool = False
    ignore_changes: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    """URNs; filled in for rules over the whole stack alone, as is the next."""
    inputs_from: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """URNs that an input's value comes from, by input."""

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True)
class ResourceRule:
    """A rule over one resource of these types: gives what is wrong with it, in words."""

    name: str
    says: str
    types: frozenset[str]
    check: Callable[[Resource], Iterable[str]]

    def violations(self, resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
        """Give each violation among resources, and what is wrong."""
        for each in resources:
            if each.type in self.types:
                yield from ((each, wrong) for wrong in self.check(each))


@dataclass(frozen=True)
class StackRule:
    """A rule over all resources of a stack: gives which one is wrong, and what."""

    name: str
    says: str
    violations: Callable[[Collection[Resource]], Iterable[tuple[Resource, str]]]


INSTANCE, GCP_INSTANCE = "aws:ec2/instance:Instance", "gcp:compute/instance:Instance"
AZURE_MACHINE = "azure-native:compute:VirtualMachine"
MACHINES = frozenset({INSTANCE, GCP_INSTANCE, AZURE_MACHINE})
OBJECTS = {
    "aws:s3/bucketObjectv2:BucketObjectv2": "key",
    "azure-native:storage:Blob": "blobName",
    "gcp:storage/bucketObject:BucketObject": "name",
}
"""What a store holds: the input with its name there, by type."""
_CONTROL_PLANE = re.compile(r"mullion:\w+:ControlPlane")
"""Component that control plane machines are children of."""


def is_control_plane(urn: str) -> bool:
    """Whether a URN is that of a control plane machine."""
    kinds = urn.split("::")[2].split("$")
    return kinds[-1] in MACHINES and any(map(_CONTROL_PLANE.fullmatch, kinds))


def items(properties: Properties, name: str) -> list[Properties]:
    """Blocks of a property that may be absent, unknown, one or many."""
    value = properties.get(name)
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def at(properties: Properties, path: str) -> Any:
    """A value by its path (`osProfile.customData`): None where a part is not there, UNKNOWN where one is not known."""
    value: Any = properties
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return value if value is UNKNOWN else None
        value = value.get(name)
    return value


def document(value: Any) -> Properties:
    """A policy document, given as JSON or as an object; empty where it is unknown or none, which the cloud refuses."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}


def known(value: Any) -> bool:
    """Whether a value is there, and not for the cloud to say."""
    return value is not None and value is not UNKNOWN
