"""How a cloud describes itself to the sandbox: tables of resource types, and functions for what tables cannot say.

Nothing here is specific to one cloud; each cloud has its own tables (sandbox/aws, azure, gcp).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.failures import Failures
from sandbox.records import Record
from sandbox.shapes import Failure, Shapes
from sandbox.values import select


class Refusal(Exception):
    """An error of the cloud's API: error code and message in the API's form."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Place:
    """A provider's settings: account, region, and default tags.

    scheme: `http` if machines reach the cloud's services over plain http (setting SERVICES); else empty.
    """

    account: str
    region: str
    default_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    scheme: str = ""

    def url(self, name: str) -> str:
        """Return a host as outputs write it: its name alone, as the cloud does, or a URL if there is a scheme."""
        return f"{self.scheme}://{name}" if self.scheme else name

    def default_tags_of(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the default tags of one resource, whose `overrideProvider` may name others (objects of S3)."""
        own = (inputs.get("overrideProvider") or {}).get("defaultTags")
        return self.default_tags if own is None else own.get("tags") or {}


@dataclass
class Request:
    """One create, update or delete, as rules get it. Inputs are plain values, without secret marks."""

    type: str
    inputs: dict[str, Any]
    cloud_state: CloudState
    place: Place
    sequence: int
    id: str = ""
    old: Record | None = None

    @property
    def region(self) -> str:
        """Return the resource's region (on Azure its location), or the provider's if the resource has none."""
        return self.inputs.get("region") or self.inputs.get("location") or self.place.region

    @property
    def account(self) -> str:
        """Return the resource's account (on GCP its project), or the provider's if the resource has none."""
        return self.inputs.get("project") or self.place.account

    def digits(self, length: int, salt: str = "") -> str:
        """Return hexadecimal digits that depend on the resource and the salt alone."""
        return self.cloud_state.digits(self.sequence, salt)[:length]

    def format(self, template: str) -> str:
        """Fill a template: {id}, {region}, {account}, {hex:LENGTH:SALT}, {in_.NAME}."""
        fields = {"id": self.id, "region": self.region, "account": self.account}
        return template.format(**fields, hex=_Digits(self), in_=_Inputs(self.inputs))


class _Digits:
    """`{hex:17}` or `{hex:17:salt}` in a template."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def __format__(self, spec: str) -> str:
        length, _, salt = spec.partition(":")
        return self.request.digits(int(length), salt)


class _Inputs:
    """`{in_.name}` in a template; empty if the input is absent."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.inputs = inputs

    def __getattr__(self, name: str) -> Any:
        return self.inputs.get(name, "")


@dataclass(frozen=True)
class Reference:
    """A property that holds the id of another resource, which must exist.

    holds: effect of deleting the target: `refuse` the deletion, let this resource `vanish` too, or let the id `dangle`.
    only: prefix of ids; other values are not ids of the target (a target group takes ids and addresses).
    id: converts a value (a name, a URL) to the target's id.
    """

    path: str
    target: str
    code: str
    message: str
    holds: str = "dangle"
    only: str = ""
    id: Callable[[Request, str], str] | None = None

    def ids(self, request: Request) -> list[str]:
        """Return the ids at the path in a request's inputs."""
        values = [str(value) for value in select(request.inputs, self.path)]
        ids = [value for value in values if value.startswith(self.only)]
        return [self.id(request, value) for value in ids] if self.id else ids


@dataclass(frozen=True)
class Unique:
    """Inputs whose values together form a key that no two resources may share; not claimed while an input is absent.

    kept: code and message while a name stays taken after its owner was deleted. regional: keys are unique per region.
    """

    kind: str
    keys: tuple[str, ...]
    code: str
    message: str
    kept: tuple[str, str] = ("", "")
    regional: bool = False

    def key(self, request: Request) -> str | None:
        """Return the key to claim; None if an input is absent."""
        parts = [request.inputs.get(name) for name in self.keys]
        return None if None in parts else json.dumps([request.region, *parts] if self.regional else parts)


@dataclass(frozen=True)
class AutoName:
    """Form of an automatic name: logical name, separator, digits; at most `limit` characters."""

    property: str = "name"
    limit: int = 255
    digits: int = 7
    lower: bool = False
    separator: str = "-"


Rule = Callable[[Request], None]
Derive = Callable[[Request], dict[str, Any]]


@dataclass(frozen=True)
class ResourceType:
    """One row of a cloud's table: all that the shapes of the SDK (properties.json) do not say.

    id: template of the id, or a function if a template cannot express it.
    immutable: property paths whose change replaces the resource.
    fallback: inputs with a fixed default of the cloud.
    chosen: inputs that the cloud chooses if they are absent (removing such an input is no change).
    unordered: lists without order. documents: JSON texts, compared by content.
    outputs: templates of computed outputs. derive: computed outputs that a template cannot express.
    volatile: computed outputs that an update changes.
    completed: inputs whose outputs hold more than the input (`derive` adds the ids of parts).
    secret: properties that are always secret.
    ranges: lowest and highest number, by path. patterns: regular expression and its description, by path.
    in_use: code and message if the resource is deleted while another resource refers to it.
    rules: checks on create and update. delete_rules: checks on delete. gone_rules: checks on delete of what the cloud
    no longer has. puts: an update of a resource that the cloud no longer has creates it.
    created, deleted: effects on the cloud state after create or update, and after delete.
    replaces: properties that replace the resource, from old and new inputs.
    apart: secret values that the cloud state stores apart from the resource, by property; `read` returns them.
    shown: outputs that the cloud shows otherwise later than after the last change; `read` returns them.
    alone: what a call has for itself while it runs, and what another call for the same gets; see running_calls.py.
    gone: code and message with which `read` of an id fails because the provider does not know the code for a resource
    that does not exist; None if it knows it.
    """

    id: str | Callable[[Request], str]
    immutable: tuple[str, ...] = ()
    fallback: Mapping[str, Any] = field(default_factory=dict[str, Any])
    chosen: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    derive: Derive | None = None
    volatile: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    auto_name: AutoName | None = None
    at_most_one: tuple[tuple[str, ...], ...] = ()
    at_least_one: tuple[tuple[str, ...], ...] = ()
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    patterns: Mapping[str, tuple[re.Pattern[str], str]] = field(default_factory=dict[str, tuple[re.Pattern[str], str]])
    references: tuple[Reference, ...] = ()
    unique: tuple[Unique, ...] = ()
    claims: Callable[[Request], list[tuple[Unique, str]]] | None = None
    in_use: tuple[str, str] = ("DependencyViolation", "{id} has dependencies and cannot be deleted.")
    rules: tuple[Rule, ...] = ()
    delete_rules: tuple[Rule, ...] = ()
    gone_rules: tuple[Rule, ...] = ()
    puts: bool = False
    created: Rule | None = None
    deleted: Rule | None = None
    replaces: Callable[[dict[str, Any], dict[str, Any]], list[str]] | None = None
    apart: Callable[[CloudState, Record], dict[str, str]] | None = None
    shown: Callable[[CloudState, Record], dict[str, Any]] | None = None
    gone: Callable[[CloudState, str], tuple[str, str] | None] | None = None
    alone: tuple[Callable[[Request], str], Callable[[Request], Refusal]] | None = None


@dataclass(frozen=True)
class Tagging:
    """Tags of a cloud (labels on GCP).

    input: property with a resource's own tags. outputs: properties with own and default tags, and the tags that the
    provider adds there. default: path of the default tags in the provider's settings. check: yields faults of tags.
    """

    input: str
    outputs: Mapping[str, Mapping[str, str]]
    default: tuple[str, ...]
    check: Callable[[Mapping[str, Any]], Iterator[Failure]]


@dataclass(frozen=True)
class Cloud:
    """A cloud: its provider's name, account, resource types, shapes, functions, and latencies in seconds.

    tagging: properties of tags. failures: errors of its API that the caller did not cause (sandbox/faults.py).
    region, project: names of the provider's settings for region, and for account if there is one.
    functions: functions of the provider that need no cloud state; reads: functions that read the cloud state.
    settle: called after each change; lets waiting machines continue to boot.
    deletes_first: whether its provider deletes a resource without automatic name before it creates the replacement,
    even if the name changes.
    """

    name: str
    account: str
    types: Mapping[str, ResourceType]
    shapes: Shapes
    functions: Mapping[str, Callable[[Place, dict[str, Any]], dict[str, Any]]]
    regions: Mapping[str, Any]
    seconds: Callable[[str, str], float]
    tagging: Tagging
    failures: Failures
    settle: Callable[[CloudState], None] | None = None
    reads: Mapping[str, Callable[[CloudState, Place, dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    region: str = "region"
    project: str = ""
    deletes_first: bool = False
