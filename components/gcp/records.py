"""State of the workers' Compute Engine instances, and status records of machines in the bundle store."""

from dataclasses import dataclass, field

from pulumi import Output, ResourceHookArgs
from pulumi_gcp import _utilities

from components.plan import Machine
from components.rollout.provider_calls import MachineState, ProviderCalls, RecordsByMachine

STOPPED = frozenset({"STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED"})
"""States of an instance that exists and does not run (Compute Engine API, Instance.status)."""


@dataclass(frozen=True, kw_only=True)
class Records(RecordsByMachine):
    """The instances of planned workers, and the status records of machines in the bundle store."""

    bucket: Output[str]
    """Name of the bundle store."""
    cluster: str = ""
    zone_names: Output[list[str]] | None = None

    calls: ProviderCalls = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", ProviderCalls(self.parent, _utilities.get_version()))

    async def find(self, machine: Machine) -> MachineState | None:
        """Return the state of a planned machine's instance; None if there is no instance."""
        zones = (await self.zone_names.future() if self.zone_names else None) or []
        arguments = {"name": f"{self.cluster}-{machine.name}", "zone": zones[machine.zone]}
        instance = await self.calls.find("gcp:compute/getInstance:getInstance", arguments)
        if not instance:
            return None
        return MachineState(
            str(instance["instanceId"]), instance["creationTimestamp"], instance["currentStatus"] not in STOPPED
        )

    async def instance(self, args: ResourceHookArgs) -> str:
        """Return the instance's number; the resource's id is the name, which its successor has too."""
        return str((args.new_outputs or {})["instanceId"])

    async def text(self, key: str) -> str:
        """Return the text of an object in the bundle store. Raises ProviderError if there is none."""
        arguments = {"bucket": await self.bucket.future(), "name": key}
        answer = await self.calls.invoke("gcp:storage/getBucketObjectContent:getBucketObjectContent", arguments)
        return answer.get("content") or ""
