"""Certificate requests of kubelets and of attackers, made with a library that is not under test."""

import base64
import hashlib
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tests.agent.cluster import Cluster
from tests.cloud_init.cloud import INSTANCE

CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
JOINERS = "system:bootstrappers:kubeadm:default-node-token"


def bootstrapper(member: str = "web-0", machine: str = INSTANCE) -> dict[str, Any]:
    """Return the fields of a requester that uses the bootstrap token that the agent made for the machine."""
    own = f"system:bootstrappers:mullion:{hashlib.sha256(f'{member} {machine}'.encode()).hexdigest()}"
    groups = ["system:bootstrappers", JOINERS, own, "system:authenticated"]
    return {"username": "system:bootstrap:abcdef", "groups": groups}


BOOTSTRAPPER = bootstrapper()
_KEY = ec.generate_private_key(ec.SECP256R1())


def node_user(name: str) -> dict[str, Any]:
    """Return the fields of a requester that uses the node's certificate."""
    return {"username": f"system:node:{name}", "groups": ["system:nodes", "system:authenticated"]}


def pem(
    common: str | list[str] = "system:node:web-0",
    organization: str | list[str] = "system:nodes",
    names: list[Any] | None = None,
    extra: x509.ExtensionType | None = None,
) -> str:
    """Return a request; `names` are general names, or texts (addresses if they parse as such)."""
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in listed(organization)]
    subject += [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in listed(common)]
    build = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if names is not None:
        build = build.add_extension(x509.SubjectAlternativeName([general(each) for each in names]), critical=False)
    if extra is not None:
        build = build.add_extension(extra, critical=False)
    return build.sign(_KEY, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def general(value: Any) -> x509.GeneralName:
    if not isinstance(value, str):
        return value
    try:
        return x509.IPAddress(ip_address(value))
    except ValueError:
        return x509.DNSName(value)


def spec(text: str, signer: str = CLIENT, **who: Any) -> dict[str, Any]:
    """Return the spec of a request with its PEM as text."""
    usages = ["digital signature", "client auth" if signer == CLIENT else "server auth"]
    return {"signerName": signer, "usages": usages, "request": text, **(who or BOOTSTRAPPER)}


def ask(cluster: Cluster, name: str, asked: dict[str, Any]) -> None:
    """Add a request to the cluster in the API's format."""
    encoded = base64.b64encode(asked["request"].encode()).decode()
    cluster.add(PATH, name, spec={**asked, "request": encoded}, status={})


def answer(cluster: Cluster, name: str) -> str:
    """Return a request's condition; empty if undecided."""
    conditions = cluster.objects[f"{PATH}/{name}"]["status"].get("conditions") or []
    return "".join(each["type"] for each in conditions)
