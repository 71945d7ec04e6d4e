"""What AWS knows of the cluster's workers, and the status records of machines in the bundle store."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pulumi
from pulumi import Output, ResourceHookArgs
from pulumi_aws import _utilities

from components.rollout.provider_calls import ProviderCalls, ProviderError, moment, status_record

RUNNING, STOPPED = ["pending", "running"], ["stopping", "stopped"]


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

    calls: ProviderCalls = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", ProviderCalls(self.parent, _utilities.get_version()))

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of the network's instances by private address: those that run, or those that are stopped."""
        filters = [{"name": "vpc-id", "values": [await self.vpc_id.future()]}]
        states = RUNNING if running else STOPPED
        try:
            found = await self.calls.invoke(
                "aws:ec2/getInstances:getInstances", {"filters": filters, "instanceStateNames": states}
            )
        except ProviderError:
            if running:
                raise
            return {}  # the provider takes it for an error that there are none
        return dict(zip(found["privateIps"], found["ids"], strict=True))

    async def instance(self, args: ResourceHookArgs) -> str:
        """The instance's own id, which is also the resource's."""
        return args.id

    async def launched(self, instance: str) -> datetime:
        """When an instance was started, UTC."""
        found = await self.calls.invoke("aws:ec2/getInstance:getInstance", {"instanceId": instance})
        return moment(found["launchTime"])

    async def record(self, instance: str) -> dict[str, Any]:
        """The status record of an instance; state absent, with the reason, where none can be read."""
        return await status_record(self.text(f"status/{await self.role_id.future()}:{instance}.json"), instance)

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; ProviderError where there is none."""
        found = await self.calls.invoke(
            "aws:s3/getObject:getObject", {"bucket": await self.bucket.future(), "key": key}
        )
        return found.get("body") or ""
