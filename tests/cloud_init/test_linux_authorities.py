"""Linux machines in a rotation of authorities: workers follow the cluster, control planes get new certificates."""

import base64
import importlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine import pki
from tests.certificates import signed
from tests.cloud_init.linux import Execute, Programs, put

OLD = pki.certificate_authority("kubernetes")
NEW = pki.certificate_authority("kubernetes-1")
CROSS = pki.cross_signed(NEW, OLD)
CLIENTS = "etc/kubernetes/pki/ca.crt"
CA, CONF, RECORD = "etc/mullion/ca.crt", "etc/kubernetes/kubelet.conf", "var/lib/mullion/authorities"
RESTART = ["systemctl", "try-restart", "kubelet.service"]


def leaf(authority: pki.KeyPair, name: str = "kube-apiserver") -> pki.KeyPair:
    """Return a certificate for 127.0.0.1 that the authority signed."""
    by = x509.load_pem_x509_certificate(authority["certificate"].encode())
    key = serialization.load_pem_private_key(authority["key"].encode(), None)
    own = ec.generate_private_key(ec.SECP256R1())
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    known = by.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    build = (
        x509.CertificateBuilder(
            by.subject, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), own.public_key()
        )
        .serial_number(x509.random_serial_number())
        .not_valid_before(by.not_valid_before_utc)
        .not_valid_after(by.not_valid_after_utc)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    pem = signed(build, key).public_bytes(serialization.Encoding.PEM).decode()
    return {"certificate": pem, "key": own.private_bytes(*form).decode()}


def kubeconfig(*authorities: str, **user: str) -> str:
    """Return a kubeconfig as kubeadm writes it."""
    embedded = {"certificate-authority-data": "".join(authorities), **user}
    lines = [f"    {name}: {base64.b64encode(value.encode()).decode()}\n" for name, value in embedded.items()]
    return "clusters:\n- cluster:\n" + "".join(lines) + "    server: https://127.0.0.1:6443\n"


