"""The requests of each resource type on AWS, as the provider makes them of the inputs.

The provider's names are those of the API in another case (vpcId, VpcId), except where a row says otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.components.official_models import aws_models
from tests.components.official_models.cases import content

Inputs = dict[str, Any]
CHOSEN = "chosen-by-the-provider"
"""Stands for the name that the provider makes of the logical name and seven digits, and for ids."""


@dataclass(frozen=True)
class Call:
    """One request. takes: where each input goes, or a function that returns its part of the request.

    A path names members and places in lists: `NetworkInterfaces[].SubnetId` is in the first one. Several names with
    blanks between them: the function gets those inputs by name. sent: what the provider sends although no input says
    it. The first call of a row also takes the inputs that no call names.
    """

    operation: str
    takes: dict[str, str | Callable[[Any], Inputs]] = field(default_factory=dict)
    sent: Inputs = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """The requests of a resource type. own: inputs that no request has."""

    calls: tuple[Call, ...]
    own: tuple[str, ...] = ()


def faults(row: Row, inputs: Inputs, name: str) -> list[str]:
    """Return what AWS's models say against a resource's inputs. name: its logical name, of which others are made."""
    found = [aws_models.faults(operation, _chosen(values, name)) for operation, values in requests(row, inputs)]
    return [fault for faults in found for fault in faults]


def _chosen(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _chosen(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_chosen(each, name) for each in value]
    return f"{name}-0123456" if value == CHOSEN else value


def requests(row: Row, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
    """Yield each request that a resource's inputs need, with its parameters."""
    taken = {name for call in row.calls for names in call.takes for name in names.split()} | set(row.own)
    given = {name: _without_empty(value) for name, value in inputs.items()}
    for index, call in enumerate(row.calls):
        others = {} if index else {name: name for name in given if name not in taken}
        parts = [_part(names, place, given) for names, place in {**others, **call.takes}.items()]
        if index and not any(parts):
            continue
        values: Inputs = {}
        for part in parts:
            values = _merged(values, part)
        yield call.operation, _merged(call.sent, aws_models.named(aws_models.parameters(call.operation), values))


def _part(names: str, place: str | Callable[[Any], Inputs], given: Inputs) -> Inputs:
    """Return the part of a request that some inputs make."""
    found = {name: given[name] for name in names.split() if name in given}
    if not found:
        return {}
    value = found if " " in names else found[names]
    return place(value) if callable(place) else _at(place, value)


def _without_empty(value: Any) -> Any:
    """Return the value without empty texts, which the provider does not send."""
    if isinstance(value, dict):
        return {key: _without_empty(each) for key, each in value.items() if each not in ("", None)}
    return [_without_empty(each) for each in value] if isinstance(value, list) else content(value)


def _at(path: str, value: Any) -> Inputs:
    """Return the value below a path like `NetworkInterfaces[].SubnetId`."""
    for part in reversed(path.split(".")):
        value = {part.removesuffix("[]"): [value] if part.endswith("[]") else value}
    return value


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: _merged(one[key], each) if key in one else each for key, each in other.items()}}
    if isinstance(one, list) and isinstance(other, list):
        apart = {"Key", "ResourceType", "DeviceName"}  # of entries that stand beside each other
        if len(one) == len(other) == 1 and isinstance(one[0], dict) and not apart & one[0].keys():
            return [_merged(one[0], other[0])]
        return one + other
    return other
