"""Draining a node of a cluster that somebody else made: the Node is deleted then, if it is the instance's own."""

import asyncio
from typing import Any

import pytest

from components.rollout import drain
from components.rollout.kubernetes_api import Refused
from tests.components.rollout.test_drain import NODE, Api, pod, quick

__all__ = ["quick"]

INSTANCE = "i-0123456789abcdef0"


def remove(api: Api, seconds: float = 5) -> str:
    """Drain the node of INSTANCE in a cluster that somebody else made."""
    return asyncio.run(drain.drain_or_stop(api, NODE, seconds, instance=INSTANCE))  # type: ignore[arg-type]


def test_the_node_of_a_drained_machine_is_deleted_where_no_agent_does() -> None:
    api = Removing(pod("a"))
    assert remove(api) == "1 pods were evicted"
    assert api.asked == [("cordon", NODE), ("evict", "a"), ("delete", NODE)], "after its pods"


@pytest.mark.parametrize("provider", ["aws:///eu-west-1a/i-00000000000000000", "", f"aws:///eu-west-1a/x{INSTANCE}"])
def test_a_node_of_another_machine_is_neither_cordoned_nor_deleted(provider: str) -> None:
    api = Removing(pod("a"), provider=provider)
    said = remove(api)
    assert said.startswith("the Node of this name is no machine of this stack")
    assert (provider or "no providerID") in said
    assert api.asked == []


def test_a_node_that_took_the_name_after_the_drain_is_not_deleted() -> None:
    api = Removing(successor="another")
    with pytest.raises(RuntimeError, match="or to delete its Node"):
        remove(api)
    assert ("delete", NODE) not in api.asked


def test_the_node_stays_if_pods_remain() -> None:
    api = Removing(pod("a"))
    api.status = lambda name, tries: 429
    with pytest.raises(RuntimeError, match="pods remain"):
        remove(api, 0)
    assert ("delete", NODE) not in api.asked


@pytest.mark.parametrize(("status", "passes"), [(404, True), (403, False)])
def test_a_node_that_is_gone_is_no_error_and_a_refused_deletion_is(status: int, passes: bool) -> None:
    api = Removing(deletion=status)
    if passes:
        remove(api)
        return
    with pytest.raises(RuntimeError, match=f"refuses to cordon {NODE} or to delete its Node"):
        remove(api)


class Removing(Api):
    """An API with one Node, which can be deleted.

    deletion: status code of its answer. provider: the Node's providerID. successor: uid of the Node that has the name
    when the deletion comes.
    """

    def __init__(
        self,
        *pods: dict[str, Any],
        deletion: int = 200,
        provider: str = f"aws:///eu-west-1a/{INSTANCE}",
        successor: str = "",
    ) -> None:
        super().__init__(*pods)
        self.deletion, self.provider, self.uid, self.successor = deletion, provider, "uid-of-node", successor

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        if (method, path) == ("GET", f"/api/v1/nodes/{NODE}"):
            spec = {"providerID": self.provider} if self.provider else {}
            return {"metadata": {"name": NODE, "uid": self.uid}, "spec": spec}
        if method == "PATCH":
            assert body["metadata"] == {"uid": self.uid}, "a precondition"
        if method != "DELETE":
            return await super().call(method, path, body, kind)
        assert path == f"/api/v1/nodes/{NODE}"
        if body["preconditions"]["uid"] != (self.successor or self.uid):
            raise Refused(409, "the UID in the precondition differs")
        if self.deletion >= 400:
            raise Refused(self.deletion, "no")
        self.asked.append(("delete", NODE))
        return {}
