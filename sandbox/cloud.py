"""What a cloud is to the sandbox: tables of resource types, and functions where a table does not reach.

Nothing here knows AWS; another cloud joins with its own tables.
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
    """The cloud says no: its error code, and a message like its API's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Place:
    """Where a provider works: account, region, and the tags it puts on everything.

    scheme: `http` where the world's machines reach services over plain http; else empty.
    """

    account: str
    region: str
    default_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    scheme: str = ""

    def url(self, name: str) -> str:
        """How outputs name a host: its name alone, as the cloud does, or a whole URL where there is a scheme."""
        return f"{self.scheme}://{name}" if self.scheme else name


@dataclass
class Request:
    """One create, update or delete as the rules see it. Inputs are plain values, without secret marks."""

    type: str
    inputs: dict[str, Any]
    cloud_state: CloudState
    place: Place
    sequence: int
    id: str = ""
    old: Record | None = None

    @property
    def region(self) -> str:
        """The resource's own region (on Azure its location), or the provider's."""
        return self.inputs.get("region") or self.inputs.get("location") or self.place.region

    @property
    def account(self) -> str:
        """The resource's own account (on GCP its project), or the provider's."""
        return self.inputs.get("project") or self.place.account

    def digits(self, length: int, salt: str = "") -> str:
        """Hexadecimal digits, the same at each call for this resource and salt."""
        return self.cloud_state.digits(self.sequence, salt)[:length]

    def format(self, template: str) -> str:
        """Fill a template: {id}, {region}, {account}, {hex:LENGTH:SALT}, {in_.NAME}."""
        words = {"id": self.id, "region": self.region, "account": self.account}
        return template.format(**words, hex=_Digits(self), in_=_Inputs(self.inputs))


class _Digits:
    """`{hex:17}` or `{hex:17:salt}` in a template."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def __format__(self, spec: str) -> str:
        length, _, salt = spec.partition(":")
        return self.request.digits(int(length), salt)


class _Inputs:
    """`{in_.name}` in a template; an absent input is empty."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.inputs = inputs

    def __getattr__(self, name: str) -> Any:
        return self.inputs.get(name, "")


@dataclass(frozen=True)
class Reference:
    """A property that holds the id of something that must exist.

    holds: what deleting the target does: `refuse` it, let this one `vanish` with it, or `dangle` with a dead id.
    only: values with another beginning are not ids of the target (a target group takes ids and addresses).
    id: the target's id from a value that may say it otherwise (a name, a URL).
    """

    path: str
    target: str
    code: str
    message: str
    holds: str = "dangle"
    only: str = ""
    id: Callable[[Request, str], str] | None = None

    def ids(self, request: Request) -> list[str]:
        """The ids that a request's inputs have at the path."""
        values = [str(value) for value in select(request.inputs, self.path)]
        found = [value for value in values if value.startswith(self.only)]
        return [self.id(request, value) for value in found] if self.id else found


@dataclass(frozen=True)
class Unique:
    """What no two may share: inputs whose values together form the key; no claim is made while one is absent.

    kept: code and message while the name is kept after its owner was deleted. regional: each region has its own.
    """

    kind: str
    keys: tuple[str, ...]
    code: str
    message: str
    kept: tuple[str, str] = ("", "")
    regional: bool = False

    def key(self, request: Request) -> str | None:
        """The key as it is claimed, or None where a part is absent."""
        parts = [request.inputs.get(name) for name in self.keys]
        return None if None in parts else json.dumps([request.region, *parts] if self.regional else parts)


@dataclass(frozen=True)
class AutoName:
    """How a name that the program leaves out is made: logical name, separator, digits; at most `limit` long."""

    property: str = "name"
    limit: int = 255
    digits: int = 7
    lower: bool = False
    separator: str = "-"


Rule = Callable[[Request], None]
Derive = Callable[[Request], dict[str, Any]]


@dataclass(frozen=True)
class ResourceType:
    """One row of a cloud's table. Property shapes come from the SDK (properties.json); this is what it does not say.

    id: template of the id, or a function for what templates cannot say.
    immutable: property paths whose change replaces the resource.
    fallback: inputs that the cloud fills in with a fixed value.
    chosen: inputs that the cloud fills in with a value of its own (so leaving one out again is no change).
    unordered: lists without order. documents: JSON texts, compared by meaning.
    outputs: templates of computed outputs. derive: computed outputs that need more than a template.
    volatile: computed outputs that an update changes.
    completed: inputs whose outputs, made by `derive`, have more in them (the ids of their parts).
    secret: properties that are secret whatever the program says.
    ranges: least and most of a number, by path. patterns: what a text must be, by path, and that in words.
    in_use: code and message of the refusal to delete while something holds this.
    rules: checks on create and update. delete_rules: checks on delete. created, deleted: effects on the world.
    replaces: further reasons to replace, from old and new inputs: names of properties.
    apart: secret values that the world keeps apart from a thing, by property; `read` gives them as the cloud would.
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
    created: Rule | None = None
    deleted: Rule | None = None
    replaces: Callable[[dict[str, Any], dict[str, Any]], list[str]] | None = None
    apart: Callable[[CloudState, Record], dict[str, str]] | None = None


@dataclass(frozen=True)
class Tagging:
    """How a cloud tags.

    input: the property that holds a resource's own tags. outputs: those that hold them with the provider's default
    ones, and what the provider adds there by itself. default: path of the default ones in the provider's settings.
    check: what is wrong with tags.
    """

    input: str
    outputs: Mapping[str, Mapping[str, str]]
    default: tuple[str, ...]
    check: Callable[[Mapping[str, Any]], Iterator[Failure]]


@dataclass(frozen=True)
class Cloud:
    """A cloud: its provider's name, account, resource types, shapes, functions, and latencies in seconds.

    tagging: how it tags. failures: what its API says when it fails by itself (sandbox/faults.py).
    region, project: names of the provider's settings for its region, and for its account where that is one.
    reads: functions that look at the world too.
    settle: what goes on by itself whenever something changed (machines that waited for it go on booting).
    deletes_first: whether its provider deletes whatever has no automatic name before it makes it anew, also where the
    new one has another name.
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
