"""What AWS knows of the cluster's workers, asked through the provider: so plain `pulumi up` can ask too.

Not by the SDK's own functions: each of their calls takes a thread of the SDK's, and all of these may be waiting for the
engine, which waits for the hook that asks (components/after.py).
"""

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

import grpc
import pulumi
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from pulumi import Output
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_monitor
from pulumi_aws import _utilities

from components.after import aside
from components.desired_state import POINTER
from components.upgrade import Desired

RUNNING, STOPPED = ["pending", "running"], ["stopping", "stopped"]


class Unanswered(Exception):
    """The provider does not answer; the message is its own."""


@dataclass(frozen=True)
class Records:
    """The workers' instances in one network, and the status records of machines in the bundle store."""

    parent: pulumi.Resource
    """Whose provider is asked."""
    vpc_id: Output[str]
    bucket: Output[str]
    """Name of the bundle store."""
    role_id: Output[str]
    """Unique id of the machines' role, as record names begin."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_monitor", get_monitor())

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of the network's instances by private address: those that run, or those that are stopped."""
        filters = [{"name": "vpc-id", "values": [await self.vpc_id.future()]}]
        states = RUNNING if running else STOPPED
        try:
            found = await self._ask(
                "aws:ec2/getInstances:getInstances", {"filters": filters, "instanceStateNames": states}
            )
        except Unanswered:
            if running:
                raise
            return {}  # the provider takes it for an error that there are none
        return dict(zip(found["privateIps"], found["ids"], strict=True))

    async def launched(self, instance: str) -> datetime:
        """When an instance was started, UTC."""
        found = await self._ask("aws:ec2/getInstance:getInstance", {"instanceId": instance})
        return datetime.fromisoformat(found["launchTime"].replace("Z", "+00:00")).astimezone(timezone.utc)

    async def record(self, instance: str) -> dict[str, Any]:
        """The status record of an instance; state absent, with the reason, where none can be read."""
        key = f"status/{await self.role_id.future()}:{instance}.json"
        try:
            found: Any = json.loads(await self.text(key))
        except (Unanswered, ValueError) as error:
            return {"state": "absent", "message": str(error)}
        record = cast(dict[str, Any], found) if isinstance(found, dict) else {}
        if not isinstance(record.get("state"), str):  # a worker may write anything
            return {"state": "absent", "message": "it is no status record"}
        return record if record.get("instance") == instance else {"state": "absent", "message": "it is another's"}

    async def desired(self) -> Desired | None:
        """The versions of Kubernetes in the desired-state pointer; None where it cannot be read."""
        try:
            found = json.loads(await self.text(POINTER))
            return Desired(found["kubernetes"], found["pools"])
        except (Unanswered, ValueError, KeyError):
            return None

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; Unanswered where there is none."""
        found = await self._ask("aws:s3/getObject:getObject", {"bucket": await self.bucket.future(), "key": key})
        return found.get("body") or ""

    async def _ask(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = resource_pb2.ResourceInvokeRequest(
            tok=token, provider=await self._provider(token), version=_utilities.get_version()
        )
        given = Struct()
        given.update(arguments)
        request.args.CopyFrom(given)
        try:
            answer: Any = await aside(self._monitor.Invoke, request)  # type: ignore[attr-defined]
        except grpc.RpcError as error:
            raise Unanswered(error.details()) from error
        if answer.failures:
            raise Unanswered(answer.failures[0].reason)
        return MessageToDict(getattr(answer, "return"))

    async def _provider(self, token: str) -> str:
        """URN and id of an explicit provider; empty for the default one."""
        provider = self.parent.get_provider(token)
        if provider is None:
            return ""
        return f"{await provider.urn.future()}::{await provider.id.future()}"


@dataclass(frozen=True)
class ControlPlaneRecords:
    """The versions of Kubernetes that the control plane has, and shall have."""

    records: Records
    instance_ids: list[Output[str]]

    async def reported(self) -> list[str]:
        """The versions that its machines report."""
        ids: list[str] = await Output.all(*self.instance_ids).future() or []  # unknown in a preview before they exist
        records = [await self.records.record(each) for each in ids]
        return [each["kubernetes"] for each in records if each.get("kubernetes")]

    async def desired(self) -> Desired | None:
        """The versions in the desired-state pointer."""
        return await self.records.desired()
