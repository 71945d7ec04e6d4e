"""Rights of a node's certificate: exactly those that flanneld, kube-proxy and the kubelet need.

The certificate is the joined worker's own; the rules are kubeadm's and those of the manifest that the control plane
applies.
"""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine.pki import KeyPair
from components.rollout.kubernetes_api import Refused
from sandbox.boot.windows.server import CURRENT, PKI
from tests.awaited import until
from tests.lab.joining.conftest import JoinedWorker

pytestmark = [pytest.mark.lab, pytest.mark.engine]

OTHER = "other-0"
SECRETS = "/api/v1/namespaces/{}/secrets"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODES = "/api/v1/nodes"
ANNOTATED = {"metadata": {"annotations": {"flannel.alpha.coreos.com/public-ip": "10.20.0.9"}}}

ALLOWED: tuple[tuple[str, str], ...] = (
    ("GET", NODES),
    ("GET", "/api/v1/services"),
    ("GET", "/apis/discovery.k8s.io/v1/endpointslices"),
    ("GET", f"{NODES}/{{own}}"),
    ("GET", f"{LEASES}/{{own}}"),
)
"""Requests of flanneld, kube-proxy and the kubelet."""

REFUSED: tuple[tuple[str, str, Any], ...] = (
    ("GET", SECRETS.format("kube-system"), None),
    ("GET", SECRETS.format("kube-system") + "/bootstrap-token-abcdef", None),
    ("GET", "/api/v1/secrets", None),
    ("GET", "/api/v1/namespaces/kube-system/configmaps", None),
    ("DELETE", f"{NODES}/{OTHER}", None),
    ("DELETE", f"{NODES}/{{own}}", None),
    ("PATCH", f"{NODES}/{OTHER}", ANNOTATED),
    ("PATCH", f"{NODES}/{OTHER}/status", ANNOTATED),
    ("PATCH", f"{NODES}/{{own}}", {"spec": {"taints": []}}),
    ("PATCH", f"{NODES}/{{own}}", {"metadata": {"labels": {"node-restriction.kubernetes.io/team": "x"}}}),
    ("PATCH", f"{NODES}/{{own}}", {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}),
    ("GET", f"{LEASES}/{OTHER}", None),
    ("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}),
    ("POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", {"spec": {"audiences": ["api"]}}),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": {}}),
    ("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/mullion:windows-flannel", {"rules": []}),
    ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", None),
    ("PUT", f"{REQUESTS}/{{own}}/approval", {}),
)
"""Other nodes' objects, Secrets of other nodes, rules, and fields of its own Node that it may not change."""


@pytest.fixture(scope="module")
def own(joined: JoinedWorker) -> KeyPair:
    """Return the worker's certificate."""
    text = (joined.worker.path(PKI) / CURRENT).read_text()
    place = text.index("-----BEGIN EC PRIVATE KEY")
    return {"certificate": text[:place], "key": text[place:]}


@pytest.fixture(scope="module", autouse=True)
def other(joined: JoinedWorker) -> None:
    """Create another node."""
    joined.plane.call("POST", NODES, {"metadata": {"name": OTHER}})


def answer(joined: JoinedWorker, who: KeyPair, method: str, path: str, body: Any = None) -> int:
    """Return the status of the answer."""
    try:
        joined.plane.call(method, path.format(own=joined.worker.name), body, who)
    except Refused as refused:
        return refused.status
    return 200


def test_cp_05_a_node_may_do_what_its_programs_need(joined: JoinedWorker, own: KeyPair) -> None:
    # the kubelet creates its lease some seconds after its Node
    until(lambda: answer(joined, own, *ALLOWED[-1]) != 404, "the node has its lease")
    assert {each: answer(joined, own, *each) for each in ALLOWED} == dict.fromkeys(ALLOWED, 200)


def test_a_node_annotates_itself_as_flanneld_does(joined: JoinedWorker, own: KeyPair) -> None:
    patched = answer(joined, own, "PATCH", f"{NODES}/{{own}}/status", ANNOTATED)
    assert patched == 200
    assert joined.node["metadata"]["annotations"]["flannel.alpha.coreos.com/public-ip"] == "10.20.0.9"


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]} {row[1]}")
def test_cp_05_a_node_may_do_nothing_else(joined: JoinedWorker, own: KeyPair, row: tuple[str, str, Any]) -> None:
    assert answer(joined, own, *row) == 403


STRANGE = ((f"system:node:{OTHER}", "system:nodes"), ("web-0", "system:masters"), ("admin", "system:masters"))
"""Other users and groups than the node's own, for which a node's certificate requests certificates."""


def test_no_certificate_is_issued_for_another_name_or_group(joined: JoinedWorker, own: KeyPair) -> None:
    """Such a request is refused, or stays pending. A later one for the node itself is signed, so by then the others
    were seen."""
    requests = {f"strange-{place}": node_request(f"strange-{place}", *each) for place, each in enumerate(STRANGE)}
    answers = {name: answer(joined, own, "POST", REQUESTS, each) for name, each in requests.items()}
    # up to 1.30 NodeRestriction does not check requests: one for another node's name stays pending, unsigned
    assert set(answers.values()) <= {200, 403}, answers
    itself = (f"system:node:{joined.worker.name}", "system:nodes")
    assert answer(joined, own, "POST", REQUESTS, node_request("itself", *itself)) == 200
    joined.plane.until(lambda: _status(joined, "itself").get("certificate"), "the node's own certificate is renewed")
    for name in (name for name, status in answers.items() if status == 200):
        csr_status = _status(joined, name)
        assert "certificate" not in csr_status
        assert "Approved" not in [each["type"] for each in csr_status.get("conditions", ())]


def _status(joined: JoinedWorker, name: str) -> dict[str, Any]:
    return joined.plane.call("GET", f"{REQUESTS}/{name}")["status"]


def node_request(name: str, user: str, group: str) -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    parts = ((NameOID.ORGANIZATION_NAME, group), (NameOID.COMMON_NAME, user))
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = signed.public_bytes(serialization.Encoding.PEM)
    return {
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            # the controller manager of 1.24 signs for no other signer than these three
            "usages": ["key encipherment", "digital signature", "client auth"],
        },
    }