class ApiServer:
    """An API server that publishes authorities to anybody, and whose certificate can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.published, self.moment = folder, kubeconfig(OLD["certificate"]), 1

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:
                noted = {"annotations": {"mullion.dev/authorities": str(self.moment)}} if self.moment else {}
                body = json.dumps({"metadata": noted, "data": {"kubeconfig": self.published}}).encode()
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.present(leaf(OLD))
        self.server.socket = self.context.wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def present(self, pair: pki.KeyPair, chain: str = "") -> None:
        """Present this certificate from now on."""
        file = self.folder / "server.pem"
        file.write_text(pair["certificate"] + chain + pair["key"])
        self.context.load_cert_chain(file)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    api = ApiServer(tmp_path)
    yield api
    api.server.shutdown()
    api.server.server_close()


@pytest.fixture
def follow(
    node: ModuleType, programs: Programs, root: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], bool]:
    """Return a function that follows once, and returns whether the kubelet was restarted."""
    assert node
    put(root, "var/lib/mullion/joined", "")
    put(root, CA, OLD["certificate"])
    put(root, CLIENTS, OLD["certificate"])
    put(root, CONF, kubeconfig(OLD["certificate"]))
    module = importlib.import_module("authorities")
    monkeypatch.setattr(module, "PORT", server.server.server_port)
    programs.answers["systemctl restart"] = (0, "")

    def look() -> bool:
        programs.asked.clear()
        module.follow({"facts": {"api_host": "127.0.0.1"}}, root)
        reports = ["systemctl", "restart", "--no-block", "mullion.service"] in programs.asked
        assert reports == (RESTART in programs.asked), "the executor reports what the machine trusts"
        return reports

    return look


def test_a_worker_follows_each_stage_once(follow: Callable[[], bool], root: Path, server: ApiServer) -> None:
    assert not follow(), "before a rotation nothing changes"
    assert not (root / RECORD).exists()
    new, old = NEW["certificate"], OLD["certificate"]
    for trusted, pair, chain in ((old + new, OLD, ""), (new, NEW, CROSS)):
        server.present(leaf(pair), chain)
        server.published = kubeconfig(trusted)
        assert follow()
        assert (root / CA).read_text() == (root / CLIENTS).read_text() == trusted
        assert (root / CONF).read_text() == kubeconfig(trusted)
        assert not follow(), "once"


def test_another_order_of_the_same_authorities_restarts_nothing(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    new, old = NEW["certificate"], OLD["certificate"]
    server.published = kubeconfig(old + new)
    assert follow()
    server.published, server.moment = kubeconfig(new + old), 2
    assert not follow()
    assert (root / CA).read_text() == old + new


def test_authorities_that_a_restore_brought_back_are_not_followed(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    new, old = NEW["certificate"], OLD["certificate"]
    server.published, server.moment = kubeconfig(old + new), 5
    assert follow()
    for moment in (0, 4):  # 0: a snapshot from before the rotation
        server.published, server.moment = kubeconfig(old), moment
        assert not follow()
    assert (root / CA).read_text() == old + new
    server.moment = 6
    assert follow(), "a step back is published later"
    assert (root / CA).read_text() == old


def test_a_machine_that_never_followed_waits_for_the_agent(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    server.published, server.moment = kubeconfig(NEW["certificate"]), 0
    assert not follow()
    assert (root / CA).read_text() == OLD["certificate"]


def test_a_worker_that_was_off_during_the_rotation_follows_by_the_cross_signed_certificate(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    server.published = kubeconfig(NEW["certificate"])
    server.present(leaf(NEW))
    assert not follow(), "it cannot trust this server"
    assert (root / CA).read_text() == OLD["certificate"]
    server.present(leaf(NEW), CROSS)
    assert follow()
    assert (root / CA).read_text() == NEW["certificate"]


def test_a_foreign_server_and_invalid_answers_change_nothing(
    follow: Callable[[], bool], root: Path, server: ApiServer
) -> None:
    thief = pki.certificate_authority("kubernetes")
    server.present(leaf(thief), OLD["certificate"])
    server.published = kubeconfig(thief["certificate"])
    assert not follow()
    server.present(leaf(OLD))
    for published in ("", "certificate-authority-data: %%%", kubeconfig(""), kubeconfig("no certificate")):
        server.published = published
        assert not follow()
    assert (root / CA).read_text() == OLD["certificate"]


def test_a_restart_that_failed_is_tried_again(
    follow: Callable[[], bool], root: Path, server: ApiServer, programs: Programs
) -> None:
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    programs.answers["systemctl try-restart"] = (1, "")
    with pytest.raises(importlib.import_module("failure").Failure, match="try-restart"):
        follow()
    del programs.answers["systemctl try-restart"]
    assert follow()
    assert not follow()


@pytest.mark.parametrize("path", ["etc/kubernetes/pki/ca.key", ""], ids=["control plane", "not joined"])
def test_control_planes_and_machines_that_have_not_joined_do_not_follow(
    follow: Callable[[], bool], root: Path, server: ApiServer, path: str
) -> None:
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    if path:
        put(root, path, "")
    else:
        (root / "var/lib/mullion/joined").unlink()
    assert not follow()


def test_the_executor_keeps_authorities_that_the_machine_follows(
    follow: Callable[[], bool], root: Path, server: ApiServer, execute: Execute
) -> None:
    step = {"kind": "certificate-authority", "name": "ca", "url": "http://127.0.0.1:9/ca.crt", "retries": 0}
    step |= {"hash": pki.ca_hash(OLD["certificate"]), "path": f"/{CA}"}
    (root / CA).chmod(0o644)
    server.published = kubeconfig(OLD["certificate"], NEW["certificate"])
    assert follow()
    assert execute(step)["state"] == "done"
    put(root, CA, NEW["certificate"])
    assert execute(step)["state"] == "failed", "it does not follow these, and the store does not answer"


def test_a_kubelet_whose_authority_is_no_longer_trusted_joins_again(node: ModuleType, root: Path) -> None:
    assert node
    is_valid = importlib.import_module("kinds.joining").is_valid
    put(root, "kubelet.pem", leaf(OLD, "system:node:web-0")["certificate"])
    for trusted, valid in (((OLD, NEW), True), ((NEW, OLD), True), ((NEW,), False)):
        put(root, CA, "".join(each["certificate"] for each in trusted))
        assert is_valid(root / "kubelet.pem", "web-0", root / CA) is valid


PKI = "/etc/kubernetes/pki"
RENEW = ["kubeadm", "certs", "renew", "all"]
CERTIFICATES: dict[str, Any] = {
    "kind": "kubeadm-certificates",
    "name": "certificates",
    "requires": "/joined",
    "authorities": [f"{PKI}/ca.crt"],
    "certificates": [f"{PKI}/apiserver.crt"],
    "kubeconfigs": ["/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf"],
    "kubelet": f"/{CONF}",
    "renew": RENEW,
    "served": f"{PKI}/apiserver.crt",
    "chain": f"{PKI}/cross.crt",
    "retries": 0,
    "pods": {
        "find": {each: ["find", each] for each in ("etcd", "kube-apiserver", "kube-controller-manager")}
        | {"kube-scheduler": ["find", "kube-scheduler"]},
        "stop": ["stop"],
        "running": ["running"],
        "started": ["started"],
    },
}


def test_a_control_plane_gets_certificates_of_the_signing_authority_and_restarts_their_readers(
    execute: Execute, programs: Programs, root: Path
) -> None:
    served, admin = leaf(NEW)["certificate"], leaf(NEW, "kubernetes-admin")["certificate"]
    trusted = NEW["certificate"] + OLD["certificate"]
    put(root, f"{PKI}/ca.crt", trusted)
    put(root, f"{PKI}/cross.crt", CROSS)
    put(root, f"{PKI}/apiserver.crt", leaf(OLD)["certificate"])
    put(root, "etc/kubernetes/admin.conf", kubeconfig(OLD["certificate"], **{"client-certificate-data": served}))
    put(root, CONF, kubeconfig(OLD["certificate"]))
    programs.answers |= {"find": (0, "pod"), "running": (0, "container"), "started": (0, "2001-01-01T00:00:00Z")}

    def renewed() -> None:
        """Do what kubeadm does: leaves alone, and the first authority in kubeconfigs."""
        put(root, f"{PKI}/apiserver.crt", served)
        put(root, "etc/kubernetes/admin.conf", kubeconfig(NEW["certificate"], **{"client-certificate-data": admin}))

    def stopped() -> None:
        programs.answers["started"] = (0, "2999-01-01T00:00:00Z")

    programs.effects |= {"kubeadm certs renew": renewed, "stop": stopped}
    assert execute(CERTIFICATES)["state"] == "done"
    assert programs.asked == [], "this machine has not joined"
    put(root, "/joined", "")
    assert execute(CERTIFICATES)["state"] == "done"
    assert programs.asked.count(RENEW) == 1
    assert (root / PKI.lstrip("/") / "apiserver.crt").read_text() == served + CROSS
    assert (root / CONF).read_text() == kubeconfig(trusted)
    data = kubeconfig(trusted, **{"client-certificate-data": admin})
    assert (root / "etc/kubernetes/admin.conf").read_text() == data
    assert RESTART in programs.asked
    assert programs.asked.count(["stop", "pod"]) == 4
    programs.asked.clear()
    assert execute(CERTIFICATES)["state"] == "done"
    assert not [each for each in programs.asked if each in (RENEW, RESTART) or each[0] == "stop"], "once"
