"""Upgrade of Kubernetes in two stages: first the control plane, then the pools.

The control plane follows the spec's version through the desired-state pointer, and reports its version in its status
records. While it reports an older version, pools are planned with that version: they do not change, and nodes are never
newer than the API. While a control-plane machine reports nothing, pools stay at the version that the pointer has for
them, because that machine may have the older version.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding

from components.plan import ClusterPlan, MachineGroup, pool_at
from components.releases import in_order, older
from components.releases.skew import refusal
from components.rollout.signed_documents import POINTER, Forged

MACHINE_UPGRADE_SECONDS = 20 * 60
"""Maximum time for the upgrade of one control-plane machine: snapshot, images, restart, health gates."""
POLL_SECONDS = 15.0
"""Interval between reads of the status records."""
PATIENCE_SECONDS = 60
"""Time for which `up` repeats reads that fail: a storage account applies new network rules some seconds later."""


@dataclass(frozen=True)
class Desired:
    """The versions in the desired-state pointer."""

    kubernetes: str
    """Version for the control plane."""
    pools: str
    """Version of the pools in the run that wrote the pointer; the whole control plane had reached it."""


SECOND_RUN = "Run this again when it has; `mullion up` does so by itself"
"""End of the warning of a run in which the pools stay at an older version; `mullion up` does not print it."""


class Unreadable(Exception):
    """The bundle store did not say whether it has an object; the message has the reason."""


class ControlPlaneVersions(Protocol):
    """Versions of the control plane, from a cloud's bundle store. Raises Unreadable if the store does not answer."""

    async def reported(self) -> list[str]:
        """Return the versions that its machines report; a machine without a status record adds none."""
        ...

    async def desired(self) -> Desired | None:
        """Return the versions in the pointer; None if there is none. Raises Forged if it is not this program's."""
        ...


