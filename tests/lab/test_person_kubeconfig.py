"""A person's certificate at a real API server: who it takes the person for, and what the role may do.

etcd and kube-apiserver run on loopback. The API server itself creates the cluster roles and their rules; the test does
what a controller of kube-controller-manager does, and copies the rules together (Using RBAC Authorization, Aggregated
ClusterRoles).
"""

import ipaddress
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.machine import pki
from components.machine.pki import KeyPair
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from operations.commands import person_kubeconfig, reached_api
from portal.kubeconfigs import public_parts
from tests.awaited import until
from tests.lab.agent.free_ports import held_ports
from tests.lab.conftest import Find

pytestmark = pytest.mark.lab
NAME = "api.red-one.mullion.internal"
PODS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


class Server:
    """An API server with an authority as Mullion makes them."""

    def __init__(self, url: str, authority: KeyPair) -> None:
        self.authority = authority
        administrator = pki.administrator_certificate(authority, "red-one")
        self.kubeconfig = pki.administrator_kubeconfig("red-one", url, NAME, authority["certificate"], administrator)
        self.admin = reached_api.client(self.kubeconfig)

    def issue(self, user: str, role: str, key: pki.SigningKey, *groups: str) -> str:
        """Return the kubeconfig that a portal's worker gets: it has no key."""
        who = person_kubeconfig.Person(user, role, groups, hours=1, public=key["public"])
        return person_kubeconfig.issued("red-one", self.kubeconfig, self.authority, who)


def joined(text: str, key: pki.SigningKey) -> KubernetesApi:
    """Return a client with the public parts of the portal's answer and the person's own key."""
    parts = public_parts(text)
    pair: KeyPair = {"certificate": parts["certificate"], "key": key["private"]}
    return KubernetesApi(Access(parts["server"], parts["server_name"], parts["certificate_authority"], pair))


