"""State of the workers' EC2 instances, and status records of machines in the bundle store."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pulumi
from pulumi import Output, ResourceHookArgs
from pulumi_aws import _utilities

from components.plan import ClusterPlan, Machine
from components.rollout.provider_calls import (
    LARGEST_RECORD,
    NoObject,
    ProviderCalls,
    ProviderError,
    moment,
    status_record,
)
from components.rollout.session_commands import OWN_CREDENTIALS, ROLES, MachinePlace, credentials_hint
from components.rollout.workers import Instances

RUNNING, STOPPED = ["pending", "running"], ["stopping", "stopped"]


@dataclass(frozen=True)
class Records:
    """The instances of one VPC, and the status records of machines in the bundle store."""

    parent: pulumi.Resource
    """The resource whose provider is used."""
    vpc_id: Output[str]
    bucket: Output[str]
    """Name of the bundle store."""
    role_ids: Mapping[str, Output[str]]
    """Unique ids of the roles by name of the identity."""

    calls: ProviderCalls = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", ProviderCalls(self.parent, _utilities.get_version()))

    async def known(self) -> bool:
        """Wait for VPC, bundle store and roles; return whether they exist."""
        return None not in await asyncio.gather(
            *(each.future() for each in (self.vpc_id, self.bucket, *self.role_ids.values()))
        )

    async def instances(self, pool: str = "") -> Instances:
        """Return the VPC's instances: a call finds all in some states, but does not say in which."""
        return Instances(await self._in_states(RUNNING), await self._in_states(STOPPED))

    async def _in_states(self, states: list[str]) -> dict[str, str]:
        """Return ids by private address."""
        filters = [{"name": "vpc-id", "values": [await self.vpc_id.future()]}]
        try:
            instances = await self.calls.invoke(
                "aws:ec2/getInstances:getInstances", {"filters": filters, "instanceStateNames": states}
            )
        except ProviderError as error:
            if states == RUNNING or "no results" not in str(error):
                raise
            return {}  # a provider may fail if no instance matches
        return dict(zip(instances["privateIps"], instances["ids"], strict=True))

    async def instance(self, args: ResourceHookArgs) -> str:
        """Return the instance's id, which is also the resource's."""
        return args.id

    async def launched(self, instance: str) -> datetime:
        """Return when an instance was launched, UTC."""
        answer = await self.calls.invoke("aws:ec2/getInstance:getInstance", {"instanceId": instance})
        return moment(answer["launchTime"])

    async def place(self, plan: ClusterPlan, machine: Machine) -> MachinePlace | None:
        """Return where `aws ssm` finds a planned machine; None if it does not run."""
        ids = await self._in_states(RUNNING)
        region = await self.calls.invoke("aws:index/getRegion:getRegion", {})
        profile = pulumi.Config("aws").get("profile") or ""
        found = ids.get(str(machine.address))
        if found is None:
            return None
        hint = credentials_hint(name for name in (*OWN_CREDENTIALS, *ROLES) if pulumi.Config("aws").get(name))
        return MachinePlace(plan.spec.cloud.value, found, region["region"], profile=profile, hint=hint)

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        """Return an instance's status record; `state: absent`, with the reason, if none can be read.

        identity: its name in `role_ids`, or its role's unique id.
        """
        known = self.role_ids.get(identity)
        role = await known.future() if known else identity
        first = f"bytes=0-{LARGEST_RECORD}"  # one byte more than a record may have
        return await status_record(self.text(f"status/{role}:{instance}.json", range=first), instance)

    async def text(self, key: str, **options: str) -> str:
        """Return the text of an object in the bundle store. Raises ProviderError if there is none.

        options: further arguments of aws.s3.getObject.
        """
        if not (bucket := await self.bucket.future()):
            raise NoObject("the bundle store is not built yet")
        answer = await self.calls.invoke("aws:s3/getObject:getObject", {"bucket": bucket, "key": key, **options})
        return answer.get("body") or ""

    async def beginning(self, key: str, most: int) -> str:
        """Return the first bytes of an object as text, at most so many. Raises ProviderError if there is none."""
        return await self.text(key, range=f"bytes=0-{most - 1}")