class Upgrade:
    """The Kubernetes version of one cluster's pools in this run."""

    source: ControlPlaneVersions | None = None
    """Set after the control plane is registered, before the version is decided; None if the program failed before."""
    version: Output[str]
    """Version of the pools: the spec's, or the older one that the control plane reports."""

    def __init__(self, plan: ClusterPlan, begins: Output[bool], *, simulated: bool) -> None:
        """begins: whether this run creates the cluster. simulated: do not wait, as in an unbooted sandbox."""
        self._plan, self._wanted, self._simulated = plan, plan.spec.kubernetes, simulated
        self._waits = False
        self.version = begins.apply(self._decide)
        reach = [ResourceHook(f"{plan.name}-reach", self._reach)]
        # after_create too: some providers replace an object to change its content
        self.hooks = ResourceHookBinding(after_create=reach, after_update=reach)

    def pool(self, pool: MachineGroup) -> Output[MachineGroup]:
        """Return a pool at its version in this run."""
        return self.version.apply(lambda version: self._at(pool, version))

    def groups(self) -> dict[str, Output[MachineGroup]]:
        """Return all machine groups by name: pools at their version in this run, the control plane at the spec's."""
        pools = {pool.name: self.pool(pool) for pool in self._plan.pools}
        return {**pools, self._plan.control_plane.name: Output.from_input(self._plan.control_plane)}

    def _at(self, pool: MachineGroup, version: str) -> MachineGroup:
        try:
            return pool_at(self._plan, pool, version)
        except LookupError as error:
            raise pulumi.RunError(
                f"kubernetes: pool {pool.name} stays at {version} until the control plane has {self._wanted}, but "
                f"cannot be planned with {version}: {error}. Keep the artifacts of {version} (artifacts: file or "
                "entries; mullion pin) until the upgrade has ended"
            ) from None

    async def _decide(self, begins: bool) -> str:
        source = self.source
        if begins or source is None:
            return self._wanted
        try:
            reported, desired = await self._read(source)
        except Unreadable as error:
            return self._unread(str(error))
        machines = len(self._plan.control_plane.machines)
        whole = len(reported) >= machines
        versions = in_order({*reported, *((desired.kubernetes, desired.pools) if desired else ())})
        if not versions:
            return self._wanted  # an earlier run was interrupted before it created the control plane
        if why := refusal(versions, self._wanted):
            raise pulumi.RunError(f"kubernetes: {why}")
        if not whole and versions[-1] != self._wanted:
            raise pulumi.RunError(
                f"kubernetes: {len(reported) or 'none'} of the control plane's {machines} machines report their "
                f"version, so it cannot be upgraded from {versions[-1]} to {self._wanted}. Check the status records of "
                f"the others (bundle store, status/), or write {versions[-1]}"
            )
        if versions[0] == self._wanted:
            return self._wanted
        self._waits = True
        if self._plan.pools:
            pulumi.warn(
                f"pools stay at Kubernetes {versions[0]} in this run: the control plane has to reach {self._wanted} "
                f"first. {SECOND_RUN}"
            )
        return versions[0]

    async def _read(self, source: ControlPlaneVersions) -> tuple[list[str], Desired | None]:
        """Return the reported versions, and the pointer's unless all machines report. Raises Unreadable."""
        once = self._simulated or pulumi.runtime.is_dry_run()
        end = time.monotonic() + (0 if once else PATIENCE_SECONDS)
        while True:
            try:
                reported = await source.reported()
                whole = len(reported) >= len(self._plan.control_plane.machines)
                return reported, None if whole else await self._pointer(source, reported)
            except Unreadable:
                if time.monotonic() >= end:
                    raise
            await asyncio.sleep(POLL_SECONDS)

    def _unread(self, why: str) -> str:
        """Return the spec's version with a warning in a preview, which changes nothing. Raises RunError in `up`."""
        if not pulumi.runtime.is_dry_run():
            raise pulumi.RunError(
                f"kubernetes: the bundle store cannot be read, so the control plane's version is unknown, and no pool "
                f"was changed: {why}. Run this again where the store can be read, with an identity that may read it"
            )
        pulumi.warn(
            f"this preview shows pools at Kubernetes {self._wanted}, although the control plane may have an older "
            f"version; `up` would stop here, because the bundle store cannot be read: {why}"
        )
        return self._wanted

    async def _pointer(self, source: ControlPlaneVersions, reported: list[str]) -> Desired | None:
        """Return the pointer's versions, for a control plane that does not report all of its own.

        Raises RunError if the pointer is not this program's, or older than what a machine follows already, and
        Unreadable.
        """
        try:
            desired = await source.desired()
        except Forged as error:
            why = str(error)
        else:
            if not desired or not reported or not older(desired.kubernetes, in_order(reported)[-1]):
                return desired
            why = f"it has Kubernetes {desired.kubernetes}, but a machine already has {in_order(reported)[-1]}"
        raise pulumi.RunError(
            f"kubernetes: {POINTER} in the bundle store is refused: {why}. Find out who wrote it. While a "
            "control-plane machine does not report its version, pools follow this document: repair the control plane, "
            "so that each of its machines reports, then run this again"
        )

    async def _reach(self, args: ResourceHookArgs) -> None:
        """After the pointer changed, wait until the control plane reports the pointer's version."""
        end = time.monotonic() + MACHINE_UPGRADE_SECONDS * len(self._plan.control_plane.machines)
        while self._waits and self.source is not None:
            reported, unread = list[str](), ""
            try:
                reported = in_order(await self.source.reported())
            except Unreadable as error:
                unread = f", because the bundle store cannot be read: {error}"
            whole = len(reported) >= len(self._plan.control_plane.machines)
            if whole and reported[0] == self._wanted:
                return
            if self._simulated or time.monotonic() > end:
                raise RuntimeError(
                    f"the control plane has not reached Kubernetes {self._wanted}; its machines report "
                    f"{', '.join(reported) or 'nothing'}{unread}. Pools do not change until it has"
                )
            await asyncio.sleep(POLL_SECONDS)