@pytest.fixture(scope="module")
def server(kubernetes: str, program: Find, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, authority = tmp_path_factory.mktemp("api"), pki.certificate_authority("kubernetes")
    etcd = program("etcd", "linux")
    held = held_ports(3)
    client, peer, port = [each.getsockname()[1] for each in held]
    urls = [f"http://127.0.0.1:{number}" for number in (client, peer)]
    for each in held:
        each.close()
    _files(folder, authority)
    flags = {
        "etcd-servers": urls[0],
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "authorization-mode": "RBAC",
        "client-ca-file": folder / "ca.crt",
        "tls-cert-file": folder / "server.crt",
        "tls-private-key-file": folder / "server.key",
        "service-account-key-file": folder / "sa.pub",
        "service-account-signing-key-file": folder / "sa.key",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-cluster-ip-range": "10.96.0.0/16",
    }
    commands = [
        [etcd, "--data-dir", folder / "etcd", "--unsafe-no-fsync", *_listening(urls)],
        [program("kube-apiserver", "linux"), *(f"--{name}={value}" for name, value in flags.items())],
    ]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
                running.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        found = Server(f"https://127.0.0.1:{port}", authority)
        # the cluster roles exist once the hook that creates them has run
        until(lambda: _has_roles(found.admin), "the API server has its roles", log=lambda: _log(folder))
        yield found
    finally:
        for each in reversed(running):
            each.kill()
            each.wait()


def _listening(urls: list[str]) -> list[str]:
    words = ["--listen-client-urls", urls[0], "--advertise-client-urls", urls[0]]
    peers = ["--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1]]
    return [*words, *peers, "--initial-cluster", f"default={urls[1]}"]


def _log(folder: Path) -> str:
    return "\n".join(each.read_text(errors="replace")[-2000:] for each in folder.glob("*.log"))


def _has_roles(api: KubernetesApi) -> bool:
    """Return whether the API server has created the cluster roles, and give the aggregated ones their rules."""
    try:
        roles = {each["metadata"]["name"]: each for each in api.ask("GET", ROLES)["items"]}
        for name in ("view", "edit", "admin"):
            _aggregate(api, roles, roles[name])
        return bool(roles["cluster-admin"]["rules"] and roles["view"]["rules"])
    except (Refused, Unreachable) as error:
        raise RuntimeError(str(error)) from error


def _aggregate(api: KubernetesApi, roles: dict[str, Any], role: dict[str, Any]) -> None:
    [selector] = role["aggregationRule"]["clusterRoleSelectors"]
    wanted = selector["matchLabels"].items()
    chosen = [each for each in roles.values() if wanted <= (each["metadata"].get("labels") or {}).items()]
    role["rules"] = [rule for each in chosen for rule in each["rules"] or ()]
    api.ask("PUT", f"{ROLES}/{role['metadata']['name']}", role)


def _files(folder: Path, authority: KeyPair) -> None:
    """Write the server's certificate and the keys of its tokens."""
    key, signing = ec.generate_private_key(ec.SECP256R1()), pki.signing_key()
    by = x509.load_pem_x509_certificate(authority["certificate"].encode())
    ca_key = serialization.load_pem_private_key(authority["key"].encode(), None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    now = datetime.now(timezone.utc)
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder(by.subject, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(key.private_bytes(*form))
    (folder / "ca.crt").write_text(authority["certificate"])
    (folder / "sa.key").write_text(signing["private"])
    (folder / "sa.pub").write_text(signing["public"])


def status(api: KubernetesApi, method: str, path: str, body: Any = None) -> int:
    try:
        api.ask(method, path, body)
    except Refused as refused:
        return refused.status
    return 200


def test_the_api_server_knows_user_groups_and_the_credential_of_the_trail(server: Server) -> None:
    key = pki.person_key()
    text = server.issue("mullion:alice", "edit", key, "mullion:team:red")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    api, path = joined(text, key), "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    until(lambda: status(api, "POST", path, review) == 200, "the API server lets everybody ask who they are")
    found = api.ask("POST", path, review)
    info = found["status"]["userInfo"]
    assert info["username"] == "mullion:alice"
    assert {"mullion:role:edit", "mullion:team:red", "system:authenticated"} == set(info["groups"])
    [credential] = info["extra"]["authentication.kubernetes.io/credential-id"]
    assert credential == public_parts(text)["credential"]


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("view", {"read": 200, "write": 403, "secrets": 403, "roles": 403, "token": 403}),
        ("edit", {"read": 200, "write": 200, "secrets": 200, "roles": 403, "token": 200}),
        ("cluster-admin", {"read": 200, "write": 200, "secrets": 200, "roles": 200, "token": 200}),
    ],
)
def test_a_role_may_do_what_its_cluster_role_says_once_it_is_bound(
    role: str, allowed: dict[str, int], server: Server
) -> None:
    key = pki.person_key()
    api = joined(server.issue("mullion:alice", role, key), key)
    assert status(api, "GET", PODS) == 403, "nobody has bound the group yet"
    person_kubeconfig.bind(server.admin, role)
    status(server.admin, "POST", ACCOUNTS, {"metadata": {"name": "controller"}})
    until(lambda: status(api, "GET", PODS) == 200, "the API server has read the binding")
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"by-{role}"}}
    made = {"metadata": {"name": f"role-of-{role}"}, "rules": []}
    assert {
        "read": status(api, "GET", PODS),
        "write": status(api, "POST", PODS, document),
        "secrets": status(api, "GET", SECRETS),
        "roles": status(api, "POST", ROLES, made),
        "token": status(api, "POST", f"{ACCOUNTS}/controller/token", {"spec": {"expirationSeconds": 86400}}),
    } == allowed


def test_a_binding_that_an_administrator_emptied_stays_empty(server: Server) -> None:
    key = pki.person_key()
    person_kubeconfig.bind(server.admin, "admin")
    path = f"{person_kubeconfig.BINDINGS}/{person_kubeconfig.group('admin')}"
    server.admin.ask("PUT", path, {**person_kubeconfig.binding("admin"), "subjects": []})
    person_kubeconfig.bind(server.admin, "admin")
    assert "subjects" not in server.admin.ask("GET", path)
    assert status(joined(server.issue("mullion:bob", "admin", key), key), "GET", PODS) == 403


def test_a_certificate_of_another_authority_is_nobody(server: Server) -> None:
    key, other = pki.person_key(), pki.certificate_authority("kubernetes")
    who = person_kubeconfig.Person("mullion:eve", "cluster-admin", (), hours=1, public=key["public"])
    text = person_kubeconfig.issued("red-one", server.kubeconfig, other, who)
    assert yaml.safe_load(text)["users"][0]["name"] == "red-one-mullion:eve"
    assert status(joined(text, key), "GET", PODS) == 401
