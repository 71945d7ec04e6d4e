"""The agent against a real API server: the API accepts its writes, and refuses those of nodes and bootstrappers."""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509

from tests.agent.kubelets import CLIENT, SERVING, bootstrapper
from tests.awaited import until
from tests.cloud_init.cloud import FakeCloud
from tests.lab.agent.served import TOKEN, Served
from tests.lab.agent.simulated import MARK

pytestmark = pytest.mark.lab

BOOTSTRAPPER = {"token": TOKEN}
TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}


def member(name: str, address: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "pool": "web", "address": address, "pods": None, "labels": {}, "taints": [], **fields}


def round_of(module: Callable[[str], ModuleType], run: Any, api: Any, *members: dict[str, Any]) -> Any:
    return module("seen").Seen(run, api, {each["name"]: each for each in members}, True, {}, lambda name: None)


def made_by(api: Any, token: str, name: str) -> None:
    """Make a token one of the machine with this name, as the agent does when the machine announces itself."""
    place = f"/api/v1/namespaces/kube-system/secrets/bootstrap-token-{token[:6]}"
    groups = ",".join(each for each in bootstrapper(name)["groups"] if each.startswith("system:bootstrappers:"))
    api.call("PATCH", place, {"stringData": {"auth-extra-groups": groups}}, "application/merge-patch+json")


def settle(api: Any, one_round: Callable[[], None]) -> None:
    """Run rounds until one writes nothing: the controller of node taints writes too, and a refused writer tries
    again."""
    methods: list[str] = []
    ask = api.call
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "call", lambda method, *rest: methods.append(method) or ask(method, *rest))
        for _ in range(20):
            methods.clear()
            one_round()
            if set(methods) == {"GET"}:
                return
    pytest.fail("the agent still writes after twenty rounds")


def client(served: Served, etcdctl: Path) -> list[str]:
    """Return the command of etcdctl as in the plan, without a container."""
    tls = {"cacert": "etcd/ca.crt", "cert": "etcd/healthcheck-client.crt", "key": "etcd/healthcheck-client.key"}
    argv = [str(etcdctl), "--endpoints", f"https://127.0.0.1:{served.etcd}"]
    return argv + [word for flag, each in tls.items() for word in (f"--{flag}", str(served.pki / each))]


def condition(served: Served, name: str) -> str:
    """Return the state of a certificate request."""
    request = json.loads(served.kubectl("get", "csr", name, "--output", "json"))
    return "".join(each["type"] for each in request["status"].get("conditions") or [])


def test_a_planned_member_gets_its_certificates_and_no_other_machine_does(
    served: Served, api: Any, module: Callable[[str], ModuleType], run: Any
) -> None:
    """CP-05: the first certificate by token, then renewal and serving certificate with that certificate."""
    signing, planned = module("signing"), member("web-0", "10.20.1.4")
    signing.close(api)
    assert not re.search("node-autoapprove", served.kubectl("get", "clusterrolebindings", "--output", "name"))
    made_by(api, TOKEN, "web-0")
    good, evil = (served.request(served.pem(name), CLIENT, BOOTSTRAPPER) for name in ("web-0", "web-7"))
    signing.reconcile(round_of(module, run, api, planned))
    assert (condition(served, good), condition(served, evil)) == ("Approved", "Denied")
    node = served.issued(good)
    own_node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "web-0"}}
    assert served.call(node, "POST", "/api/v1/nodes", own_node)["kind"] == "Node"
    own = [x509.DNSName("web-0"), x509.IPAddress(ip_address("10.20.1.4"))]
    asked = {
        served.request(served.pem("web-0"), CLIENT, node): "Approved",
        served.request(served.pem("web-0", own), SERVING, node): "Approved",
        served.request(served.pem("web-0", [*own, x509.DNSName("kubernetes")]), SERVING, node): "Denied",
    }
    signing.reconcile(round_of(module, run, api, planned))
    assert {name: condition(served, name) for name in asked} == asked
    assert served.issued(next(iter(asked)))
    refused = (
        ("GET", "/api/v1/namespaces/kube-system/configmaps/mullion-agent", None),
        ("POST", "/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "mullion-agent"}}),
        ("GET", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", None),
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mullion-agent", None),
    )
    for method, path, body in refused:
        assert served.call(node, method, path, body)["code"] == 403, f"a node may not {method} {path}"


def test_nodes_are_set_as_planned_and_removed(
    served: Served, api: Any, module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"providerID": "aws:///eu-west-1a/i-0123456789abcdef0"}
    for name in ("linux-0", "linux-1"):
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"x": "y"}}, "spec": spec})
    planned = member("linux-0", "10.20.1.8", labels={"team": "a"}, taints=[TAINT], pods="10.244.3.0/24")
    reconcile = module("members").reconcile
    settle(api, lambda: reconcile(round_of(module, run, api, planned)))
    node = api.find("/api/v1/nodes/linux-0")
    assert node["metadata"]["labels"] == {"team": "a", "x": "y"}
    assert "os" in [each["key"] for each in node["spec"]["taints"]]
    settle(api, lambda: reconcile(round_of(module, run, api, {**planned, "labels": {}, "taints": []})))
    node = api.find("/api/v1/nodes/linux-0")
    assert node["spec"]["podCIDRs"] == ["10.244.3.0/24"]
    assert node["metadata"]["labels"] == {"x": "y"}
    assert "os" not in [each["key"] for each in node["spec"].get("taints", [])]
    monkeypatch.setattr(module("seen").compute, "gone", lambda *_: True)

    def later(seconds: float) -> None:
        seen = round_of(module, run, api, planned)
        seen.nodes()
        seen.silent.update({uid: (renewed, seconds, at) for uid, (renewed, _, at) in seen.silent.items()})
        reconcile(seen)

    settle(api, lambda: later(100.0))
    assert api.find("/api/v1/nodes/linux-1") is None
    assert api.find("/api/v1/nodes/linux-0"), "a planned machine's"
    settle(api, lambda: later(200.0))
    assert api.find("/api/v1/nodes/linux-0") is None


