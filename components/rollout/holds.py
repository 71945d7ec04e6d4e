"""Reasons to stop the roll of a pool between two machines: an unready canary, or the operator's pause."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pulumi

from components.rollout.workers import Missing

PAUSE_FILE = "MULLION_PAUSE_FILE"
"""Environment variable with the path of a file: while it exists, no worker is deleted. `mullion up` sets it."""
TOLERATED_SECONDS = 60.0
"""Longest time for which a watched canary may be unready, because its kubelet may restart."""


def paused() -> bool:
    """Return whether the operator has asked this run to delete no more workers."""
    path = os.environ.get(PAUSE_FILE, "")
    return bool(path) and Path(path).exists()


class Holds:
    """Reasons of one run to delete no more workers."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._failed: dict[str, str] = {}

    def refuse(self, pool: str, name: str) -> None:
        """Raise RuntimeError if this worker must stay."""
        if pool in self._failed:
            raise RuntimeError(f"{name} was not changed: {self._failed[pool]}")
        if paused():
            raise RuntimeError(
                f"paused: {name} was not changed, because roll --pause of {self._cluster} asked for it; the next up, "
                f"or roll --resume, continues"
            )

    def stop(self, pool: str, why: str) -> RuntimeError:
        """Refuse all further workers of a pool in this run, and return the error to raise."""
        self._failed[pool] = f"{why}. Run this again in some minutes"
        return RuntimeError(self._failed[pool])

    async def watch(
        self, pool: str, name: str, seconds: float, poll: float, check: Callable[[], Awaitable[Missing | None]]
    ) -> None:
        """Watch a canary that has passed its gate, for these seconds. Raises RuntimeError if it does not stay ready.

        In that case this run replaces no other machine of the pool. A pause ends the watch once the canary is ready.
        """
        pulumi.log.info(f"{name} is the canary of pool {pool}: it is watched for {seconds:.0f} s before the others")
        end, since = time.monotonic() + seconds, None
        while (missing := await check()) or (time.monotonic() < end and not paused()):
            now = time.monotonic()
            since = None if missing is None else now if since is None else since
            if missing and since is not None and now - since >= TOLERATED_SECONDS:
                why = f"the canary {name} of pool {pool} did not stay ready: {missing.why}"
                self._failed[pool] = f"{why}. Repair it, or undo the change, then run this again"
                raise RuntimeError(self._failed[pool])
            await asyncio.sleep(poll)
