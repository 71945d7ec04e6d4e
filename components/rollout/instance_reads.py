"""Reads of instances that all hooks of a run share."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping

from components.rollout.workers import Instances, Machines

VALID_SECONDS = 10.0
"""Time for which a read counts. On Azure each machine is one call: Azure Resource Manager admits 250 reads at once and
25 a second, Azure Compute 12 a minute of one machine ("Understand how Azure Resource Manager throttles requests",
"Throttling limits for Virtual Machines"). A pool of 100 machines takes 10 a second and 6 a minute of each."""


class InstanceReads:
    """The instances of a cluster's pools, read once for all hooks that ask within VALID_SECONDS."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._locks: Mapping[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._read: dict[str, tuple[float, Instances]] = {}
        self._changes: dict[str, int] = defaultdict(int)

    async def of(self, pool: str) -> Instances:
        """Return the instances of a pool's machines, from a read that began after the last call of `changed`.

        Raises ProviderError if the cloud does not answer.
        """
        async with self._locks[pool]:
            kept = self._read.get(pool)
            if kept and time.monotonic() - kept[0] < VALID_SECONDS:
                return kept[1]
            while True:
                began, changes = time.monotonic(), self._changes[pool]
                found = await self._machines.instances(pool)
                if changes == self._changes[pool]:
                    self._read[pool] = began, found
                    return found

    def changed(self, pool: str) -> None:
        """Forget what was read of a pool: this run has created one of its machines."""
        self._changes[pool] += 1
        self._read.pop(pool, None)
