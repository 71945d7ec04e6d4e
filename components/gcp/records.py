"""What GCP knows of the cluster's workers, and the status records of machines in the bundle store."""

from dataclasses import dataclass, field

from pulumi import Output, ResourceHookArgs
from pulumi_gcp import _utilities

from components.plan import Machine
from components.rollout.provider_calls import MachineState, ProviderCalls, RecordsByMachine

STOPPED = frozenset({"STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED"})
"""States of an instance that is there and does not run (Compute Engine API, Instance.status)."""


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
        """What is known of a planned machine's instance; None where there is none."""
        zones = (await self.zone_names.future() if self.zone_names else None) or []
        asked = {"name": f"{self.cluster}-{machine.name}", "zone": zones[machine.zone]}
        known = await self.calls.find("gcp:compute/getInstance:getInstance", asked)
        if not known:
            return None
        return MachineState(str(known["instanceId"]), known["creationTimestamp"], known["currentStatus"] not in STOPPED)

    async def instance(self, args: ResourceHookArgs) -> str:
        """The number that an instance has; its resource's id is a name, which its successor has again."""
        return str((args.new_outputs or {})["instanceId"])

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; ProviderError where there is none."""
        asked = {"bucket": await self.bucket.future(), "name": key}
        found = await self.calls.invoke("gcp:storage/getBucketObjectContent:getBucketObjectContent", asked)
        return found.get("content") or ""
