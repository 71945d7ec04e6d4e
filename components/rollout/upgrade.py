"""A new version of Kubernetes in two stages: the control plane first, the pools once it reports that version.

The spec has the version that is wanted. The desired-state pointer tells it to the control plane, which says in its
status records what it has reached. While that is less, pools are planned as if the spec had the version that is
reported: so nothing of them changes, and nodes are never newer than the API. While a machine of the control plane is
silent, they stay at the version that the pointer remembers of them: it may be the one that is behind.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding

from components.plan import ClusterPlan, MachineGroup, pool_at
from components.releases import in_order
from components.releases.skew import refusal

MACHINE_UPGRADE_SECONDS = 20 * 60
"""Seconds in which each control plane machine reaches a new version: snapshot, images, restart, health gates."""
POLL_SECONDS = 15.0
"""Seconds between two looks."""


@dataclass(frozen=True)
class Desired:
    """The versions in the desired-state pointer."""

    kubernetes: str
    """What the control plane shall have."""
    pools: str
    """What the pools had in the run that wrote it: the whole control plane was there by then."""


class ControlPlaneVersions(Protocol):
    """What a cloud's stores tell of the control plane."""

    async def reported(self) -> list[str]:
        """The versions that its machines report, one for each that does."""
        ...

    async def desired(self) -> Desired | None:
        """What the pointer says now; None where there is none."""
        ...


class Upgrade:
    """Which version the pools of one cluster have in this run."""

    source: ControlPlaneVersions
    """Set once the control plane is registered, which is before anything here is asked."""
    version: Output[str]
    """The pools' version: that of the spec, or an older one that the control plane still has."""

    def __init__(self, plan: ClusterPlan, begins: Output[bool], *, simulated: bool) -> None:
        """begins: whether the cluster is made by this run. simulated: nothing is waited for, in the sandbox."""
        self._plan, self._wanted, self._simulated = plan, plan.spec.kubernetes, simulated
        self._waits = False
        self.version = begins.apply(self._decide)
        reach = [ResourceHook(f"{plan.name}-reach", self._reach)]
        # where an object's content does not change in place, the pointer is made anew
        self.hooks = ResourceHookBinding(after_create=reach, after_update=reach)

    def pool(self, pool: MachineGroup) -> Output[MachineGroup]:
        """A pool as it is in this run."""
        return self.version.apply(lambda version: self._at(pool, version))

    def groups(self) -> dict[str, Output[MachineGroup]]:
        """All machine groups by name: pools as they are in this run, the control plane as it shall be."""
        pools = {each.name: self.pool(each) for each in self._plan.pools}
        return {**pools, self._plan.control_plane.name: Output.from_input(self._plan.control_plane)}

    def _at(self, pool: MachineGroup, version: str) -> MachineGroup:
        try:
            return pool_at(self._plan, pool, version)
        except LookupError as error:
            raise pulumi.RunError(
                f"kubernetes: pool {pool.name} stays at {version} until the control plane has {self._wanted}, and "
                f"cannot be planned so: {error}. Put back what {version} needs (artifacts: file or entries; mullion "
                "pin) until the upgrade is through"
            ) from None

    async def _decide(self, begins: bool) -> str:
        if begins:
            return self._wanted
        reported, machines = await self.source.reported(), len(self._plan.control_plane.machines)
        whole = len(reported) >= machines
        desired = None if whole else await self.source.desired()
        known = in_order({*reported, *((desired.kubernetes, desired.pools) if desired else ())})
        if not known:
            return self._wanted  # the run that should have made the control plane was cut off
        if why := refusal(known, self._wanted):
            raise pulumi.RunError(f"kubernetes: {why}")
        if not whole and known[-1] != self._wanted:
            raise pulumi.RunError(
                f"kubernetes: {len(reported) or 'none'} of the control plane's {machines} machines report which "
                f"version they have, so it cannot go from {known[-1]} to {self._wanted}. Look after the status records "
                f"of the others (bundle store, status/), or write {known[-1]}"
            )
        if known[0] == self._wanted:
            return self._wanted
        self._waits = True
        if self._plan.pools:
            pulumi.warn(
                f"pools stay at Kubernetes {known[0]} in this run: the control plane has to reach {self._wanted} "
                "first. Run this again when it has; `mullion up` does so by itself"
            )
        return known[0]

    async def _reach(self, args: ResourceHookArgs) -> None:
        """After the pointer changed: the control plane reaches the version that it asks for."""
        end = time.monotonic() + MACHINE_UPGRADE_SECONDS * len(self._plan.control_plane.machines)
        while self._waits:
            reported = in_order(await self.source.reported())
            whole = len(reported) >= len(self._plan.control_plane.machines)
            if whole and reported[0] == self._wanted:
                return
            if self._simulated or time.monotonic() > end:
                raise RuntimeError(
                    f"the control plane has not reached Kubernetes {self._wanted}; its machines report "
                    f"{', '.join(reported) or 'nothing'}. Pools stay as they are until it has"
                )
            await asyncio.sleep(POLL_SECONDS)
