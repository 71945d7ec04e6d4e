"""The way out of load balancers: before a worker leaves those of `ingress`, the gate of its pool must let it go."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding

SEPARATOR = "."
"""Stands before the machine's name in the logical name of a membership; no other part of that name contains it."""


def membership_name(group: str, machine: str) -> str:
    """Return the logical name of a machine's membership in a group of targets."""
    return f"{group}{SEPARATOR}{machine}"


class Traffic:
    """A hook of memberships: the engine deletes a membership before its machine, so the gate runs before both."""

    hooks: ResourceHookBinding
    """Of every membership of a worker in a load balancer's targets."""

    def __init__(self, cluster: str, seconds: float, spare: Callable[[str], Awaitable[bool]]) -> None:
        """spare: wait until a pool can spare a worker; False if that worker stays. seconds: time in which a load
        balancer may send new connections to a target that was removed.
        """
        self._seconds, self._spare = seconds, spare
        self._left: dict[str, float] = {}
        leave = ResourceHook(f"{cluster}-leave-load-balancer", self._before_delete)
        self.hooks = ResourceHookBinding(before_delete=[leave])

    async def _before_delete(self, args: ResourceHookArgs) -> None:
        """Before a worker leaves a load balancer, wait until its pool can spare it. A worker that stays may leave."""
        name = args.name.rpartition(SEPARATOR)[2]
        if name not in self._left and await self._spare(name):
            self._left[name] = time.monotonic()

    def consequence(self, name: str) -> str:
        """Return what a failed drain means for a worker's connections; empty if it has no load balancer."""
        if name not in self._left:
            return ""
        return (
            f". {name} has left its load balancers; run this again to go on, or take the change back and run up, which"
            " puts it behind them again"
        )

    async def settle(self, name: str) -> None:
        """Wait until load balancers send no new connections to a worker."""
        if name in self._left:
            await asyncio.sleep(max(0.0, self._left[name] + self._seconds - time.monotonic()))
