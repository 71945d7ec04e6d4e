"""Whole rounds of an agent with the cloud's services: what it reads, does, remembers and reports."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.node import agent, api_server, kubeadm
from components.rollout import signed_documents
from tests.agent.cluster import Cluster
from tests.agent.conftest import KEY
from tests.agent.kubelets import answer, ask, node_user, pem, spec
from tests.agent.machines import CONFIG, DATES, WHOLE
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.linux import TOKEN, Programs

OLD_TOKEN = "zyxwvu.9876543210zyxwvu"
RECORD = f"/status/AROAEXAMPLE:{INSTANCE}.json"
MEMORY = "/api/v1/namespaces/kube-system/configmaps/mullion-agent"
ETCDCTL = " ".join(CONFIG["etcd"]["etcdctl"][5:])
CRICTL = "/usr/local/bin/crictl --runtime-endpoint unix:///run/containerd/containerd.sock"


def member(name: str, pool: str, address: str) -> dict[str, Any]:
    labels = {"mullion.dev/pool": pool}
    return {"name": name, "pool": pool, "address": address, "pods": None, "labels": labels, "taints": []}


MEMBERS = [member("control-plane-0", "control-plane", "10.20.64.10"), member("web-0", "web", "10.20.1.4")]


def publish(cloud: FakeCloud, serial: int, key: str = KEY, members: Any = MEMBERS, bundle: str = "current") -> None:
    """Publish `mullion`'s documents; the pointer names the bundle."""
    pointer = signed_documents.pointer_document(key, "https://store/x.zip", bundle, "1.36.3", serial, "1.36.3")
    cloud.objects |= {
        "/bundles/desired-state.json": pointer.encode(),
        "/bundles/members.json": signed_documents.members_document(key, members, serial).encode(),
    }


@pytest.fixture
def start(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    cloud: FakeCloud,
    root: Path,
    programs: Programs,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], Any]:
    """Return a function that starts an agent on control-plane-0, which founded the cluster."""
    home = root / "opt/mullion"
    folder = home / "bundles/current"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({"format": 1, "os": "ubuntu-24.04", "kubernetes": "1.36.3"}))
    (home / "current").symlink_to("bundles/current")
    place = root / agent.CONFIG.lstrip("/")
    place.parent.mkdir(parents=True)
    config = {**CONFIG, "digest": "first", "token": {**CONFIG["token"], "secret": "join"}}
    config |= {name: {**CONFIG[name], "secret": "pki"} for name in ("encryption", "service_account")}
    config |= {"founding": {"store": f"{cloud.url}/snapshots", "log": "founding", "cluster": "sha256:a"}}
    keys = root / api_server.ENCRYPTION.lstrip("/")
    keys.parent.mkdir(parents=True)
    keys.write_text('{"name": "key1"}')
    signer = {"number": 1, "private": "private 1", "public": "public 1"}
    cloud.secrets["pki"] = json.dumps({"encryption-keys": ["a2V5MQ=="], "service-account-keys": [signer]})
    for name, text in ((kubeadm.SIGNING_KEY, signer["private"]), (kubeadm.VERIFYING_KEYS, signer["public"])):
        file = root / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    place.write_text(json.dumps(config))
    state = root / "var/lib/mullion"
    state.mkdir(parents=True)
    (root / "var/lib/etcd").mkdir(parents=True)
    (state / "founder").touch()
    (state / "result.json").write_text(json.dumps({"bundle": "current", "state": "done", "code": 0, "seconds": 9}))
    (root / "run").mkdir()
    (root / importlib.import_module("report").ENDED).touch()
    (state / "state.json").write_text(json.dumps({"kubernetes": "1.36.3"}))
    monkeypatch.setattr(importlib.import_module("node"), "place", lambda root: (folder, run.told))
    main = module("__main__")
    monkeypatch.setattr(main, "from_kubeconfig", lambda path: cluster)
    programs.answers |= {"openssl": (0, DATES), f"{CRICTL} inspect": (0, "2126-01-01T00:00:00Z")}
    programs.answers |= {"kubectl": (1, "NotFound"), "kubeadm token create": (0, TOKEN), CRICTL: (0, "c0ffee")}
    programs.answers = {f"{CRICTL} exec c0ffee {ETCDCTL} --command-timeout=10s": (0, "[]"), **programs.answers}
    programs.answers = {f"{CRICTL} exec c0ffee {ETCDCTL} --command-timeout=10s alarm": (0, "{}"), **programs.answers}
    programs.effects[f"{CRICTL} exec"] = lambda: (root / "var/lib/etcd/mullion.snapshot").write_bytes(WHOLE)
    cloud.secrets["join"] = OLD_TOKEN
    publish(cloud, 5)
    return lambda: main.Agent(root)


