"""A cluster whose kubelets' certificates have ended, as after days without power, joins again by itself."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from components.node.layout import LINUX_NODE_CERTIFICATE
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until
from tests.lab.cluster.asking import all_ready
from tests.lab.cluster.running import boot

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

READY_SECONDS = 400
REJOIN_SECONDS = 400
"""Above the two minutes between looks at the certificate, the minute in which a Node becomes silent, and a boot."""


def certificate(machine: Machine) -> Path:
    """Return the file of the kubelet's certificate and key, on the disk of kubelets' files."""
    link = machine.folder / "var" / Path(LINUX_NODE_CERTIFICATE).relative_to("/var/lib")
    return link.parent / link.readlink().name


def age(machine: Machine, head: Machine) -> bytes:
    """Replace the certificate by one of the same node and authority that ended an hour ago; return it."""
    place = certificate(machine)
    content = place.read_bytes()
    before, key = x509.load_pem_x509_certificate(content), serialization.load_pem_private_key(content, None)
    authority = x509.load_pem_x509_certificate(head.file("/etc/kubernetes/pki/ca.crt").read_bytes())
    signer = serialization.load_pem_private_key(head.file("/etc/kubernetes/pki/ca.key").read_bytes(), None)
    assert isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey))  # kubeadm's is RSA, the kubelet's EC
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    now = datetime.now(timezone.utc)
    build = x509.CertificateBuilder(before.issuer, before.subject, key.public_key(), x509.random_serial_number())
    build = build.not_valid_before(now - timedelta(hours=25)).not_valid_after(now - timedelta(hours=1))
    build = build.add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    made = build.sign(signer, hashes.SHA256())
    assert made.issuer == authority.subject
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    place.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return made.fingerprint(hashes.SHA256())


def renewed(machine: Machine, old: bytes) -> bool:
    """Return whether the kubelet has another certificate, valid for about a day."""
    try:
        held = x509.load_pem_x509_certificate(certificate(machine).read_bytes())
    except OSError:
        return False
    left = held.not_valid_after_utc - datetime.now(timezone.utc)
    return held.fingerprint(hashes.SHA256()) != old and timedelta(hours=23) < left < timedelta(hours=25)


def test_machines_whose_certificates_ended_join_again_by_their_own_tokens(
    cluster: Callable[[str, str], BootedCluster], kubernetes: str
) -> None:
    booted = cluster("aws-dev", kubernetes)
    machines = [booted.machine(name) for pool in ("control-plane", "linux") for name in booted.machine_names(pool)]
    boot(machines, READY_SECONDS)
    head, worker = machines
    until(lambda: all_ready(head, 2), "both nodes are Ready")
    for each in machines:
        each.cut()
    old = [age(each, head) for each in machines]
    for each in machines:
        each.boot()
    for machine, mark in zip(machines, old, strict=True):
        until(
            lambda machine=machine, mark=mark: renewed(machine, mark),
            f"{machine.name} joins again",
            REJOIN_SECONDS,
            log=machine.log,
        )
    until(lambda: all_ready(head, 2), "both nodes are Ready again")

    mark = age(worker, head)  # while it runs: nothing but the two-minute task looks
    worker.run("systemctl", "restart", "kubelet.service")
    until(lambda: renewed(worker, mark), "the worker joins again without a boot", REJOIN_SECONDS, log=worker.log)
    until(lambda: all_ready(head, 2), "both nodes are Ready in the end")
