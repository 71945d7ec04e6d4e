"""From flannel's account: root on a worker takes the token of the flannel pod there."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components import releases
from tests.attacks import audit
from tests.awaited import until
from tests.lab.agent.served import Served

pytestmark = pytest.mark.lab

NODES = "/api/v1/nodes"
OWN, OTHER = "flannel-own", "flannel-other"
LEASE = {
    "flannel.alpha.coreos.com/backend-type": "vxlan",
    "flannel.alpha.coreos.com/backend-data": '{"VNI":4096,"VtepMAC":"0e:00:00:00:00:01"}',
    "flannel.alpha.coreos.com/kube-subnet-manager": "true",
    "flannel.alpha.coreos.com/public-ip": "10.20.0.4",
}
"""What flannel writes (flannel-io/flannel, pkg/subnet/kube/kube.go, AcquireLease)."""
UP = {"type": "NetworkUnavailable", "status": "False", "reason": "FlannelIsUp", "message": "Flannel is running"}
"""The condition that flannel sets (the same file, setNodeNetworkUnavailableFalse)."""


@pytest.fixture(scope="module")
def token(served: Served) -> Iterator[str]:
    """Return the token of a flannel pod on the node OWN, as its kubelet asks for it."""
    if not releases.release(served.kubernetes).admission_policies:
        pytest.skip("before Kubernetes 1.30 a pod's token does not name its Node")
    for name in ("flannel", "flannel-policy"):
        apply(served, served.plan.content(f"addon-{name}"))
    for name in (OWN, OTHER):
        labels = {"kubernetes.io/hostname": name}
        apply(served, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "flannel", "namespace": "kube-flannel"},
        "spec": {
            "serviceAccountName": "flannel",
            "nodeName": OWN,
            "containers": [{"name": "main", "image": "example.com/flannel"}],
        },
    }
    apply(served, pod)
    words = (
        "create",
        "token",
        "flannel",
        "-n",
        "kube-flannel",
        "--bound-object-kind=Pod",
        "--bound-object-name=flannel",
    )
    made = served.kubectl(*words).strip()
    # the API server takes a policy up a moment after its creation
    until(lambda: patched(served, made, OTHER, {"metadata": {"labels": {"a": "b"}}}) == 422, "the policy holds")
    yield made
    for kind, names in (("pod", ("flannel", "-n", "kube-flannel")), ("node", (OWN, OTHER))):
        served.kubectl("delete", kind, *names, "--wait=false")


def apply(served: Served, document: Any) -> None:
    place = served.folder / "flannel.json"
    place.write_text(json.dumps(document))
    served.kubectl("apply", "--server-side", "--filename", str(place))


def refused(served: Served, node: str) -> None:
    """Assert that the audit log has a patch of the Node's status that the policy refused."""
    account = "system:serviceaccount:kube-flannel:flannel"
    audit.refused(served, 422, f"{NODES}/{node}/status", user=account, says="mullion-flannel")


def patched(served: Served, token: str, node: str, body: Any) -> int:
    """Return the status code of a patch of a Node's status with flannel's kind of patch."""
    kind = "application/strategic-merge-patch+json"
    return served.call({"token": token}, "PATCH", f"{NODES}/{node}/status", body, kind).get("code", 200)


def test_flannel_writes_its_lease_and_condition_on_its_own_node(served: Served, token: str) -> None:
    """Not an attack: what flannel does at its start."""
    assert patched(served, token, OWN, {"metadata": {"annotations": LEASE}}) == 200
    assert patched(served, token, OWN, {"status": {"conditions": [UP]}}) == 200


def test_flannels_token_changes_no_other_node(served: Served, token: str) -> None:
    """Send other nodes' pod traffic to yourself, or let the scheduler avoid them, with the token of one flannel pod.

    Refused by: the API server, by policy mullion-flannel.
    Seen in: the audit log, with 422, flannel's account and `policy 'mullion-flannel'`.
    """
    assert patched(served, token, OTHER, {"metadata": {"annotations": LEASE}}) == 422
    assert patched(served, token, OTHER, {"status": {"conditions": [{**UP, "status": "True"}]}}) == 422
    refused(served, OTHER)


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"labels": {"mullion.dev/pool": "secrets"}}},
        {"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "false"}}},
        {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "x"}]}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "10.20.64.10"}]}},
        {"status": {"capacity": {"example.com/gpu": "8"}}},
    ],
    ids=["label", "annotation", "ready", "address", "capacity"],
)
def test_flannels_token_changes_nothing_else_of_its_own_node(served: Served, token: str, body: dict[str, Any]) -> None:
    """Attract pods to your node by a label, a condition, an address or resources that it does not have.

    Refused by: the API server, by policy mullion-flannel.
    Seen in: the audit log, with 422, flannel's account and `policy 'mullion-flannel'`.
    """
    assert patched(served, token, OWN, body) == 422
    refused(served, OWN)
