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


@pytest.fixture(scope="module")
def kubelets(served: Served) -> Iterator[dict[str, dict[str, Any]]]:
    """Return the identities of a worker's and a control plane's kubelet, with their Nodes."""
    if not releases.release(served.kubernetes).admission_policies:
        pytest.skip("Kubernetes before 1.30 has no ValidatingAdmissionPolicy")
    place = served.folder / "policy.json"
    place.write_text(json.dumps(served.plan.content("addon-node-pods-policy")))
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
