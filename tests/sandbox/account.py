"""An embedded cloud for a test, called as the engine calls its provider: check, then create, update or delete."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sandbox.cloud import Cloud, Refusal
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider


@dataclass
class Thing:
    """A resource as the engine's state has it."""

    urn: str
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


class Account:
    """Creates, changes and deletes resources as the engine does. `short`: class name of a type (Vpc, Subnet, Instance).

    If a cloud has two classes of one name, `short` is the last two parts of the token: projects/iAMMember:IAMMember.
    """

    def __init__(self, cloud_state: CloudState, cloud: Cloud, region: str) -> None:
        self.cloud_state = cloud_state
        self.provider = Provider(cloud, cloud_state)
        assert self.provider.configure({cloud.region: region}) == []
        self.tokens = {token.rsplit(":", 1)[-1]: token for token in cloud.types}
        self.tokens |= {token.partition(":")[2]: token for token in cloud.types}

    def urn(self, short: str, name: str) -> str:
        return f"urn:pulumi:dev::mullion::{self.tokens[short]}::{name}"

    def check(self, short: str, name: str, old: dict[str, Any] | None = None, /, **inputs: Any) -> dict[str, Any]:
        """Return checked inputs; failures fail the test."""
        checked, failures = self.provider.check(self.urn(short, name), old or {}, inputs, b"seed")
        assert failures == []
        return checked

    def failures(self, short: str, /, **inputs: Any) -> dict[str, str]:
        """Return reasons by property path."""
        _, failures = self.provider.check(self.urn(short, "x"), {}, inputs, b"seed")
        return {failure.property: failure.reason for failure in failures}

    def create(self, short: str, name: str, /, **inputs: Any) -> Thing:
        checked = self.check(short, name, **inputs)
        id, outputs = self.provider.create(self.urn(short, name), checked, preview=False)
        return Thing(self.urn(short, name), id, checked, outputs)

    def update(self, thing: Thing, /, **changes: Any) -> Thing:
        short, name = thing.urn.split("::")[-2].partition(":")[2], thing.urn.rsplit("::", 1)[-1]
        merged = {key: value for key, value in (thing.inputs | changes).items() if key != "__defaults"}
        checked = self.check(short, name, thing.inputs, **merged)
        outputs = self.provider.update(thing.urn, thing.id, thing.outputs, checked, preview=False)
        return Thing(thing.urn, thing.id, checked, outputs)

    def delete(self, thing: Thing) -> None:
        self.provider.delete(thing.urn, thing.id, thing.outputs)

    def refused(self, call: Callable[[], Any]) -> Refusal:
        """Return the refusal of a call, which must not change any resource."""
        before = [record.outputs for record in self.cloud_state.resources()]
        with pytest.raises(Refusal) as caught:
            call()
        assert [record.outputs for record in self.cloud_state.resources()] == before, "a refused call changes nothing"
        assert self.cloud_state.operations()[-1].error == str(caught.value), "a refused call is in the log"
        return caught.value
