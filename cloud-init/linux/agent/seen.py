"""State of the cluster in one round of the active agent, and actions that several reconcilers share."""

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
    """One round; reads Nodes once and queries the cloud once per machine."""

    def __init__(
        self,
        run: Run,
        api: Api,
        members: dict[str, Any] | None,
        members_current: bool,
        unready: dict[str, float],
        leave: Callable[[str], None],
    ) -> None:
        """Start a round.

        members: by name, from the last accepted document; None before the first. members_current: that document was
        read in this round. unready: by uid of a Node, when this agent (by its monotonic clock) first saw it not Ready;
        kept between rounds. leave: removes a machine's member from etcd.
        """
        self.run, self.api, self.members, self.members_current = run, api, members, members_current
        self.unready, self.leave = unready, leave
        self.clock: Callable[[], float] = time.monotonic
        self._nodes: dict[str, dict[str, Any]] | None = None
        self._gone: dict[str, bool] = {}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the Nodes by name; the first call also updates `unready`."""
        if self._nodes is None:
            found = self.api.call("GET", NODES)["items"]
            self._nodes = {each["metadata"]["name"]: each for each in found}
            away = {each["metadata"]["uid"] for each in found if not is_ready(each)}
            kept = {uid: since for uid, since in self.unready.items() if uid in away}
            self.unready.clear()
            self.unready.update({uid: kept.get(uid, self.clock()) for uid in away})
        return self._nodes

    def unready_for(self, node: dict[str, Any]) -> float:
        """Return the seconds that this agent has seen the Node not Ready; 0 if it is Ready."""
        return self.clock() - self.unready.get(node["metadata"]["uid"], self.clock())

    def gone(self, node: dict[str, Any]) -> bool:
        """Return whether the cloud has deleted the Node's machine; False for a Node without a providerID."""
        named = self.run.cloud.MACHINE.fullmatch(node["spec"].get("providerID") or "")
        if not named:
            return False
        if named[1] not in self._gone:
            self._gone[named[1]] = compute.gone(self.run, named[1])
        return self._gone[named[1]]

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


def is_ready(node: dict[str, Any]) -> bool:
    """Return whether the Node is Ready."""
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
