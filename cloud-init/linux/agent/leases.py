"""Election of the active agent by a Lease in client-go's format, without comparing clocks.

A lease has expired if it did not change for its duration, measured by this machine's monotonic clock. Two agents may
be active for a moment (if one loses the lease during a round), so every action may be repeated, and writes that depend
on what was read carry its resourceVersion.
"""

import time
from collections.abc import Callable
from typing import Any

from agent.api import Api, Refused

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SECONDS = 60
"""Lease duration in seconds; a round of a busy agent takes less."""


class Lease:
    """The lease as one agent sees it."""

    def __init__(self, me: str, name: str = "mullion-agent", clock: Callable[[], float] = time.monotonic) -> None:
        self.me, self.name, self.clock = me, name, clock
        self.seen: tuple[Any, float] = (None, 0.0)
        """Holder and renewal time of the lease, and when this agent first saw them."""

    def hold(self, api: Api) -> bool:
        """Take or renew the lease; return False if another agent holds it."""
        found = api.find(f"{PATH}/{self.name}")
        spec = found["spec"] if found else {}
        mark = (spec.get("holderIdentity"), spec.get("renewTime"))
        if self.seen[0] != mark:
            self.seen = (mark, self.clock())
        if not mine(spec, self.me, self.clock() - self.seen[1]):
            return False
        wanted = {"metadata": {"name": self.name, "namespace": "kube-system"}, **(found or {})}
        wanted |= {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": renewed(spec, self.me)}
        try:
            if found:
                api.call("PUT", f"{PATH}/{self.name}", wanted)
            else:
                api.call("POST", PATH, wanted)
        except Refused as error:
            if error.status != 409:
                raise
            return False  # another agent was first
        return True


def mine(spec: dict[str, Any], me: str, unchanged: float) -> bool:
    """Return whether this agent may take a lease that has not changed for `unchanged` seconds."""
    holder = spec.get("holderIdentity")
    return holder in (None, "", me) or unchanged > spec.get("leaseDurationSeconds", SECONDS)


def renewed(spec: dict[str, Any], me: str) -> dict[str, Any]:
    """Return the lease's spec as held by this agent. Its times are informative only."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 1000 % 10**6:06}Z"
    same = spec.get("holderIdentity") == me
    turns = spec.get("leaseTransitions", -1 if not spec else 0) + (0 if same else 1)
    begun = spec.get("acquireTime", now) if same else now
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": SECONDS,
        "acquireTime": begun,
        "renewTime": now,
        "leaseTransitions": turns,
    }
