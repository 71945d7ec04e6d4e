"""State of Compute Engine instances, and status records of machines in the bundle store."""

from dataclasses import dataclass, field
from typing import Any

from pulumi import Output, ResourceHookArgs
from pulumi_gcp import _utilities

from components.gcp.identity import account_stem
from components.naming import pool_of
from components.plan import ClusterPlan, Machine
from components.rollout.provider_calls import MachineState, NoObject, ProviderCalls, RecordsByMachine
from components.rollout.session_commands import MachinePlace

STOPPED = frozenset({"STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED"})
"""States of an instance that exists and does not run (Compute Engine API, Instance.status)."""


@dataclass(frozen=True, kw_only=True)
class Records(RecordsByMachine):
    """The instances of planned machines, and the status records of machines in the bundle store."""

    bucket: Output[str]
    """Name of the bundle store."""
    cluster: str = ""
    zone_names: Output[list[str]] | None = None

    calls: ProviderCalls = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", ProviderCalls(self.parent, _utilities.get_version()))

    async def known(self) -> bool:
        """Wait for bundle store and zones; return whether they exist."""
        zones = await self.zone_names.future() if self.zone_names else None
        return await self.bucket.future() is not None and zones is not None

    async def find(self, machine: Machine) -> MachineState | None:
        """Return the state of a planned machine's instance; None if there is no instance."""
        instance = await self._instance(machine)
        if not instance:
            return None
        running = instance["currentStatus"] not in STOPPED
        created, own = instance["creationTimestamp"], self._identity(machine, instance)
        return MachineState(str(instance["instanceId"]), created, running, own)

    def _identity(self, machine: Machine, instance: dict[str, Any]) -> str:
        """Return the name of the identity that a worker's instance has, which after a change of `worker_identity` is
        not the planned one until the worker is replaced; empty if its account is neither the machine's nor the pool's.
        """
        accounts: list[dict[str, Any]] = instance.get("serviceAccounts") or [{}]
        stem = str(accounts[0].get("email") or "").partition("@")[0].rpartition("-")[0]
        both = (machine.name, pool_of(machine.name))
        return next((own for own in both if account_stem(self.cluster, own) == stem), "")

    async def place(self, plan: ClusterPlan, machine: Machine) -> MachinePlace | None:
        """Return where `gcloud` finds a planned machine; None if it does not run."""
        found = await self._instance(machine)
        if not found or found["currentStatus"] in STOPPED:
            return None
        return MachinePlace(plan.spec.cloud.value, found["name"], found["project"], found["zone"])

    async def _instance(self, machine: Machine) -> dict[str, Any]:
        """Return a planned machine's instance as the provider shows it; empty if there is none."""
        zones = (await self.zone_names.future() if self.zone_names else None) or []
        arguments = {"name": f"{self.cluster}-{machine.name}", "zone": zones[machine.zone]}
        return await self.calls.find("gcp:compute/getInstance:getInstance", arguments)

    async def instance(self, args: ResourceHookArgs) -> str:
        """Return the instance's number; the resource's id is the name, which its successor has too."""
        made = args.new_outputs or {}
        state = MachineState(str(made["instanceId"]), made["creationTimestamp"], running=True)
        self.seen[state.id] = state  # else `launched` would read all machines
        return state.id

    async def text(self, key: str) -> str:
        """Return the text of an object in the bundle store. Raises ProviderError if there is none."""
        if not (bucket := await self.bucket.future()):
            raise NoObject("the bundle store is not built yet")
        arguments = {"bucket": bucket, "name": key}
        answer = await self.calls.invoke("gcp:storage/getBucketObjectContent:getBucketObjectContent", arguments)
        return answer.get("content") or ""

    async def beginning(self, key: str, most: int) -> str:
        """Return the first characters of an object, at most so many. Raises ProviderError if there is none.

        The provider reads the whole object: none of its functions returns a part of one, or its size.
        """
        return (await self.text(key))[:most]
