"""Permissions of the account that runs Mullion: which ones a cloud asks for when its provider handles a resource.

The sandbox answers the provider, not the cloud's API, so it does not see single requests. Each cloud's module
`permissions` states what they need, by resource type and function: names of IAM actions on AWS, of operations of
resource providers on Azure, of IAM permissions on GCP. `uses` applies such a table to registered resources.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.cloud import ResourceType
from sandbox.values import select

CREATE, READ, UPDATE, DELETE, CALL = "create", "read", "update", "delete", "call"
REST = "*"
"""Stands for every input of `update` without a row of its own."""


@dataclass(frozen=True)
class Permissions:
    """What one resource type needs; several names are separated by blanks.

    given: what its creation needs too if an input has a value, by path (`sandbox.values.select`).
    update: what a change needs, by input. fixed: inputs that no change reaches though the provider could change them.
    given_up: what its deletion needs too, by path of an input.
    """

    create: str
    read: str
    delete: str
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    update: Mapping[str, str] = field(default_factory=dict[str, str])
    fixed: tuple[str, ...] = ()
    given_up: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Table:
    """The permissions of one cloud.

    types: by resource type. functions: by the provider's function; empty if it asks nothing of the cloud.
    commands: by the beginning of a command of the cloud's command line that Mullion starts, or prints for a search.
    without_call: permissions that the cloud asks for although no request has that name, each with reason and source.
    """

    types: Mapping[str, Permissions]
    functions: Mapping[str, str]
    commands: Mapping[str, str]
    without_call: Mapping[str, str]


@dataclass(frozen=True)
class Use:
    """One permission that one operation needs. of: a resource type, a function or a command. inputs: the registered
    inputs because of which it is needed; empty if it always is.
    """

    permission: str
    operation: str
    of: str
    inputs: str = ""


def uses(table: Table, type: str, row: ResourceType, inputs: Mapping[str, Any]) -> Iterator[Use]:
    """Yield what a resource with these inputs needs in its life: to create, read, change and delete it.

    Inputs that the sandbox's row calls immutable are not changed: another value replaces the resource.
    Raises LookupError for a type, and for an input that can change, without a row.
    """
    needs = table.types.get(type)
    if needs is None:
        raise LookupError(f"{type} has no permissions")
    for operation, names in ((CREATE, needs.create), (READ, needs.read), (DELETE, needs.delete)):
        yield from (Use(name, operation, type) for name in names.split())
    for operation, conditional in ((CREATE, needs.given), (DELETE, needs.given_up)):
        for path, names in conditional.items():
            if any(value not in (None, False, "", [], {}) for value in select(inputs, path)):
                yield from (Use(name, operation, type, path) for name in names.split())
    for name in inputs.keys() - {*row.immutable, *needs.fixed}:
        names = needs.update.get(name, needs.update.get(REST))
        if names is None:
            raise LookupError(f"{type}: {name} can change, and no permission is stated for that")
        yield from (Use(each, UPDATE, type, name) for each in names.split())


def calls(table: Table) -> Iterable[Use]:
    """Yield what functions of the provider and commands need."""
    for of, names in (*table.functions.items(), *table.commands.items()):
        yield from (Use(name, CALL, of) for name in names.split())
