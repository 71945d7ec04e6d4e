"""Provider functions called from hooks, and the records of machines that are read with them.

Not with the SDK's invoke functions: each of these calls takes an SDK thread, and all SDK threads may wait for the
engine, which waits for the hook (components/sdk/registration.py).
"""

import asyncio
import json
import re
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

from components.naming import CONTROL_PLANE, pool_of
from components.plan import ClusterPlan, Machine
from components.rollout.plain_text import plain_record
from components.rollout.session_commands import MachinePlace
from components.rollout.signed_documents import POINTER, Forged, verified
from components.rollout.upgrade import Desired, Unreadable
from components.rollout.workers import Instances
from components.sdk.registration import run_in_thread


class ProviderError(Exception):
    """A provider function or a request to a store failed; the message is the provider's or the store's."""


class NoObject(ProviderError):
    """The object cannot exist, because its store is not built yet."""


_MISSING = re.compile(
    r"couldn't find resource|\bS3: (Head|Get)Object, https response error StatusCode: 404\b|\bNoSuch(Key|Bucket)\b"
    r"|projects/[^/\s]+/zones/[^/\s]+/instances/\S+ not found\b"
    r"|\bError 404\b|\bresponse code 404\b|No such object"
    r"|\b(Blob|Container|Resource|ResourceGroup|StorageAccount)NotFound\b"
)
"""Answers of AWS, Google Cloud and Azure for what does not exist. "Not found" alone is no such answer: the same words
are in errors about profiles, subscriptions, identities and hosts."""


def is_missing(error: ProviderError) -> bool:
    """Return whether a cloud said that an object does not exist; any other failure leaves that open."""
    return isinstance(error, NoObject) or bool(_MISSING.search(str(error)))


class ProviderCalls:
    """Calls of functions of a resource's provider."""

    def __init__(self, parent: pulumi.Resource, version: str) -> None:
        """parent: the resource whose provider is called. version: of the SDK, which selects the provider's version."""
        self._parent, self._version = parent, version
        self._monitor: Any = get_monitor()

    async def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a provider function. Raises ProviderError if it fails."""
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
        return _plain(MessageToDict(getattr(answer, "return")))

    async def find(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a function that looks up one object; empty if there is no such object."""
        try:
            return await self.invoke(token, arguments)
        except ProviderError as error:
            if is_missing(error):
                return {}
            raise

    async def _provider(self, token: str) -> str:
        """Return URN::id of an explicit provider; empty for the default provider."""
        provider = self._parent.get_provider(token)
        if provider is None:
            return ""
        return f"{await provider.urn.future()}::{await provider.id.future()}"


_VERSION = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}")
"""Form of a Kubernetes version that a machine reports."""

_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key that marks a secret value: GCP's provider returns each object's content as a secret."""


def _plain(value: Any) -> Any:
    """Return a value with its secrets as plain values."""
    if isinstance(value, list):
        return [_plain(element) for element in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    members = cast(dict[str, Any], value)
    return _plain(members["value"]) if _SIGNATURE in members else {key: _plain(each) for key, each in members.items()}


def moment(text: str) -> datetime:
    """Return an RFC 3339 time as UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""Launch time of a machine that the cloud does not list."""


NO_RECORD = "the bundle store has none"
"""Message of a record that does not exist, instead of the provider's, which names requests, hosts and ids."""


LARGEST_RECORD = 65536
"""Maximum bytes of a status record; machines write less than 2 KiB (cloud-init/linux/report.py)."""


async def status_record(text: Awaitable[str], instance: str) -> dict[str, Any]:
    """Return an instance's status record; `state: absent`, with the reason, if none can be read.

    `unread: True` is in it if the store did not say whether it has one.
    """
    try:
        written = await text
        if len(written.encode()) > LARGEST_RECORD:
            return {"state": "absent", "message": f"it is larger than {LARGEST_RECORD} bytes"}
        document: Any = json.loads(written)
    except ProviderError as error:
        if is_missing(error):
            return {"state": "absent", "message": NO_RECORD}
        return {"state": "absent", "message": str(error), "unread": True}
    except (ValueError, RecursionError) as error:
        return {"state": "absent", "message": f"it is no JSON: {error}"}
    record = cast(dict[str, Any], document) if isinstance(document, dict) else {}
    record = plain_record(record)  # a compromised worker may write any content
    if not isinstance(record.get("state"), str) or record["state"] == "absent":
        return {"state": "absent", "message": "it is not a status record"}
    return record if record.get("instance") == instance else {"state": "absent", "message": "it is of another instance"}


