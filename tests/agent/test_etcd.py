"""A control plane machine that is gone leaves etcd before its Node goes: else its successor could not join."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.node import agent
from tests.agent.cluster import Cluster
from tests.cloud_init.linux import Programs
from tests.components.node.samples import content, plan

GONE = 0xBF9071F4639C75CC
CRICTL = "/usr/local/bin/crictl --runtime-endpoint unix:///run/containerd/containerd.sock"
LIST = json.dumps({"members": [{"ID": 1, "name": "control-plane-0"}, {"ID": GONE, "name": "control-plane-1"}]})


@pytest.fixture
def asked(programs: Programs) -> Callable[[], list[str]]:
    """What etcdctl was asked, as texts."""
    programs.answers |= {f"{CRICTL} ps": (0, "c0ffee\n"), f"{CRICTL} exec": (0, LIST)}
    return lambda: [" ".join(line[line.index("etcdctl") + 9 :]) for line in programs.asked if "etcdctl" in line]


@pytest.fixture
def told() -> dict[str, Any]:
    """The plan's configuration."""
    return content(plan(None), "agent-config")


def test_a_member_is_removed_by_the_name_of_its_node(
    module: Callable[[str], ModuleType], run: Any, told: dict[str, Any], asked: Callable[[], list[str]]
) -> None:
    module("etcd").leave(run, told, "control-plane-1")
    assert asked() == ["member list --write-out json", "member remove bf9071f4639c75cc"]


def test_a_worker_has_no_member(
    module: Callable[[str], ModuleType], run: Any, told: dict[str, Any], asked: Callable[[], list[str]]
) -> None:
    module("etcd").leave(run, told, "web-0")
    assert asked() == ["member list --write-out json"]


def test_a_node_stays_while_its_member_cannot_be_removed(
    module: Callable[[str], ModuleType],
    run: Any,
    told: dict[str, Any],
    asked: Callable[[], list[str]],
    cluster: Cluster,
    programs: Programs,
) -> None:
    def leave(name: str) -> None:
        module("etcd").leave(run, told, name)

    node = cluster.node("control-plane-1", ready=False)
    seen = module("seen").Seen(run, cluster, {}, True, {}, leave)
    programs.answers[f"{CRICTL} exec"] = (1, "context deadline exceeded")
    with pytest.raises(Exception, match="context deadline exceeded"):
        seen.remove(node)
    assert cluster.find("/api/v1/nodes/control-plane-1")
    programs.answers[f"{CRICTL} exec"] = (0, LIST)
    seen.remove(node)
    assert cluster.find("/api/v1/nodes/control-plane-1") is None
    assert asked()[-1] == "member remove bf9071f4639c75cc"


def test_the_plan_asks_etcd_over_tls_with_a_clients_certificate() -> None:
    words = content(plan(None), "agent-config")["etcd"]["etcdctl"]
    assert words[words.index("--endpoints") + 1] == "https://127.0.0.1:2379"
    assert words[words.index("--cert") + 1].endswith("healthcheck-client.crt")
    assert agent.CONFIG == "/etc/mullion/agent.json"
