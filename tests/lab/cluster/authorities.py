"""Certificates of booted machines: who is trusted, and who signed."""

from cryptography import x509
from cryptography.x509.oid import NameOID

from components.node.layout import PKI
from sandbox.boot.machine import Machine

ISSUED = ("apiserver", "apiserver-kubelet-client", "front-proxy-client", "etcd/server", "etcd/peer")
KUBELET = "/var/lib/kubelet/pki/kubelet-client-current.pem"


def names(machine: Machine, file: str) -> list[str]:
    """Return the common names of a file's certificates."""
    return [common(each.subject) for each in x509.load_pem_x509_certificates(machine.file(file).read_bytes())]


def common(name: x509.Name) -> str:
    """Return the common name."""
    return str(name.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def signed_by(head: Machine) -> set[str]:
    """Return the names of the authorities that signed a control plane's certificates."""
    served = (x509.load_pem_x509_certificates(head.file(f"{PKI}/{name}.crt").read_bytes())[0] for name in ISSUED)
    return {common(each.issuer) for each in served}


def issuer(machine: Machine) -> str:
    """Return the name of the authority that signed the certificate of a Linux machine's kubelet."""
    text = machine.run("cat", KUBELET).stdout
    return common(x509.load_pem_x509_certificates(text.encode())[0].issuer)