@dataclass(frozen=True)
class MachineState:
    """State of a machine in the cloud."""

    id: str
    """The id that the machine writes into its status record."""
    created: str
    """Creation time, RFC 3339."""
    running: bool
    identity: str = ""
    """Name of its identity, with which its records' names begin; empty: the planned one."""


@dataclass(frozen=True, kw_only=True)
class RecordsByMachine(ABC):
    """Records in a cloud where each machine is looked up by its planned name."""

    parent: pulumi.Resource
    """The resource whose provider is called."""
    planned: Sequence[Machine] = ()
    """The machines."""

    seen: dict[str, MachineState] = field(init=False, repr=False, default_factory=dict[str, MachineState])
    """Machines found so far, by id."""

    @abstractmethod
    async def find(self, machine: Machine) -> MachineState | None:
        """Return the state of a planned machine; None if there is no such machine."""

    @abstractmethod
    async def text(self, key: str) -> str:
        """Return the text of an object in the bundle store. Raises ProviderError if there is none."""

    @abstractmethod
    async def place(self, plan: ClusterPlan, machine: Machine) -> MachinePlace | None:
        """Return where the cloud's session command finds a planned machine; None if it does not run."""

    async def instances(self, pool: str = "") -> Instances:
        """Return the instances of this pool's machines, by one call each; empty: of all machines."""
        machines = [each for each in self.planned if not pool or pool_of(each.name) == pool]
        states = zip(machines, await asyncio.gather(*map(self.find, machines)), strict=True)
        existing = {str(machine.address): state for machine, state in states if state}
        self.seen.update({state.id: state for state in existing.values()})
        by_state = [{at: it.id for at, it in existing.items() if it.running is running} for running in (True, False)]
        return Instances(*by_state)

    async def launched(self, instance: str) -> datetime:
        """Return when a machine was created, UTC."""
        if instance not in self.seen:
            await self.instances()
        return moment(self.seen[instance].created) if instance in self.seen else LONG_AGO

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return a machine's status record; `state: absent`, with the reason, if none can be read."""
        own = (self.seen[instance].identity if instance in self.seen else "") or identity
        return await status_record(self.record_text(f"status/{own}:{instance}.json"), instance)

    async def record_text(self, key: str) -> str:
        """Return the text of a status record; of a larger object, at least LARGEST_RECORD and a byte."""
        return await self.text(key)


async def desired(text: Callable[[str], Awaitable[str]], key: str) -> Desired | None:
    """Return the Kubernetes versions in the desired-state pointer; None if there is none.

    key: of its MAC. Raises Forged if the pointer is not this program's, and Unreadable if the store does not say
    whether it has one.
    """
    try:
        written = await text(POINTER)
    except ProviderError as error:
        if is_missing(error):
            return None
        raise Unreadable(f"{POINTER}: {error}") from error
    pointer = verified(key, written)
    if not {"kubernetes", "pools"} <= pointer.keys():
        raise Forged("it is another signed document")
    return Desired(pointer["kubernetes"], pointer["pools"])


class Store(Protocol):
    """Objects of a cloud's bundle store."""

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return an instance's status record; identity: name of its identity (MachineGroup.identity_of)."""
        ...

    async def text(self, key: str) -> str:
        """Return the text of an object. Raises ProviderError if there is none."""
        ...


@dataclass(frozen=True)
class ControlPlaneRecords:
    """Kubernetes versions of the control plane: reported by its machines, and desired."""

    records: Store
    instance_ids: list[Output[str]]
    key: Output[str]
    """Key of the pointer's MAC."""

    async def reported(self) -> list[str]:
        """Return the versions that its machines report. Raises Unreadable."""
        ids: list[str] = await Output.all(*self.instance_ids).future() or []  # unknown in a preview of a new cluster
        records = [await self.records.record(CONTROL_PLANE, id_) for id_ in ids]
        if unread := [record["message"] for record in records if record["state"] == "absent" and "unread" in record]:
            raise Unreadable(f"status/: {unread[0]}")
        versions = [record.get("kubernetes") for record in records]
        return [version for version in versions if isinstance(version, str) and _VERSION.fullmatch(version)]

    async def desired(self) -> Desired | None:
        """Return the versions in the desired-state pointer. Raises Forged and Unreadable."""
        return await desired(self.records.text, await self.key.future() or "")
