"""State of the cluster in one round of the active agent, and actions that several reconcilers share."""

import base64
import time
from collections.abc import Callable
from typing import Any

import compute
from run import Run

from agent.api import Api, Refused
from agent.machines import Machines
from agent.memory import Memory, keep

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
AWAY = 60.0
"""Seconds without a renewal of its Lease after which a Node counts as silent. Not longer, because the cloud's answer
decides, cluster checks count the pods of such a Node, and a restarted agent counts from 0.
"""
LONG_AWAY = 180.0
"""The same for a Node of a planned machine, which the cloud may have lost although nobody deleted it."""
COUNTED = 20.0
"""Most seconds that one pause between two reads of the Leases counts: kubelets renew every 10 s, and could not while
the API was down. So a long round or an outage makes no living Node silent.
"""
Silence = tuple[str, float, float]
"""renewTime of a Node's Lease, seconds without a change of it, and when it was read last (monotonic clock)."""


class Seen:
    """One round; reads Nodes once and queries the cloud once per machine."""

    def __init__(
        self,
        run: Run,
        api: Api,
        members: dict[str, Any] | None,
        members_current: bool,
        silent: dict[str, Silence],
        leave: Callable[[str], None],
    ) -> None:
        """Start a round.

        members: by name, from the last accepted document; None before the first. members_current: that document was
        read in this round. silent: by uid of a Node; kept between rounds. leave: removes a machine's member from etcd.
        """
        self.run, self.api, self.members, self.members_current = run, api, members, members_current
        self.silent, self.leave = silent, leave
        self.machines = Machines(run, api, members or {})
        self.clock: Callable[[], float] = time.monotonic
        self._nodes: dict[str, dict[str, Any]] | None = None
        self._gone: dict[str, bool] = {}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the Nodes by name; the first call also updates `silent`."""
        if self._nodes is None:
            found = self.api.call("GET", NODES)["items"]
            self._nodes = {each["metadata"]["name"]: each for each in found}
            leases = {each["metadata"]["name"]: each["spec"] for each in self.api.call("GET", LEASES)["items"]}
            now, before = self.clock(), dict(self.silent)
            self.silent.clear()
            for name, node in self._nodes.items():
                uid, renewed = node["metadata"]["uid"], leases.get(name, {}).get("renewTime") or ""
                last, seconds, read = before.get(uid, (renewed, 0.0, now))
                seconds = seconds + min(now - read, COUNTED) if last == renewed else 0.0
                self.silent[uid] = (renewed, seconds, now)
        return self._nodes

    def silent_for(self, node: dict[str, Any]) -> float:
        """Return the seconds without a renewal of the Node's Lease, as of this round's read of the Leases.

        Only its kubelet can renew the Lease; the condition Ready can be written by others.
        """
        return self.silent[node["metadata"]["uid"]][1]

    def gone(self, node: dict[str, Any]) -> bool:
        """Return whether the cloud has deleted the Node's machine; False for a Node without a providerID."""
        named = self.run.cloud.MACHINE.fullmatch(node["spec"].get("providerID") or "")
        return bool(named) and self.deleted(named[1])

    def deleted(self, machine: str) -> bool:
        """Return whether the cloud has deleted a machine; machine: its id, or the group of MACHINE in a providerID."""
        if machine not in self._gone:
            self._gone[machine] = compute.gone(self.run, machine)
        return self._gone[machine]

    def depart(self, node: dict[str, Any]) -> None:
        """Remove the etcd member of the Node's deleted machine, once.

        A later member of that name is the successor's, which does not answer while it catches up.
        """
        name, machine = node["metadata"]["name"], node["spec"].get("providerID") or ""
        if not machine or Memory(self.api).values.get(f"left.{name}") != machine:
            self.leave(name)
            keep(self.api, **{f"left.{name}": machine})

    def remove(self, node: dict[str, Any]) -> None:
        """Delete exactly this Node (by uid), not a successor of the same name.

        Its etcd member is removed first: once the Node is deleted, no agent would look for the member.
        """
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        self.depart(node)
        try:
            self.api.call("DELETE", f"{NODES}/{name}", {"preconditions": {"uid": uid}})
        except Refused as error:
            if error.status not in (404, 409):
                raise
        self.nodes().pop(name, None)

    def decoded(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the spec of a CertificateSigningRequest with its PEM as text."""
        return {**spec, "request": base64.b64decode(spec["request"]).decode(errors="replace")}
