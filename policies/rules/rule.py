"""Rules and the resources that they judge. No module of rules imports the engine's plugin."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Properties = Mapping[str, Any]
"""Inputs by the provider's names; values are JSON, UNKNOWN or Content."""


class Unknown:
    """The type of UNKNOWN."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = Unknown()
"""A value that the cloud decides later. Rules accept it; they run again in `up`, when it is known."""


@dataclass(frozen=True)
class Content:
    """The content of an asset; None if it cannot be read here."""

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
    """URNs; filled in only for rules over the whole stack, like inputs_from."""
    inputs_from: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Input -> URNs of the resources that its value comes from."""

    @property
    def name(self) -> str:
        """The logical name."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True)
class ResourceRule:
    """A rule over each resource of some types. check: yields a sentence for each violation."""

    name: str
    says: str
    types: frozenset[str]
    check: Callable[[Resource], Iterable[str]]

    def violations(self, resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
        """Yield each violation: the resource, and a sentence."""
        for resource in resources:
            if resource.type in self.types:
                yield from ((resource, violation) for violation in self.check(resource))


@dataclass(frozen=True)
class StackRule:
    """A rule over all resources of a stack. violations: yields a resource and a sentence for each violation."""

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
"""By type of object: input with its name in the store."""
_CONTROL_PLANE = re.compile(r"mullion:\w+:ControlPlane")
"""Type of the component whose children are the control-plane machines."""


def is_control_plane(urn: str) -> bool:
    """Return whether a URN is that of a control-plane machine."""
    kinds = urn.split("::")[2].split("$")
    return kinds[-1] in MACHINES and any(map(_CONTROL_PLANE.fullmatch, kinds))


def items(properties: Properties, name: str) -> list[Properties]:
    """Return the blocks of a property, which may be absent, unknown, one or many."""
    value = properties.get(name)
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Mapping)]


def at(properties: Properties, path: str) -> Any:
    """Return the value at a path (`osProfile.customData`): None if a part is absent, UNKNOWN if a part is unknown."""
    value: Any = properties
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return value if value is UNKNOWN else None
        value = value.get(name)
    return value


def document(value: Any) -> Properties:
    """Return a policy document, written as JSON or as an object; {} if it is unknown, or no document."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}


def known(value: Any) -> bool:
    """Return whether a value is present and not UNKNOWN."""
    return value is not None and value is not UNKNOWN
