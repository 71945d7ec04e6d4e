"""The public parts of a person's kubeconfig. Imports no Django."""

import base64

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes


def public_parts(text: str) -> dict[str, str]:
    """Return what a person adds to the own key. Raises ValueError for a kubeconfig that has a key."""
    document = yaml.safe_load(text)
    server, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    if user.keys() != {"client-certificate-data"}:
        raise ValueError("the kubeconfig has more than a certificate")
    certificate = base64.b64decode(user["client-certificate-data"]).decode()
    read = x509.load_pem_x509_certificate(certificate.encode())
    return {
        "server": server["server"],
        "server_name": server["tls-server-name"],
        "certificate_authority": base64.b64decode(server["certificate-authority-data"]).decode(),
        "certificate": certificate,
        "expires": read.not_valid_after_utc.isoformat(),
        # as the API server names it in its audit log from Kubernetes 1.32 on (KEP-4193)
        "credential": f"X509SHA256={read.fingerprint(hashes.SHA256()).hex()}",
    }
