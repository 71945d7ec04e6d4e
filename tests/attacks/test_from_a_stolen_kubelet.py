"""From root on a worker with its kubelet's certificate: what a node may write in the cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components import releases
from tests.agent.kubelets import CLIENT
from tests.attacks import audit
from tests.awaited import until
from tests.lab.agent.served import TOKEN, Served

pytestmark = pytest.mark.lab

WORKER, HEAD = "stolen-0", "control-plane-2"
RANGE = "10.244.7.0/24"
"""Pod range of another Node."""


@pytest.fixture(scope="module")
def kubelets(served: Served) -> Iterator[dict[str, dict[str, Any]]]:
    """Return the identities of a worker's and a control plane's kubelet, with their Nodes."""
    if not releases.release(served.kubernetes).admission_policies:
        pytest.skip("Kubernetes before 1.30 has no ValidatingAdmissionPolicy")
    for addon in ("addon-node-pods-policy", "addon-node-range-policy"):
        place = served.folder / f"{addon}.json"
        place.write_text(json.dumps(served.plan.content(addon)))
        served.kubectl("apply", "--server-side", "--filename", str(place))
    found: dict[str, dict[str, Any]] = {}
    for name in (WORKER, HEAD):
        asked = served.request(served.pem(name), CLIENT, {"token": TOKEN})
        served.kubectl("certificate", "approve", asked)
        found[name] = served.issued(asked)
        made = served.call(found[name], "POST", "/api/v1/nodes", {"metadata": {"name": name}})
        assert made["kind"] == "Node", made
    # the API server takes a policy up a moment after its creation
    until(lambda: created(served, found, WORKER)["code"] == 422, "the policy holds")
    until(lambda: registered(served, found, podCIDR=RANGE)["code"] == 422, "the policy of ranges holds")
    yield found
    served.kubectl("delete", "node", WORKER, HEAD, "--wait=false")


def created(served: Served, kubelets: dict[str, dict[str, Any]], node: str) -> Any:
    """Return the API's answer to a mirror pod that claims to be CoreDNS, as a dry run."""
    reference = {"apiVersion": "v1", "kind": "Node", "name": node, "controller": True}
    reference["uid"] = served.kubectl("get", "node", node, "--output", "jsonpath={.metadata.uid}")
    pod: dict[str, Any] = {
        "metadata": {
            "name": f"dns-{node}",
            "namespace": "kube-system",
            "labels": {"k8s-app": "kube-dns"},
            "annotations": {"kubernetes.io/config.mirror": "one"},
            "ownerReferences": [reference],
        },
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example.com/dns"}]},
    }
    return served.call(kubelets[node], "POST", "/api/v1/namespaces/kube-system/pods?dryRun=All", pod)


def registered(served: Served, kubelets: dict[str, dict[str, Any]], **spec: Any) -> Any:
    """Return the API's answer to the worker's registration with these fields, as a dry run."""
    node = {"metadata": {"name": WORKER}, "spec": spec}
    return served.call(kubelets[WORKER], "POST", "/api/v1/nodes?dryRun=All", node)


def test_a_worker_cannot_answer_for_a_service(served: Served, kubelets: dict[str, dict[str, Any]]) -> None:
    """Create a mirror pod with the labels of CoreDNS, so that its Service sends you the cluster's questions.

    Refused by: the API server, by policy mullion-node-pods.
    Seen in: the audit log, with 422 and `only control planes have static pods`.
    """
    answer = created(served, kubelets, WORKER)
    says = "only control planes have static pods"
    assert answer["code"] == 422 and says in answer["message"]
    place = "/api/v1/namespaces/kube-system/pods"
    audit.refused(served, 422, place, user=f"system:node:{WORKER}", says=says)


def test_a_control_plane_shows_its_static_pods(served: Served, kubelets: dict[str, dict[str, Any]]) -> None:
    """Not an attack: kubelets of control planes create mirror pods of etcd and the API server."""
    assert created(served, kubelets, HEAD).get("kind") == "Pod", created(served, kubelets, HEAD)


@pytest.mark.parametrize("spec", [{"podCIDR": RANGE}, {"podCIDRs": [RANGE]}, {"podCIDR": RANGE, "podCIDRs": [RANGE]}])
def test_a_worker_does_not_register_with_the_range_of_another(
    served: Served, kubelets: dict[str, dict[str, Any]], spec: dict[str, Any]
) -> None:
    """Register your Node anew with the pod range of another, so that flannel sends you the traffic of its pods.

    Refused by: the API server, by policy mullion-node-range.
    Seen in: the audit log, with 422 and `a node does not choose its pod range`.
    """
    answer = registered(served, kubelets, **spec)
    assert answer["code"] == 422 and "a node does not choose its pod range" in answer["message"]


def test_a_worker_does_not_take_a_range_before_the_controller_gives_one(
    served: Served, kubelets: dict[str, dict[str, Any]]
) -> None:
    """Set the pod range of your Node yourself, before the controller manager does.

    Refused by: the API server, by policy mullion-node-range.
    Seen in: the audit log, with 422 and `a node does not choose its pod range`.
    """
    node = json.loads(served.kubectl("get", "node", WORKER, "--output", "json"))
    own = f"/api/v1/nodes/{WORKER}?dryRun=All"
    answer = served.call(kubelets[WORKER], "PUT", own, {**node, "spec": {**node["spec"], "podCIDR": RANGE}})
    assert answer["code"] == 422 and "a node does not choose its pod range" in answer["message"]
    labels = {**node["metadata"].get("labels", {}), "node.kubernetes.io/instance-type": "m6i.large"}
    changed = {**node, "metadata": {**node["metadata"], "labels": labels}}
    assert served.call(kubelets[WORKER], "PUT", own, changed).get("kind") == "Node", "its own labels are its own"