def record(cloud: FakeCloud) -> dict[str, Any]:
    """Return the machine's status record."""
    return json.loads(cloud.objects[RECORD])


def test_two_rounds_do_all_that_a_founded_cluster_needs(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, root: Path, programs: Programs
) -> None:
    cluster.node("control-plane-0")
    ask(cluster, "joining", spec(pem()))
    running = start()
    running.round()
    assert answer(cluster, "joining") == "Approved"
    assert "snapshots" not in record(cloud)["agent"], "the new certificate is listed before anything that takes minutes"
    running.round()
    assert cloud.secrets["join"] == TOKEN
    assert cluster.objects["/api/v1/nodes/control-plane-0"]["metadata"]["labels"] == {
        "mullion.dev/pool": "control-plane"
    }
    known = {"applied": "first", "pointer": "5", "members": "5", "key.control-plane-0": "1 1"}
    known["signer.control-plane-0"] = "1 1"
    assert cluster.objects[MEMORY]["data"] == known
    assert (root / "var/lib/mullion/applied").read_text() == "first"
    said = record(cloud)
    assert (said["state"], said["kubernetes"], said["instance"]) == ("ready", "1.36.3", INSTANCE)
    mine = said["agent"]
    assert mine["active"] is True
    assert mine["errors"] == {}
    assert mine["serials"] == {"pointer": 5, "members": 5}
    assert (mine["members"], mine["waits_for"], mine["snapshots"]["count"]) == (2, "", 1)
    assert not cloud.refused()
    assert not [line for line in programs.asked if any(TOKEN in word or KEY in word for word in line)], "no argument"


