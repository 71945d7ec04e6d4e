"""Gates of a rolling replacement: checks before a worker is deleted and after its successor is created.

Two resource hooks of the engine run them, so plain `pulumi up` has them too. Before a deletion, enough other workers of
the pool must be ready, and the worker is drained. After a creation, the run waits for the worker's status record. An
exception before a deletion ends the run; the other workers stay. An exception after a creation is a warning in some
engines and an error in others, so the check before the next deletion is what stops a roll. See docs/rolling.md.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding

from components.naming import pool_of
from components.node.role import POOL_LABEL
from components.plan import ClusterPlan, Machine, MachineGroup
from components.rollout import simulation, workers
from components.rollout.api_tunnel import ApiTunnel
from components.rollout.downgrades import refuse_older
from components.rollout.drain import drain_or_stop, not_drained, undrainable
from components.rollout.failed_runs import FailedRuns
from components.rollout.holds import Holds
from components.rollout.instance_reads import InstanceReads
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable, node_fault, ready_nodes
from components.rollout.provider_calls import ProviderError
from components.rollout.traffic import Traffic
from components.rollout.workers import BOOT_SECONDS, PASSING_STATES, Machines, Missing
from components.sdk.registration import is_known
from components.spec.choices import Gate
from components.spec.options import Rollout as Options
from components.spec.quantities import duration_seconds

POLL_SECONDS = 10.0
"""Interval between checks."""
READY_VALID_SECONDS = 600.0
"""Time for which a ready status record is not read again."""
API_RETRY_SECONDS = 300.0
"""Time until the next call of a Kubernetes API that did not answer."""


class Rollout:
    """The gates of one cluster's pools."""

    version: Output[str]
    """Kubernetes version of the pools in this run. Set before any resource of a pool is registered."""

    def __init__(
        self,
        plan: ClusterPlan,
        machines: Machines,
        access: Output[Access | None],
        *,
        simulated: bool,
        tunnel: ApiTunnel | None = None,
    ) -> None:
        """simulated: do not wait, because machines of an unbooted sandbox are ready when their creation returns.

        tunnel: the way to a private API; None if it is not reached by tunnel.
        """
        self._tunnel, self._joins = tunnel, plan.joins
        self._cluster, self._machines, self._access, self._simulated = plan.name, machines, access, simulated
        self._facts, self._pools = plan.spec.cloud.facts, {pool.name: pool for pool in plan.pools}
        self._options = {name: pool.rollout for name, pool in plan.spec.pools.items()}
        self._registered: dict[str, pulumi.Resource] = {}
        self._locks: Mapping[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._replacing: dict[str, set[str]] = defaultdict(set)
        self._ready: dict[str, float] = {}
        self._done: dict[str, list[str]] = defaultdict(list)
        self._silent_until, self._silence, self._warned = 0.0, "", False
        self._failed, self._holds, self._instances = FailedRuns(), Holds(plan.name), InstanceReads(machines)
        self.hooks = self._bind()
        self.traffic = Traffic(plan.name, 0 if simulated else self._facts.deregistration_seconds, self._spare)

    def _bind(self) -> ResourceHookBinding:
        """Return one pair of hooks for all pools: the state refers to hooks by name, also for a pool that is gone."""
        leave = ResourceHook(f"{self._cluster}-leave", self._before_delete)
        arrive = ResourceHook(f"{self._cluster}-arrive", self._after_create)
        return ResourceHookBinding(before_delete=[leave], after_create=[arrive])

    def watch(self, name: str, resource: pulumi.Resource) -> None:
        """Remember the resource of a planned worker, by logical name."""
        self._registered[name] = resource

    async def _before_delete(self, args: ResourceHookArgs) -> None:
        instance = await self._machines.instance(args) if self._joins else ""
        await self.release(args.name.removeprefix(f"{self._cluster}-"), instance)

    async def release(self, name: str, instance: str = "") -> None:
        """Before a worker or its route is deleted, wait for the other workers of its pool, then drain it.

        instance: its id if it joined a cluster that somebody else made.
        """
        if not await self._spare(name):
            return
        pool, resource = pool_of(name), self._registered.get(f"{self._cluster}-{name}")
        try:
            await self._drain(name, self._options.get(pool, Options()), resource, instance)
        except RuntimeError as error:
            self._replacing[pool].discard(name)  # the worker stays
            raise RuntimeError(f"{error}{self.traffic.consequence(name)}") from error
        await self.traffic.settle(name)

    async def _spare(self, name: str) -> bool:
        """Wait until a pool can spare a worker. Return False if it stays, or if the whole cluster is destroyed."""
        planned = self._registered.get(f"{self._cluster}-{name}")
        if planned is not None and await is_known(planned):  # a replaced worker's registration has no answer yet
            return False
        if name not in self._replacing[pool_of(name)]:
            self._holds.refuse(pool_of(name), name)
        if (pool := self._pools.get(pool_of(name))) is None:
            return True
        try:
            await self._refuse_older(name, replaced=planned is not None)
            await self._wait_for_others(pool, name, replaced=planned is not None)
        except RuntimeError:
            self._replacing[pool.name].discard(name)  # the worker stays
            raise
        except ProviderError as error:
            self._replacing[pool.name].discard(name)
            raise RuntimeError(workers.cannot_ask(pool.name, name, self._done[pool.name], error)) from error
        return True

    async def _after_create(self, args: ResourceHookArgs) -> None:
        """After a replaced worker was created, wait until it passes its gate; do not wait for additional workers."""
        name = args.name.removeprefix(f"{self._cluster}-")
        pool = self._pools[pool_of(name)]
        self._instances.changed(pool.name)
        if name not in self._replacing[pool.name]:
            return
        self._done[pool.name].append(name)
        try:
            await self._arrive(pool, name, args)
        except ProviderError as error:
            raise self._holds.stop(pool.name, workers.unasked(pool.name, name, error)) from error
        finally:
            self._replacing[pool.name].discard(name)  # from now on checked like any other worker

    async def _arrive(self, pool: MachineGroup, name: str, args: ResourceHookArgs) -> None:
        """Wait until a replaced worker passes its gate. Raises RuntimeError if it cannot, or while it is watched."""
        machine = next(worker for worker in pool.machines if worker.name == name)
        instance, canary = await self._machines.instance(args), self._options[pool.name].canary

        async def check() -> Missing | None:
            if canary:
                self._ready.pop(instance, None)  # a status record from before the watch does not count
            return await self._check(pool, machine, instance, await self._nodes(pool))

        while missing := await check():
            if not missing.hopeful:
                raise RuntimeError(workers.not_ready(pool.name, name, missing.why))
            await asyncio.sleep(POLL_SECONDS)
        self._replacing[pool.name].discard(name)
        if canary and not machine.index and not self._simulated:
            await self._holds.watch(pool.name, name, duration_seconds(canary), POLL_SECONDS, check)

    async def _refuse_older(self, name: str, *, replaced: bool) -> None:
        """Raise RuntimeError if a replaced worker's successor would have an older Kubernetes than its Node has."""
        if replaced and (wanted := await self.version.future()) and (api := await self._api()):
            try:
                await refuse_older(api, name, wanted)
            except Unreachable as error:
                self._pause_calls(error)

    async def _wait_for_others(self, pool: MachineGroup, name: str, *, replaced: bool) -> None:
        """Wait until enough other workers are ready. Raises RuntimeError if none of the missing can become ready."""
        allowed = pool.max_unavailable - (1 if replaced else 0)
        async with self._locks[pool.name]:  # two deletions at once would each count on the other worker
            lost = await self._is_lost(pool, name)
            while len(missing := self._counted(pool, await self._missing(pool, name), lost)) > allowed:
                if not any(worker.hopeful for worker in missing):
                    flag = " --sandbox" if self._simulated or simulation.api() else ""
                    done = self._done[pool.name]
                    raise RuntimeError(workers.cannot_spare(self._cluster, pool.name, name, missing, done, flag))
                await asyncio.sleep(POLL_SECONDS)
                self._holds.refuse(pool.name, name)
            if replaced:
                self._replacing[pool.name].add(name)

    async def _is_lost(self, pool: MachineGroup, name: str) -> bool:
        """Return whether a worker has no running instance, or no Node that passes the gate: a pool loses nothing by its
        deletion. A status record alone does not show it, because records of working machines can be missing.
        """
        machine = next((worker for worker in pool.machines if worker.name == name), None)
        if machine is None:
            return False
        if str(machine.address) not in (await self._instances.of(pool.name)).running:
            return True
        return bool(node_fault(await self._nodes(pool), name, ready=self._options[pool.name].gate is Gate.READY))

    def _counted(self, pool: MachineGroup, missing: list[Missing], lost: bool) -> list[Missing]:
        """Return the missing workers that count: for a lost worker those that this run replaces or has replaced."""
        ours = {*self._replacing[pool.name], *self._done[pool.name]}
        return [worker for worker in missing if worker.name in ours] if lost else missing

    async def _missing(self, pool: MachineGroup, leaving: str) -> list[Missing]:
        """Return the other workers that are not ready; a worker that was never created does not count."""
        index = next((worker.index for worker in pool.machines if worker.name == leaving), len(pool.machines))
        nodes, missing, checks = await self._nodes(pool), list[Missing](), list[Any]()
        running, stopped = await self._instances.of(pool.name)  # last: `_replacing` below is of this moment
        for machine in pool.machines:
            address = str(machine.address)
            if machine.name == leaving:
                continue
            if machine.name in self._replacing[pool.name]:
                missing.append(Missing(machine.name, "it is being replaced", hopeful=not self._simulated))
            elif address in stopped or (address not in running and machine.index < index):
                why = f"its instance {stopped[address]} does not run" if address in stopped else "it has no instance"
                missing.append(Missing(machine.name, why, hopeful=False))
            elif address in running:
                checks.append(self._check(pool, machine, running[address], nodes))
        return [*missing, *filter(None, await asyncio.gather(*checks))]

    async def _check(
        self, pool: MachineGroup, machine: Machine, instance: str, nodes: dict[str, bool] | None
    ) -> Missing | None:
        """Return None if the worker is ready: by its status record and its Node, which need not be Ready for the gate
        `registered`.

        The record alone is not enough: whoever controls a machine writes what it says. A failure in it is the reason
        why the Node is not there.
        """
        gate = self._options[pool.name].gate
        fault = node_fault(nodes, machine.name, ready=gate is Gate.READY)
        if not fault and time.monotonic() - self._ready.get(instance, -READY_VALID_SECONDS) < READY_VALID_SECONDS:
            return None
        record = await self._machines.record(pool.identity_of(machine), instance)
        if not fault and record["state"] in PASSING_STATES[gate]:
            self._ready[instance] = time.monotonic()
            self._failed.forget(instance)
            return None
        if fault and record["state"] != "failed":
            why = fault
        elif record["state"] == "absent":
            why = f"{instance} has no status record ({record['message']})"
        else:
            step = "/".join(str(record[key]) for key in ("phase", "step") if record.get(key))
            why = f"{instance} reports {record['state']} {step} {record.get('message') or ''}".strip()
        if self._simulated:
            return Missing(machine.name, why, hopeful=False)
        age = datetime.now(timezone.utc) - await self._machines.launched(instance)
        booting = age.total_seconds() < BOOT_SECONDS[pool.family]
        return Missing(machine.name, why, self._failed.may_recover(instance, record, booting=booting))

    async def _api(self) -> KubernetesApi | None:
        """Return the cluster's API; None without a tunnel to it, or within API_RETRY_SECONDS of an unanswered call."""
        if time.monotonic() < self._silent_until:
            return None
        try:
            return KubernetesApi(await self._access_now())
        except Unreachable as error:
            self._pause_calls(error)
            return None

    async def _access_now(self) -> Access:
        if (access := await self._access.future()) is None:
            raise Unreachable("the program has no way to it")
        return await self._tunnel.reached(access) if self._tunnel else access

    async def _nodes(self, pool: MachineGroup) -> dict[str, bool] | None:
        """Whether each Node of a pool is Ready, by name; None if the API does not answer."""
        if (api := await self._api()) is None:
            return None
        try:
            return await ready_nodes(api, f"?labelSelector={POOL_LABEL}%3D{pool.name}")
        except Unreachable as error:
            self._pause_calls(error)
            return None
        except Refused:
            return None  # the API answers, so the drain still calls it

    async def _drain(self, name: str, options: Options, resource: pulumi.Resource | None, instance: str = "") -> None:
        """Drain a node. Raises RuntimeError if pods remain, or if the API does not answer and the drain is required.

        Not required (rollout.require_drain: false, or an unbooted sandbox): warn once.
        """
        required, result, seconds = options.require_drain and not self._simulated, "", duration_seconds(options.drain)
        try:
            api = KubernetesApi(await self._access_now()) if required else await self._api()
            if api:
                result = await drain_or_stop(api, name, seconds, patient=required, instance=instance)
        except Unreachable as error:
            self._pause_calls(error)
            if required:
                raise RuntimeError(undrainable(name, pool_of(name), self._pools, error)) from error
        if result:
            pulumi.log.info(f"{name}: {result}", resource)
        elif not self._warned:
            self._warned = True
            pulumi.warn(not_drained(self._cluster, self._silence))

    def _pause_calls(self, error: Exception) -> None:
        """Make no call of the API for API_RETRY_SECONDS."""
        if self._tunnel:
            self._tunnel.drop()
        self._silent_until, self._silence = time.monotonic() + API_RETRY_SECONDS, str(error)
