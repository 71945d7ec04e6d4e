"""Nodes with names of planned machines in a cluster that somebody else made: kept, deleted or refused before `up`."""

import asyncio
from typing import Any

import pytest

from components.plan import plan_cluster
from components.rollout import joined_nodes
from components.rollout.kubernetes_api import Refused
from components.rollout.workers import Instances
from components.stack_files.stack import read_stack
from tests.components.aws.test_joined import NAME, config

PLAN = plan_cluster(NAME, read_stack(NAME, config()).spec)
FIRST, SECOND = PLAN.pools[0].machines
ABSENT = {"state": "absent", "message": "the bundle store has none"}


class Cloud:
    """Instances by address, and status records by instance."""

    def __init__(self, running: dict[str, str], stopped: dict[str, str], recorded: tuple[str, ...]) -> None:
        self.found, self.recorded = Instances(running, stopped), recorded

    async def known(self) -> bool:
        return True

    async def instances(self, pool: str = "") -> Instances:
        return self.found

    async def record(self, identity: str, instance: str) -> dict[str, Any]:
        assert identity == PLAN.pools[0].identity_of(FIRST)
        return {"state": "registered"} if instance in self.recorded else ABSENT


class Api:
    """An API with Nodes; records deletions, and refuses one without the Node's uid."""

    def __init__(self, **instances: str) -> None:
        self.nodes = {name.replace("_", "-"): instance for name, instance in instances.items()}
        self.deleted: list[str] = []

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        if (method, path) == ("GET", "/api/v1/nodes"):
            return {"items": [_node(name, instance) for name, instance in self.nodes.items()]}
        name = path.removeprefix("/api/v1/nodes/")
        assert method == "DELETE"
        if body != {"preconditions": {"uid": f"uid-{name}"}}:
            raise Refused(409, "the UID in the precondition differs")
        self.deleted.append(name)
        return {}


def _node(name: str, instance: str) -> dict[str, Any]:
    spec = {"providerID": f"aws:///eu-west-1a/{instance}"} if instance else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def clear(
    api: Api,
    *,
    running: dict[str, str] | None = None,
    stopped: dict[str, str] | None = None,
    recorded: tuple[str, ...] = (),
) -> list[str]:
    return asyncio.run(joined_nodes.clear(api, PLAN, Cloud(running or {}, stopped or {}, recorded)))  # type: ignore[arg-type]


def test_nodes_of_other_names_do_not_matter() -> None:
    api = Api(linux_0="", web_2="i-other", worker="")
    assert clear(api) == []
    assert api.deleted == []


def test_nodes_of_machines_that_exist_stay() -> None:
    api = Api(web_0="i-a", web_1="i-b")
    addresses = [{str(FIRST.address): "i-a"}, {str(SECOND.address): "i-b"}]
    assert clear(api, running=addresses[0], stopped=addresses[1]) == []
    # a machine whose address has changed in the plan, and that is about to be replaced
    assert clear(api, running={"10.0.0.99": "i-a"}, stopped=addresses[1], recorded=("i-a",)) == []
    assert api.deleted == []


def test_the_node_of_a_lost_machine_is_deleted_so_that_its_successor_can_register() -> None:
    """A spot machine that the cloud took back, or one that somebody terminated: no hook ran."""
    api = Api(web_0="i-lost", web_1="i-b")
    assert clear(api, running={str(SECOND.address): "i-b"}, recorded=("i-lost",)) == ["web-0"]
    assert api.deleted == ["web-0"]
    api = Api(web_0="i-lost")
    assert clear(api, running={str(FIRST.address): "i-successor"}, recorded=("i-lost", "i-successor")) == ["web-0"]


@pytest.mark.parametrize(
    ("instance", "why"),
    [("", r"web-0 \(no providerID\)"), ("i-x", r"web-0 \(aws:///eu-west-1a/i-x; .*the bundle store has none\)")],
)
def test_a_node_of_somebody_else_is_refused_and_none_is_deleted(instance: str, why: str) -> None:
    api = Api(web_0=instance, web_1="i-lost")
    with pytest.raises(joined_nodes.Taken, match=why):
        clear(api, recorded=("i-lost",))
    assert api.deleted == []
