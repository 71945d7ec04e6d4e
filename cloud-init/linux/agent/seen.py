"""What one round of the active agent sees of the cluster, and what several reconcilers do to it."""

import base64
import time
from collections.abc import Callable
from typing import Any

import compute
from run import Run

from agent.api import Api, Refused
from agent.memory import Memory, keep

NODES = "/api/v1/nodes"


class Seen:
    """One round: nodes are read once, and the cloud is asked about each machine once."""

    def __init__(
        self,
        run: Run,
        api: Api,
        members: dict[str, Any] | None,
        members_current: bool,
        unready: dict[str, float],
        leave: Callable[[str], None],
    ) -> None:
        """members: by name, of the newest document that counts; None before the first.

        members_current: it was read in this round. unready: since when, by a clock of this machine, Nodes (by uid) are
        seen not Ready; kept between rounds. leave: takes the etcd member of a machine that is gone out of etcd.
        """
        self.run, self.api, self.members, self.members_current = run, api, members, members_current
        self.unready, self.leave = unready, leave
        self.clock: Callable[[], float] = time.monotonic
        self._nodes: dict[str, dict[str, Any]] | None = None
        self._gone: dict[str, bool] = {}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """The cluster's Nodes by name; first notes how long those that are not Ready have been so."""
        if self._nodes is None:
            found = self.api.call("GET", NODES)["items"]
            self._nodes = {each["metadata"]["name"]: each for each in found}
            away = {each["metadata"]["uid"] for each in found if not is_ready(each)}
            kept = {uid: since for uid, since in self.unready.items() if uid in away}
            self.unready.clear()
            self.unready.update({uid: kept.get(uid, self.clock()) for uid in away})
        return self._nodes

    def unready_for(self, node: dict[str, Any]) -> float:
        """Seconds that this agent has seen the Node not Ready; 0 for one that is."""
        return self.clock() - self.unready.get(node["metadata"]["uid"], self.clock())

    def gone(self, node: dict[str, Any]) -> bool:
        """Whether the cloud says that the Node's machine is no more; False for a Node that names none."""
        named = self.run.cloud.MACHINE.fullmatch(node["spec"].get("providerID") or "")
        if not named:
            return False
        if named[1] not in self._gone:
            self._gone[named[1]] = compute.gone(self.run, named[1])
        return self._gone[named[1]]

    def depart(self, node: dict[str, Any]) -> None:
        """Take the member of a Node's machine, which is gone, out of etcd: once.

        A member of that name that comes later is the successor's, and is slow to answer while it catches up.
        """
        name, machine = node["metadata"]["name"], node["spec"].get("providerID") or ""
        if not machine or Memory(self.api).values.get(f"left.{name}") != machine:
            self.leave(name)
            keep(self.api, **{f"left.{name}": machine})

    def remove(self, node: dict[str, Any]) -> None:
        """Delete exactly this Node, whose machine is gone, not one of the same name that came after it.

        Its member of etcd goes first: once the Node is gone, nobody would look for that any more.
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
        """The spec of a certificate request with its PEM as text."""
        return {**spec, "request": base64.b64decode(spec["request"]).decode(errors="replace")}


def is_ready(node: dict[str, Any]) -> bool:
    """Its kubelet says so, and was heard lately."""
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
