"""Which of the agents is the active one: a Lease, kept as client-go keeps it, without comparing clocks.

A lease counts as left when it did not change for its whole duration as this machine's own monotonic clock measures it.
Two agents may still act at once for a moment (a lease lost in the middle of a round), so every action is one that may
be done twice, and writes that depend on what was read carry its resourceVersion.
"""

import time
from collections.abc import Callable
from typing import Any

from agent.api import Api, Refused

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SECONDS = 60
"""For which an agent that says nothing keeps the lease; a round of a busy agent takes less."""


class Lease:
    """One agent's view of the lease."""

    def __init__(self, me: str, name: str = "mullion-agent", clock: Callable[[], float] = time.monotonic) -> None:
        self.me, self.name, self.clock = me, name, clock
        self.seen: tuple[Any, float] = (None, 0.0)
        """What the lease was at its last change, and when that was noticed."""

    def hold(self, api: Api) -> bool:
        """Take or renew it; False while another agent has it."""
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
            return False  # another agent was faster
        return True


def mine(spec: dict[str, Any], me: str, unchanged: float) -> bool:
    """Whether an agent may have a lease that has not changed for so many seconds."""
    holder = spec.get("holderIdentity")
    return holder in (None, "", me) or unchanged > spec.get("leaseDurationSeconds", SECONDS)


def renewed(spec: dict[str, Any], me: str) -> dict[str, Any]:
    """The lease once this agent has it. Times are for people."""
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
