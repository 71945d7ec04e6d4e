"""Rolling a pool: what must hold before a worker goes, and what a new one must reach before the next one goes.

Two hooks of the engine do it, so plain `pulumi up` has them. Before a worker is deleted, the rest of its pool must be
there, and the worker is cordoned and drained; after one is created, its status record is waited for. An exception
before a deletion ends the run with the rest of the pool alive. One after a creation is a warning to some engines and
an error to others: either way the check before the next deletion is what stops a roll. docs/rolling.md has all of it.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Protocol

import pulumi
from pulumi import Output, ResourceHook, ResourceHookArgs, ResourceHookBinding

from components.node.role import POOL_LABEL
from components.plan import ClusterPlan, Machine, MachineGroup
from components.rollout import simulation
from components.rollout.drain import Undrained, drain
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable, ready_nodes
from components.spec.choices import Gate
from components.spec.options import Rollout as Options
from components.spec.quantities import duration_seconds

BOOT_SECONDS = {"linux": 15 * 60, "windows": 30 * 60}
"""Seconds from an instance's start to its ready record, at most; Windows reboots twice and unpacks large images."""
ENOUGH = {Gate.READY: ("ready",), Gate.REGISTERED: ("ready", "registered")}
"""States of a status record that a gate is content with."""
POLL_SECONDS = 10.0
"""Seconds between two looks."""
READY_VALID_SECONDS = 600.0
"""Seconds for which a machine that was seen ready counts as ready."""
API_RETRY_SECONDS = 300.0
"""Seconds for which an API that did not answer is left alone."""


class Machines(Protocol):
    """What a rollout asks of a cloud."""

    async def instances(self, *, running: bool) -> dict[str, str]:
        """Ids of instances by private address: those that run, or those that are stopped."""
        ...

    async def instance(self, args: ResourceHookArgs) -> str:
        """Id of the instance that a hook is about, as the machine itself knows it."""
        ...

    async def launched(self, instance: str) -> datetime:
        """When an instance was started, UTC."""
        ...

    async def record(self, instance: str) -> dict[str, Any]:
        """The status record of an instance; state absent, with a message, where there is none."""
        ...


@dataclass(frozen=True)
class Missing:
    """A member that is not ready. hopeful: it was started so recently that it may still become so."""

    name: str
    why: str
    hopeful: bool