SILENT = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting."}


def simulated(api: Any, name: str, instance: str, well: bool) -> None:
    """Create a Node that its kubelet reports as healthy, or that the node controller reports as silent."""
    labels = MARK if well else {}
    spec = {"providerID": f"aws:///eu-west-1a/{instance}"}
    api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": spec})
    if not well:
        merge = "application/merge-patch+json"
        api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [SILENT]}}, merge)


def beats(api: Any, names: list[str]) -> dict[str, str]:
    """Return when each of these Nodes last reported that it is healthy; only Nodes that did."""
    nodes = {each["metadata"]["name"]: each for each in api.call("GET", "/api/v1/nodes")["items"]}
    ready = {name: each for name in names for each in nodes[name]["status"].get("conditions", [])}
    return {name: each["lastHeartbeatTime"] for name, each in ready.items() if each["status"] == "True"}


@pytest.mark.usefixtures("kubelets")
def test_a_hundred_nodes_are_set_as_planned_and_only_nodes_of_deleted_machines_are_removed(
    served: Served, api: Any, module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """90 Nodes are planned, and their kubelets write their status all the time. Of the other ten the machines of five
    are deleted, three are only silent, and two report as healthy."""
    names = [f"sim-{each:03}" for each in range(100)]
    instances = {name: f"i-{place:017x}" for place, name in enumerate(names)}
    planned_names, lost, silent = names[:90], names[90:95], names[95:98]
    well = [name for name in names if name not in (*lost, *silent)]
    for name, instance in instances.items():
        simulated(api, name, instance, name in well)
    planned = [
        member(name, f"10.20.2.{place}", labels={"place": f"{place}"}, taints=[TAINT], pods=f"10.99.{place}.0/24")
        for place, name in enumerate(planned_names)
    ]
    first = until(
        lambda: beats(api, well) if len(beats(api, well)) == len(well) else {}, "all report that they are healthy"
    )
    alive = {instances[name] for name in silent}
    monkeypatch.setattr(module("seen").compute, "gone", lambda _, instance: instance not in alive)

    def much_later() -> None:
        seen = round_of(module, run, api, *planned)
        away = [seen.nodes()[name]["metadata"]["uid"] for name in (*lost, *silent) if name in seen.nodes()]
        seen.silent.update(dict.fromkeys(away, ("", 9999.0, 0.0)))
        module("members").reconcile(seen)

    settle(api, much_later)
    remaining = {name: node for name, node in round_of(module, run, api).nodes().items() if name in instances}
    assert sorted(remaining) == [name for name in names if name not in lost]
    for listed in planned:
        node, place = remaining[listed["name"]], listed["labels"]["place"]
        assert (node["metadata"]["labels"]["place"], node["spec"]["podCIDR"]) == (place, listed["pods"])
        assert [one for one in node["spec"]["taints"] if one["key"] == TAINT["key"]] == [TAINT]
    assert "place" not in remaining[names[-1]]["metadata"].get("labels", {})
    until(lambda: all(then > first[name] for name, then in beats(api, well).items()), "all have reported again")
    leases = served.kubectl("get", "leases", "--namespace", "kube-node-lease", "--output", "name").split()
    assert {f"lease.coordination.k8s.io/{name}" for name in well} <= {*leases}, "the leases are renewed too"


def test_the_lease_and_the_memory_are_kept_and_one_of_two_writers_is_refused(
    api: Any, module: Callable[[str], ModuleType]
) -> None:
    first, second = (module("leases").Lease(name) for name in ("cp-0", "cp-1"))
    assert [first.hold(api), second.hold(api), first.hold(api)] == [True, False, True]
    memory = module("memory")
    writer, other = memory.Memory(api), memory.Memory(api)
    earlier = dict(writer.values)  # also members of earlier tests on the same API server
    assert writer.write(turn="cp-0")
    assert not other.write(turn="cp-1")
    assert memory.keep(api, applied="x")
    assert memory.Memory(api).values == {**earlier, "turn": "cp-0", "applied": "x"}


def test_a_secret_is_rewritten_unchanged_once_all_api_servers_encrypt_with_the_new_key(
    served: Served, api: Any, module: Callable[[str], ModuleType]
) -> None:
    """The API server accepts every Secret that it returned; tests/lab/cluster checks how it stores them."""
    served.kubectl("create", "secret", "generic", "rewritten", "--from-literal=a=b")
    path = "/api/v1/namespaces/default/secrets/rewritten"
    before, memory = api.find(path), module("memory")
    assert memory.keep(api, **{"key.cp-0": "2 2"})
    module("keys").rewrite(api, {"encryption": {"resources": ["secrets"]}}, ["cp-0"])
    assert api.find(path)["data"] == before["data"]
    assert memory.Memory(api).values["rewritten"] == "2"


def test_a_token_without_rights_is_created_by_kubeadm_and_published(
    served: Served, module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {each.parent for each in served.programs.values()}
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    token = {"secret": "join", "kubeconfig": str(served.administrator), "lifetime_hours": 2}
    cloud.secrets["join"] = "nothing yet"
    module("tokens").reconcile(run, {"token": token})
    minted = cloud.secrets["join"]
    module("tokens").reconcile(run, {"token": token})
    assert cloud.secrets["join"] == minted, "the token is valid for more than half of its lifetime"
    until(lambda: served.call({"token": minted}, "GET", "/api/v1/nodes")["code"] == 403, "it has no rights")


def test_a_snapshot_of_etcd_is_complete_and_stored(
    served: Served, etcdctl: Path, module: Callable[[str], ModuleType], run: Any, cloud: FakeCloud, root: Path
) -> None:
    file = root / "snapshot"
    config = {"etcd": {"find": ["echo", "etcd"], "etcdctl": client(served, etcdctl)}, "snapshots": {"file": str(file)}}
    run.root = Path("/")
    key = module("snapshots").make(run, config, "timer", 0.0)
    stored = cloud.objects[f"/snapshots/{key}"]
    assert hashlib.sha256(stored).hexdigest() in key
    assert len(stored) > 10_000


def test_a_deleted_etcd_member_is_removed_by_its_name(
    served: Served, etcdctl: Path, module: Callable[[str], ModuleType], run: Any
) -> None:
    config = {"etcd": {"find": ["echo", "etcd"], "etcdctl": client(served, etcdctl)}}
    ask = module("etcd").etcdctl
    ask(run, config, "member", "add", "cp-9", "--learner", "--peer-urls", "https://192.0.2.9:2380")
    # a member has a name only once it starts; this one is found by its planned name
    before = json.loads(ask(run, config, "member", "list", "--write-out", "json").stdout)["members"]
    unnamed = next(each for each in before if not each.get("name"))
    ask(run, config, "member", "remove", f"{unnamed['ID']:x}")
    module("etcd").leave(run, config, "a-worker")
    after = json.loads(ask(run, config, "member", "list", "--write-out", "json").stdout)["members"]
    assert [each["name"] for each in after] == ["one"]


def test_certificates_of_kubeadm_are_renewed_in_the_last_quarter_of_their_year(
    served: Served, module: Callable[[str], ModuleType], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.root = Path("/")
    files = [str(each) for each in sorted(served.pki.rglob("*.crt")) if "ca" not in each.name]
    assert len(files) == 7
    due = module("certificates").due
    assert not due(run, {"certificates": {"files": files, "days": 90}})
    year = 365 * 86400
    in_a_year = [time.time() + share * year for share in (0.74, 0.77)]
    late = []
    for now in in_a_year:
        monkeypatch.setattr(module("certificates").time, "time", lambda now=now: now)
        late.append(due(run, {"certificates": {"files": files, "days": 400}}))
    assert late == [False, True], "in the last quarter of its life"
    assert due(run, {"certificates": {"files": [str(served.folder / "none")], "days": 90}})


def test_a_ready_api_reports_ok_to_the_agent(api: Any) -> None:
    until(lambda: api.at("127.0.0.1").call("GET", "/readyz") == "ok", "the API reports ok")
