"""Routes to pods in l2bridge mode: a removed worker is drained before the network loses the way to its pods."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding

from components.naming import CONTROL_PLANE, pool_of

PODS = "pods-"
"""Stands before the machine's name in the logical name of its route; no part before it contains it."""


class PodRouteHooks:
    """Hooks of routes. The engine removes a route before its machine, whose pods still run then."""

    release: Callable[[str], Awaitable[None]]
    """Wait until a pool can spare a worker, then drain it; its argument is the machine's name. Set before any hook
    runs."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def of(self, machine: str) -> ResourceHookBinding | None:
        """Return the hooks of a machine's route; control planes have none."""
        return None if pool_of(machine) == CONTROL_PLANE else self.of_route

    @cached_property
    def of_route(self) -> ResourceHookBinding:
        """Hooks of a resource that is the route of one machine; its logical name is CLUSTER-...pods-MACHINE."""
        return ResourceHookBinding(before_delete=[ResourceHook(f"{self._cluster}-lose-route", self._before_delete)])

    @cached_property
    def of_table(self) -> ResourceHookBinding:
        """Hooks of a resource that has the routes of all machines in its input `routes`."""
        return ResourceHookBinding(before_update=[ResourceHook(f"{self._cluster}-lose-routes", self._before_update)])

    async def _before_delete(self, args: ResourceHookArgs) -> None:
        await self._released(args.name.removeprefix(f"{self._cluster}-").partition(PODS)[2])

    async def _before_update(self, args: ResourceHookArgs) -> None:
        kept = set(_machines(args.new_inputs))
        for name in _machines(args.old_inputs):
            if name not in kept:
                await self._released(name)

    async def _released(self, machine: str) -> None:
        """Release a worker. Control planes have no gate, and nothing drains them when the cluster is destroyed."""
        if pool_of(machine) != CONTROL_PLANE:
            await self.release(machine)


def _machines(inputs: Mapping[str, Any] | None) -> Iterable[str]:
    """Return the names of the routes of a table's inputs, which are those of the machines."""
    routes: list[Mapping[str, Any]] = (inputs or {}).get("routes") or []
    return [each["name"] for each in routes]
