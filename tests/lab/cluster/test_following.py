"""A changed stack reaches a running control plane by the desired-state pointer; the program touches no machine."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from components import releases
from sandbox.boot.machine import Machine
from sandbox.boot.site import Site
from tests.lab.cluster.asking import until
from tests.lab.cluster.running import renewed

pytestmark = [pytest.mark.lab, pytest.mark.engine]

READY_SECONDS = 400
STACK = "aws-dev"
MANIFEST, TURN = "/etc/kubernetes/manifests/kube-apiserver.yaml", "/var/lib/mullion/turn"
REQUESTS = ("get", "certificatesigningrequests", "--output", "json")

Cluster = Callable[[str, str], Site]


@pytest.fixture(scope="module")
def site(cluster: Cluster, kubernetes: str) -> Site:
    """A cluster with one control plane and one worker."""
    made = cluster(STACK, kubernetes)
    machines = [made.machine(made.names(pool)[0]) for pool in ("control-plane", "linux")]
    for each in machines:
        each.boot()
    for each in machines:
        each.until("ready", READY_SECONDS)
    return made


@pytest.fixture(scope="module")
def head(site: Site) -> Machine:
    return site.machine(site.names("control-plane")[0])


def agent(head: Machine) -> dict[str, Any]:
    """What the agent says in the status record."""
    return head.status().get("agent") or {}


def test_an_agent_lets_the_planned_machines_in_and_says_so(site: Site, head: Machine) -> None:
    """CP-05: nobody else approves; every kubelet has its serving certificate."""
    said = until(lambda: agent(head).get("serials", {}).get("members") and agent(head), "the members are followed")
    assert (said["active"], said["errors"], said["waits_for"]) == (True, {}, "")
    until(lambda: agent(head).get("snapshots"), "there is a snapshot")
    bindings = head.kubectl("get", "clusterrolebindings", "--output", "name")
    assert "node-autoapprove" not in bindings

    def served() -> bool:
        found = json.loads(head.kubectl(*REQUESTS))["items"]
        issued = {each["spec"]["username"] for each in found if each["status"].get("certificate")}
        serving = {each["spec"]["username"] for each in found if each["spec"]["signerName"].endswith("kubelet-serving")}
        return {f"system:node:{name}" for name in site.machines} <= issued & serving

    until(served, "kubelets have their certificates")


def test_a_changed_label_reaches_a_node_without_any_machine(site: Site, head: Machine) -> None:
    worker = site.names("linux")[0]
    _change(site, lambda cluster: cluster["pools"]["linux"].update(labels={"team": "billing"}))
    until(lambda: _labels(head, worker).get("team") == "billing", "the label is there")
    _change(site, lambda cluster: cluster["pools"]["linux"].update(labels={}))
    until(lambda: "team" not in _labels(head, worker), "the label is gone")


def test_a_changed_flag_is_applied_by_kubeadm_after_a_snapshot_and_the_turn_is_given_back(
    site: Site, head: Machine, kubernetes: str
) -> None:
    head.kubectl("create", "configmap", "kept-over-a-change", "--from-literal=a=b")
    listed = releases.fields("ClusterConfiguration", kubernetes)["apiServer.extraArgs"] != "text-map"
    argument = [{"name": "event-ttl", "value": "2h0m0s"}] if listed else {"event-ttl": "2h0m0s"}
    extra = {"ClusterConfiguration": {"apiServer": {"extraArgs": argument}}}
    _change(site, lambda cluster: cluster.setdefault("kubeadm", {}).update(config=extra))
    until(lambda: "--event-ttl=2h0m0s" in head.file(MANIFEST).read_text(), "the flag is there", 400)
    until(lambda: not head.file(TURN).exists() and agent(head)["waits_for"] == "", "the turn is given back", 400)
    serial = agent(head)["serials"]["pointer"]
    store = next(each.id for each in site.world.resources("aws:s3/bucket:Bucket") if each.name.endswith("-snapshots"))
    assert [key for key in site.world.objects(store) if f"-{serial}." in key], "a snapshot of before"
    assert "--encryption-provider-config" in head.file(MANIFEST).read_text(), "ours stay beside it"
    assert head.kubectl("get", "configmap", "kept-over-a-change", "--output", "jsonpath={.data.a}") == "b"
    memory = head.kubectl("--namespace", "kube-system", "get", "configmap", "mullion-agent", "--output", "json")
    assert json.loads(memory)["data"]["turn"] == ""
    assert head.status()["state"] == "ready"


def _labels(head: Machine, name: str) -> dict[str, str]:
    return json.loads(head.kubectl("get", "node", name, "--output", "json"))["metadata"]["labels"]


def _change(site: Site, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the stack's cluster and run `mullion up`, which makes no machine anew."""
    place = site.folder.parent / "stacks" / f"Pulumi.{STACK}.yaml"
    whole = yaml.safe_load(place.read_text(encoding="utf-8"))
    change(whole["config"]["mullion:cluster"])
    place.write_text(yaml.safe_dump(whole), encoding="utf-8")
    assert renewed(site, "up", STACK, "--sandbox", "--yes") == []
