"""A deleted control-plane machine's etcd member is removed before its Node: else its successor could not join."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from components.node import agent
from tests.agent.cluster import Cluster
from tests.cloud_init.linux import Programs
from tools.golden.samples import PATCHES, content, plan

GONE = 0xBF9071F4639C75CC
CRICTL = "/usr/local/bin/crictl --runtime-endpoint unix:///run/containerd/containerd.sock"
URL = "https://10.20.64.11:2379"
LIST = json.dumps(
    {
        "members": [
            {"ID": 1, "name": "control-plane-0", "clientURLs": ["https://10.20.64.10:2379"]},
            {"ID": GONE, "name": "control-plane-1", "clientURLs": [URL]},
        ]
    }
)
STATUS = f"endpoint status --endpoints {URL}"


@pytest.fixture
def asked(programs: Programs) -> Callable[[], list[str]]:
    """Return a function that returns etcdctl's calls as texts."""
    words = content(plan(None), "agent-config")["etcd"]["etcdctl"]
    status = f"{' '.join(words).replace('CONTAINER', 'c0ffee')} {STATUS}"
    programs.answers |= {status: (1, "connection refused"), f"{CRICTL} ps": (0, "c0ffee\n")}
    programs.answers |= {f"{CRICTL} exec": (0, LIST)}
    return lambda: [" ".join(line[line.index("etcdctl") + 9 :]) for line in programs.asked if "etcdctl" in line]


@pytest.fixture
def config() -> dict[str, Any]:
    """Return the plan's configuration."""
    return content(plan(None), "agent-config")


def test_an_etcd_member_is_removed_by_the_name_of_its_node(
    module: Callable[[str], ModuleType], run: Any, config: dict[str, Any], asked: Callable[[], list[str]]
) -> None:
    module("etcd").leave(run, config, "control-plane-1")
    assert asked() == ["member list --write-out json", STATUS, "member remove bf9071f4639c75cc"]


def test_an_etcd_member_that_answers_is_the_successors_and_stays(
    module: Callable[[str], ModuleType],
    run: Any,
    config: dict[str, Any],
    asked: Callable[[], list[str]],
    programs: Programs,
) -> None:
    """From kubeadm 1.33 on a new machine joins etcd before its kubelet requests a certificate."""
    (status,) = (each for each in programs.answers if each.endswith(STATUS))
    programs.answers[status] = (0, "")
    module("etcd").leave(run, config, "control-plane-1")
    assert asked() == ["member list --write-out json", STATUS]


@pytest.mark.parametrize(
    ("pool", "gone", "left"), [("control-plane", True, True), ("control-plane", False, False), ("web", True, False)]
)
def test_an_etcd_member_is_removed_once_its_machine_is_deleted_even_if_the_node_is_still_ready(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    pool: str,
    gone: bool,
    left: bool,
) -> None:
    names: list[str] = []
    cluster.node("control-plane-1")
    seen = module("seen").Seen(run, cluster, {"control-plane-1": {"pool": pool}}, True, {}, names.append)
    monkeypatch.setattr(seen, "gone", lambda node: gone)
    module("etcd").reconcile(seen)
    assert names == (["control-plane-1"] if left else [])


def test_an_etcd_member_is_removed_only_once_so_that_a_slow_successor_stays(
    module: Callable[[str], ModuleType], run: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    members = {"control-plane-1": {"pool": "control-plane"}}
    for instance, left in (("i-0a", 1), ("i-0a", 1), ("i-0b", 2)):  # in several rounds, maybe of several agents
        cluster.node("control-plane-1", instance=instance)
        seen = module("seen").Seen(run, cluster, members, True, {}, names.append)
        monkeypatch.setattr(seen, "gone", lambda node: True)
        module("etcd").reconcile(seen)
        assert names == ["control-plane-1"] * left


def test_a_worker_has_no_etcd_member(
    module: Callable[[str], ModuleType], run: Any, config: dict[str, Any], asked: Callable[[], list[str]]
) -> None:
    module("etcd").leave(run, config, "web-0")
    assert asked() == ["member list --write-out json"]


def test_a_node_stays_while_its_etcd_member_cannot_be_removed(
    module: Callable[[str], ModuleType],
    run: Any,
    config: dict[str, Any],
    asked: Callable[[], list[str]],
    cluster: Cluster,
    programs: Programs,
) -> None:
    def leave(name: str) -> None:
        module("etcd").leave(run, config, name)

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


def test_the_plans_etcdctl_uses_tls_with_a_client_certificate() -> None:
    words = content(plan(None), "agent-config")["etcd"]["etcdctl"]
    assert words[words.index("--endpoints") + 1] == "https://127.0.0.1:2379"
    assert words[words.index("--cert") + 1].endswith("healthcheck-client.crt")
    assert agent.CONFIG == "/etc/mullion/agent.json"


@pytest.mark.parametrize(
    ("versions", "code", "why"),
    [
        (("3.5.27", "3.5.26"), 0, ""),
        (("3.6.5", "3.5.27"), 0, ""),
        (("3.5.27", "3.5.24"), 0, "etcd has to be 3.5.26 or newer on every machine (https://b:2379 has 3.5.24)"),
        (("3.5.27",), 1, "a member of etcd does not answer"),
    ],
    ids=["new enough", "one is upgraded", "one is older", "one does not answer"],
)
def test_kubeadm_brings_etcd_3_6_only_to_members_that_repair_their_list(
    module: Callable[[str], ModuleType],
    run: Any,
    programs: Programs,
    versions: tuple[str, ...],
    code: int,
    why: str,
) -> None:
    """An older etcd keeps removed members in the file, and 3.6 takes them for members."""
    shown = [
        {"Endpoint": f"https://{name}:2379", "Status": {"version": version}}
        for name, version in zip("ab", versions, strict=False)
    ]
    programs.answers |= {f"{CRICTL} ps": (0, "c0ffee\n"), f"{CRICTL} exec": (code, json.dumps(shown))}
    config = content(plan(None, kubernetes=PATCHES["1.34"]), "agent-config")
    assert module("etcd").outdated(run, config).startswith(why)
    assert bool(module("etcd").outdated(run, config)) == bool(why)
    before = content(plan(None, kubernetes=PATCHES["1.33"]), "agent-config")
    assert module("etcd").outdated(run, before) == ""