class Rollout:
    """The gates of one cluster's pools."""

    def __init__(self, plan: ClusterPlan, machines: Machines, access: Output[Access], *, simulated: bool) -> None:
        """simulated: in the sandbox, where machines boot within the call that makes them, nothing is waited for."""
        self._cluster, self._machines, self._access, self._simulated = plan.name, machines, access, simulated
        self._pools = {pool.name: pool for pool in plan.pools}
        self._options = {name: pool.rollout for name, pool in plan.spec.pools.items()}
        self._registered: dict[str, pulumi.Resource] = {}
        self._locks: Mapping[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._away: dict[str, set[str]] = defaultdict(set)
        self._ready: dict[str, float] = {}
        self._done: dict[str, list[str]] = defaultdict(list)
        self._silent_until, self._silence, self._warned = 0.0, "", False
        self.hooks = self._bind()

    def _bind(self) -> ResourceHookBinding:
        """One pair for the cluster: the state names them, and a pool may be gone from the program."""
        leave = ResourceHook(f"{self._cluster}-leave", self._before_delete)
        arrive = ResourceHook(f"{self._cluster}-arrive", self._after_create)
        return ResourceHookBinding(before_delete=[leave], after_create=[arrive])

    def watch(self, name: str, resource: pulumi.Resource) -> None:
        """Know the resource of a planned worker, by its logical name."""
        self._registered[name] = resource

    async def _before_delete(self, args: ResourceHookArgs) -> None:
        """Before a worker is deleted: the rest of its pool is there, and its pods are elsewhere."""
        planned = self._registered.get(args.name)
        if planned is not None and await _is_known(planned):
            return  # it goes with the whole cluster: while one is replaced, its registration is not answered
        name = args.name.removeprefix(f"{self._cluster}-")
        pool = self._pools.get(_pool_of(name))
        if pool is not None:
            await self._let_go(pool, name, replaced=planned is not None)
        options = self._options[pool.name] if pool else Options()
        try:
            await self._drain(name, duration_seconds(options.drain), planned)
        except RuntimeError:
            self._away[pool.name if pool else ""].discard(name)  # it stays
            raise

    async def _after_create(self, args: ResourceHookArgs) -> None:
        """After a worker was created: one in the place of another reaches its gate. Nobody waits for a new member."""
        name = args.name.removeprefix(f"{self._cluster}-")
        pool = self._pools[_pool_of(name)]
        if name not in self._away[pool.name]:
            return
        self._done[pool.name].append(name)
        machine = next(each for each in pool.machines if each.name == name)
        instance = await self._machines.instance(args)
        while missing := await self._look(pool, machine, instance, await self._nodes(pool)):
            if not missing.hopeful:
                self._away[pool.name].discard(name)  # it is looked at like any other from now on
                raise RuntimeError(f"{name} is not ready: {missing.why}. No other machine of pool {pool.name} goes now")
            await asyncio.sleep(POLL_SECONDS)
        self._away[pool.name].discard(name)

    async def _let_go(self, pool: MachineGroup, name: str, *, replaced: bool) -> None:
        """Wait until enough of the pool is there for this member to go; RuntimeError where that cannot be."""
        allowed = pool.max_unavailable - (1 if replaced else 0)
        async with self._locks[pool.name]:  # two that go at once would each count on the other
            while len(missing := await self._missing(pool, name)) > allowed:
                if not any(each.hopeful for each in missing):
                    raise RuntimeError(self._standing(pool, name, missing))
                await asyncio.sleep(POLL_SECONDS)
            if replaced:
                self._away[pool.name].add(name)

    async def _missing(self, pool: MachineGroup, leaving: str) -> list[Missing]:
        """The pool's other members that are not ready. One that was never made does not count."""
        running, stopped = [await self._machines.instances(running=each) for each in (True, False)]
        place = next((each.index for each in pool.machines if each.name == leaving), len(pool.machines))
        nodes, found, looks = await self._nodes(pool), list[Missing](), list[Any]()
        for machine in pool.machines:
            address = str(machine.address)
            if machine.name == leaving:
                continue
            if machine.name in self._away[pool.name]:
                found.append(Missing(machine.name, "it is being replaced", hopeful=not self._simulated))
            elif address in stopped or (address not in running and machine.index < place):
                why = f"its instance {stopped[address]} is stopped" if address in stopped else "it has no instance"
                found.append(Missing(machine.name, why, hopeful=False))
            elif address in running:
                looks.append(self._look(pool, machine, running[address], nodes))
        return [*found, *filter(None, await asyncio.gather(*looks))]

    async def _look(
        self, pool: MachineGroup, machine: Machine, instance: str, nodes: dict[str, bool] | None
    ) -> Missing | None:
        """None where the member is ready: by its status record, and by its Node where the gate asks for that."""
        if self._options[pool.name].gate is Gate.READY and nodes is not None and not nodes.get(machine.name):
            why = "its Node is not Ready" if machine.name in nodes else "the cluster has no Node of it"
            return Missing(machine.name, why, await self._hopeful(pool, instance))
        if time.monotonic() - self._ready.get(instance, -READY_VALID_SECONDS) < READY_VALID_SECONDS:
            return None
        record = await self._machines.record(instance)
        if record["state"] in ENOUGH[self._options[pool.name].gate]:
            self._ready[instance] = time.monotonic()
            return None
        if record["state"] == "absent":
            why = f"{instance} has no status record ({record['message']})"
        else:
            at = "/".join(str(record[each]) for each in ("phase", "step") if record.get(each))
            why = f"{instance} says {record['state']} {at} {record.get('message') or ''}".strip()
        return Missing(machine.name, why, record["state"] != "failed" and await self._hopeful(pool, instance))

    async def _hopeful(self, pool: MachineGroup, instance: str) -> bool:
        if self._simulated:
            return False
        age = datetime.now(timezone.utc) - await self._machines.launched(instance)
        return age.total_seconds() < BOOT_SECONDS[pool.family]

    def _standing(self, pool: MachineGroup, name: str, missing: list[Missing]) -> str:
        """Where a roll stands that cannot go on."""
        reasons = "; ".join(f"{each.name}: {each.why}" for each in missing)
        unready = {each.name for each in missing}
        done = ", ".join(f"{each} (not ready)" if each in unready else each for each in self._done[pool.name])
        flag = " --sandbox" if self._simulated or simulation.api() else ""
        return (
            f"pool {pool.name} cannot spare {name}, because others are not ready ({reasons}). {name} was not touched, "
            f"nor what comes after it; replaced in this run: {done or 'none'}. Repair what is not ready, or replace it "
            f"alone (mullion roll {self._cluster} {pool.name} --machine {missing[0].name}{flag}), then run this again"
        )

    async def _api(self) -> KubernetesApi | None:
        """The cluster's API, unless it was silent a moment ago."""
        return KubernetesApi(await self._access_now()) if time.monotonic() >= self._silent_until else None

    async def _access_now(self) -> Access:
        access = await self._access.future()
        if access is None:
            raise RuntimeError("the cluster's certificate authority is not known")
        return access

    async def _nodes(self, pool: MachineGroup) -> dict[str, bool] | None:
        """Whether each Node of a pool is Ready, by name; None where the API is not asked, or does not answer."""
        if self._options[pool.name].gate is not Gate.READY or (api := await self._api()) is None:
            return None
        try:
            return await ready_nodes(api, f"?labelSelector={POOL_LABEL}%3D{pool.name}")
        except Unreachable as error:
            self._leave_alone(error)
            return None
        except Refused:
            return None  # it is there: whoever drains asks it all the same

    async def _drain(self, name: str, seconds: float, resource: pulumi.Resource | None) -> None:
        """Drain a node, or say once why not. RuntimeError where pods refuse to go."""
        try:
            said = await drain(api, name, seconds) if (api := await self._api()) else ""
        except Unreachable as error:
            said = self._leave_alone(error)
        except Refused as error:
            raise RuntimeError(
                f"the Kubernetes API does not let {name} be cordoned ({error}). {name} was not touched, nor what comes "
                "after it; run this again when the API answers"
            ) from error
        except Undrained as error:
            raise RuntimeError(
                f"{error}. {name} was cordoned and not deleted, and nothing after it was touched. Let these pods go "
                "(their PodDisruptionBudgets say when), or give them more time (rollout.drain), then run this again"
            ) from error
        if said:
            pulumi.log.info(f"{name}: {said}", resource)
        elif not self._warned:
            self._warned = True
            pulumi.warn(
                f"cluster {self._cluster}: nodes are not drained, and gates go by status records alone, because the "
                f"Kubernetes API does not answer here ({self._silence})"
            )

    def _leave_alone(self, error: Exception) -> str:
        """Ask an API that does not answer nothing more for a time."""
        self._silent_until, self._silence = time.monotonic() + API_RETRY_SECONDS, str(error)
        return ""


async def _is_known(resource: pulumi.Resource) -> bool:
    """Whether the engine has answered the registration of a resource."""
    answer = asyncio.ensure_future(resource.urn.future())
    return bool((await asyncio.wait({answer}, timeout=0.1))[0])


def _pool_of(machine: str) -> str:
    """The pool of a machine, by the machine's name (components/naming.py)."""
    return machine.rpartition("-")[0]
