"""What a provider knows of a cloud, asked by the program: so plain `pulumi up` can ask too.

Not by the SDK's own functions: each of their calls takes a thread of the SDK's, and all of these may be waiting for the
engine, which waits for the hook that asks (components/sdk/registration.py).
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Protocol, cast

import grpc
import pulumi
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from pulumi import Output
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor

from components.plan import Machine
from components.rollout.signed_documents import POINTER
from components.rollout.upgrade import Desired
from components.sdk.registration import run_in_thread


class ProviderError(Exception):
    """The provider does not answer; the message is its own."""


class ProviderCalls:
    """Calls of the provider that a resource has."""

    def __init__(self, parent: pulumi.Resource, version: str) -> None:
        """parent: whose provider is asked. version: of the SDK, which the engine takes the provider by."""
        self._parent, self._version = parent, version
        self._monitor: Any = get_monitor()

    async def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a function of the provider's; ProviderError where it fails."""
        request = resource_pb2.ResourceInvokeRequest(
            tok=token, provider=await self._provider(token), version=self._version
        )
        inputs = Struct()
        inputs.update(arguments)
        request.args.CopyFrom(inputs)
        try:
            answer = await run_in_thread(self._monitor.Invoke, request)
        except grpc.RpcError as error:
            raise ProviderError(error.details()) from error
        if answer.failures:
            raise ProviderError(answer.failures[0].reason)
        return _opened(MessageToDict(getattr(answer, "return")))

    async def find(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The same of a function that gets one thing by its name; empty where there is none."""
        try:
            return await self.invoke(token, arguments)
        except ProviderError as error:
            if "not found" in str(error):
                return {}
            raise

    async def _provider(self, token: str) -> str:
        """URN and id of an explicit provider; empty for the default one."""
        provider = self._parent.get_provider(token)
        if provider is None:
            return ""
        return f"{await provider.urn.future()}::{await provider.id.future()}"


_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of a value of the engine's that is not plain: GCP's provider takes each object's content for a secret."""


def _opened(value: Any) -> Any:
    """An answer without the marks of its secrets."""
    if isinstance(value, list):
        return [_opened(each) for each in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    found = cast(dict[str, Any], value)
    return _opened(found["value"]) if _SIGNATURE in found else {key: _opened(each) for key, each in found.items()}


def moment(text: str) -> datetime:
    """A time of the cloud's, RFC 3339, in UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""When a machine was made that nothing is known of."""


async def status_record(text: Awaitable[str], instance: str) -> dict[str, Any]:
    """The status record of an instance; state absent, with the reason, where none can be read."""
    try:
        found: Any = json.loads(await text)
    except (ProviderError, ValueError) as error:
        return {"state": "absent", "message": str(error)}
    record = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if not isinstance(record.get("state"), str):  # a worker may write anything
        return {"state": "absent", "message": "it is no status record"}
    return record if record.get("instance") == instance else {"state": "absent", "message": "it is another's"}


@dataclass(frozen=True)
class MachineState:
    """A machine as its cloud has it."""

    id: str
    """What it calls itself."""
    made: str
    """When, RFC 3339."""
    running: bool


@dataclass(frozen=True, kw_only=True)
class RecordsByMachine(ABC):
    """The records of a cloud whose machines are looked at one by one, by their planned names."""

    parent: pulumi.Resource
    """Whose provider is asked."""
    role: str
    """As record names begin."""
    planned: Sequence[Machine] = ()
    """The workers."""

    seen: dict[str, MachineState] = field(init=False, repr=False, default_factory=dict[str, MachineState])
    """Machines that were looked at, by id."""

    @abstractmethod
    async def find(self, machine: Machine) -> MachineState | None:
        """What the cloud knows of a planned machine; None where there is none."""

    @abstractmethod
    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; ProviderError where there is none."""

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of the workers' machines by private address: those that run, or those that are stopped."""
        found = zip(self.planned, await asyncio.gather(*map(self.find, self.planned)), strict=True)
        there = {str(machine.address): each for machine, each in found if each}
        self.seen.update({each.id: each for each in there.values()})
        return {address: each.id for address, each in there.items() if each.running is running}

    async def launched(self, instance: str) -> datetime:
        """When a machine was made, UTC."""
        if instance not in self.seen:
            await self.instances(running=True)
        return moment(self.seen[instance].made) if instance in self.seen else LONG_AGO

    async def record(self, instance: str) -> dict[str, Any]:
        """The status record of a machine; state absent, with the reason, where none can be read."""
        return await status_record(self.text(f"status/{self.role}:{instance}.json"), instance)


async def desired(text: Callable[[str], Awaitable[str]]) -> Desired | None:
    """The versions of Kubernetes in the desired-state pointer; None where it cannot be read."""
    try:
        found = json.loads(await text(POINTER))
        return Desired(found["kubernetes"], found["pools"])
    except (ProviderError, ValueError, KeyError):
        return None


class Store(Protocol):
    """The records of machines in a cloud's bundle store."""

    async def record(self, instance: str) -> dict[str, Any]:
        """The status record of an instance."""
        ...

    async def text(self, key: str) -> str:
        """The text of an object; ProviderError where there is none."""
        ...


@dataclass(frozen=True)
class ControlPlaneRecords:
    """The versions of Kubernetes that the control plane has, and shall have."""

    records: Store
    instance_ids: list[Output[str]]

    async def reported(self) -> list[str]:
        """The versions that its machines report."""
        ids: list[str] = await Output.all(*self.instance_ids).future() or []  # unknown in a preview before they exist
        records = [await self.records.record(each) for each in ids]
        return [each["kubernetes"] for each in records if each.get("kubernetes")]

    async def desired(self) -> Desired | None:
        """The versions in the desired-state pointer."""
        return await desired(self.records.text)