def test_the_second_round_writes_nothing_but_the_lease(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    cluster.node("control-plane-0")
    running = start()
    running.round()
    cluster.asked.clear()
    cloud.asked.clear()
    running.round()
    assert cluster.asked == ["PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mullion-agent"]
    assert cloud.asked == []


def test_a_result_from_before_this_boot_is_not_reported(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, root: Path
) -> None:
    """`mullion` would take the machine's earlier `ready` for one of this boot."""
    cluster.node("control-plane-0")
    ended = root / importlib.import_module("report").ENDED
    ended.unlink()
    running = start()
    running.round()
    assert RECORD not in cloud.objects
    ended.touch()
    running.round()
    assert record(cloud)["state"] == "ready"


def test_an_agent_that_is_not_active_judges_no_request(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    spec_of_other = {"holderIdentity": "control-plane-1", "leaseDurationSeconds": 60, "renewTime": "x"}
    cluster.add(leases, "mullion-agent", spec=spec_of_other)
    ask(cluster, "joining", spec(pem()))
    start().round()
    assert answer(cluster, "joining") == ""
    assert cloud.secrets["join"] == OLD_TOKEN
    assert record(cloud)["agent"]["active"] is False


def test_an_older_document_is_refused_also_after_a_restart_of_the_agent(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    """Anyone who can write the store can restore an old list with a valid MAC, in which a lost node is a member."""
    publish(cloud, 4, members=[*MEMBERS, member("lost-0", "lost", "10.20.1.9")])
    replayed = {name: cloud.objects[name] for name in ("/bundles/desired-state.json", "/bundles/members.json")}
    publish(cloud, 5)
    start().round()
    cloud.objects |= replayed
    ask(cluster, "lost", spec(pem("system:node:lost-0")))
    ask(cluster, "renewal", spec(pem("system:node:lost-0"), **node_user("lost-0")))
    start().round()
    assert (answer(cluster, "lost"), answer(cluster, "renewal")) == ("", "")
    errors = record(cloud)["agent"]["errors"]
    assert set(errors) == {"pointer", "members"}
    assert all("serial 4 is older than 5" in each for each in errors.values())
    assert cluster.objects[MEMORY]["data"]["members"] == "5"


def test_a_document_signed_with_another_key_changes_nothing(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    publish(cloud, 9, key="b3RoZXI", members=[member("evil", "web", "10.20.1.66")])
    ask(cluster, "evil", spec(pem("system:node:evil")))
    start().round()
    assert answer(cluster, "evil") == ""
    assert "MAC" in record(cloud)["agent"]["errors"]["members"]
    assert "members" not in cluster.objects[MEMORY]["data"]


def test_the_key_is_read_again_when_the_mac_does_not_match(start: Callable[[], Any], cloud: FakeCloud) -> None:
    running = start()
    running.round()
    cloud.secrets["desired-state"] = "bmV3IGtleQ"
    publish(cloud, 6, key="bmV3IGtleQ")
    for _ in range(2):
        running.next.clear()
        running.round()
    assert record(cloud)["agent"]["serials"] == {"pointer": 6, "members": 6}


FAILURES: dict[str, tuple[str, set[str]]] = {
    "the snapshot store": ("/snapshots/", {"snapshots", "audit-pieces"}),
    "the list of revoked machines": ("/snapshots/revoked.json", {"revoked"}),
    "the log of the founding": ("/snapshots/founding/0", {"epoch", "founding-number"}),
    "the secret store": ("/", {"pointer", "members", "tokens", "keys", "snapshots"}),
    "the bundle store": ("/bundles/members.json", {"members"}),
}


@pytest.mark.parametrize(("path", "wrong"), FAILURES.values(), ids=FAILURES)
def test_a_failed_concern_is_reported_and_stops_no_other(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, path: str, wrong: set[str]
) -> None:
    cluster.node("control-plane-0")
    running = start()
    cloud.services.faults.plan(f"* {path}", "status", 503, times=1000)
    running.round()
    errors = record(cloud)["agent"]["errors"]
    assert set(errors) == wrong
    assert not any(KEY in each or TOKEN in each for each in errors.values())
    assert cluster.objects["/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mullion-agent"]
    cloud.release()
    running.next.clear()
    running.round()
    assert record(cloud)["agent"]["errors"] == {}


def test_no_request_is_judged_before_the_revoked_machines_are_known(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud
) -> None:
    """After a restore the record in etcd may lack a machine's revocation."""
    cluster.node("control-plane-0")
    ask(cluster, "joining", spec(pem()))
    running = start()
    cloud.services.faults.plan("* /snapshots/revoked.json", "status", 503, times=1000)
    running.round()
    assert answer(cluster, "joining") == ""
    cloud.release()
    running.next.clear()
    running.round()
    assert answer(cluster, "joining") == "Approved"


@pytest.mark.soak
@pytest.mark.parametrize("nth", range(1, 41))
@pytest.mark.parametrize("status", [403, 503])
def test_any_one_failed_call_to_the_cloud_is_repeated(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, nth: int, status: int
) -> None:
    """Storage, secrets and compute, refused or out of order: the next round succeeds."""
    cluster.node("control-plane-0")
    ask(cluster, "joining", spec(pem()))
    running = start()
    cloud.services.faults.plan("*", "status", status, nth=nth)
    for _ in range(3):
        running.round()
        running.next.clear()
    said = record(cloud)["agent"]
    assert (said["errors"], said["serials"]) == ({}, {"pointer": 5, "members": 5})
    assert (answer(cluster, "joining"), cloud.secrets["join"]) == ("Approved", TOKEN)
    assert said["snapshots"]["count"] in (1, 2), "a snapshot whose answer was lost is made again"
    assert cluster.objects[MEMORY]["data"]["key.control-plane-0"] == "1 1"


def test_an_api_that_does_not_answer_is_reported(
    start: Callable[[], Any], cloud: FakeCloud, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(path: Path) -> None:
        raise module("api").Unreachable("https://api.dev.mullion.internal:6443: refused")

    monkeypatch.setattr(module("__main__"), "from_kubeconfig", silent)
    start().round()
    assert "refused" in record(cloud)["agent"]["errors"]["api"]
    assert record(cloud)["agent"]["active"] is False


def test_the_agent_exits_when_another_bundle_is_current(
    start: Callable[[], Any], root: Path, module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start()
    assert not running.outdated()
    (root / "opt/mullion/bundles/next").mkdir()
    importlib.import_module("loader").switch("next", root / "opt/mullion")
    assert running.outdated()
