"""etcd, kube-apiserver and kube-controller-manager as plain processes, with the CAs that the program created.

Certificates, kubeconfigs and the rules of bootstrap tokens are kubeadm's own, created from the planned cluster's
secrets and names. So are admission and authorization of nodes: Node,RBAC and NodeRestriction.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components import releases
from components.machine import pki
from components.machine.pki import KeyPair
from components.rollout.kubernetes_api import PATCH, Access, KubernetesApi, Refused, Unreachable
from sandbox.boot.network_namespaces import within
from tests.awaited import until

JOIN_SECRET = "abcdef.0123456789abcdef"
"""Text of the secret `join`."""
NUMBER, TOKEN = "00112233445566778899aabbccddeeff", "0i4pgu.ctb3dv60bnxbf16h"
"""The worker's random number, and its bootstrap token: letters of HMAC-SHA-256 of the number with JOIN_SECRET as key.
"""
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
ETCD = "http://127.0.0.1:2379"
PORT = 6443
PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/12"
"""Defaults of the spec."""

PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}
"""URL path at which objects of a kind are created; {} is their namespace."""


@dataclass
class ControlPlane:
    """The processes of a control plane, in network namespace `space`, where it has the address."""

    programs: Mapping[str, Path]
    """Paths of etcd, kube-apiserver, kube-controller-manager, kubeadm."""
    kubernetes: str
    folder: Path
    space: str
    address: str
    host: str
    """Host name of the endpoint."""
    secrets: Mapping[str, str]
    """Files of kubeadm's certificate directory, by their path in it."""
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    @property
    def _pki(self) -> Path:
        return self.folder / "pki"

    @property
    def authority(self) -> KeyPair:
        """Return the cluster's CA."""
        return {"certificate": self.secrets["ca.crt"], "key": self.secrets["ca.key"]}

    def start(self) -> None:
        """Start all processes, and create what a founder creates next: the rules of tokens, and the worker's token."""
        self._certificates()
        data = ("--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync")
        self._process("etcd", *data, "--listen-client-urls", ETCD, "--advertise-client-urls", ETCD)
        self._process("kube-apiserver", *self._api_server())
        self.until(lambda: self._answered(lambda api: api.text("/readyz")), "the API server is ready")
        # the API server creates its namespaces after it reports ready
        for path in ("/api/v1/namespaces/kube-system", "/api/v1/namespaces/kube-public"):
            self.until(lambda path=path: self.get(path), f"the API answers {path}")
        self._process("kube-controller-manager", *self._controllers())
        self._kubeadm("bootstrap-token", "--config", str(self._config()), "--kubeconfig", str(self._administrator()))

    def stop(self) -> None:
        """Stop the processes in reverse order without waiting for their writes: the test owns their data."""
        for each in reversed(self._running):
            each.kill()
            each.wait()

    def call(self, method: str, path: str, body: Any = None, who: KeyPair | None = None) -> Any:
        """Return the API's answer to the administrator, or to the user of the certificate."""
        kind = PATCH if method == "PATCH" else "application/json"
        # not `KubernetesApi.call`, whose threads are outside the network namespace
        return self._ask(lambda api: api.ask(method, path, body, kind), who)

    def get(self, path: str) -> Any:
        """Return an object; None if it, or the API, does not exist yet."""
        return self._answered(lambda api: api.ask("GET", path) or True)

    def _ask(self, what: Callable[[KubernetesApi], Any], who: KeyPair | None = None) -> Any:
        pair = who or pki.administrator_certificate(self.authority, "lab", days=1)
        access = Access(f"https://{self.address}:{PORT}", self.host, self.secrets["ca.crt"], pair)
        return within(self.space, lambda: what(KubernetesApi(access)))

    def _answered(self, what: Callable[[KubernetesApi], Any]) -> Any:
        """Return an answer; None if the object, or the API, does not exist yet."""
        try:
            return self._ask(what)
        except Unreachable:
            return None
        except Refused as refused:
            if refused.status in (404, 403, 500, 503):
                return None
            raise

    def apply(self, manifests: list[dict[str, Any]]) -> None:
        """Create each object."""
        for each in manifests:
            namespace = each["metadata"].get("namespace", "")
            self.call("POST", PATHS[each["kind"]].format(namespace) + "?fieldValidation=Strict", each)

    def until(self, what: Callable[[], Any], doing: str) -> Any:
        """Wait until the result is true while all processes run, and return it."""

        def result() -> Any:
            assert all(each.poll() is None for each in self._running), self.log()
            return what()

        return until(result, doing, log=self.log)

    def log(self) -> str:
        """Return the end of each process's output."""
        return "\n".join(each.read_text(errors="replace")[-1500:] for each in sorted(self.folder.glob("*.log")))

    def _process(self, name: str, *arguments: str) -> None:
        command = ["nsenter", f"--net=/run/netns/{self.space}", str(self.programs[name]), *arguments]
        with (self.folder / f"{name}.log").open("wb") as log:
            self._running.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def _kubeadm(self, *words: str) -> None:
        command = ["nsenter", f"--net=/run/netns/{self.space}", str(self.programs["kubeadm"]), "init", "phase", *words]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def _certificates(self) -> None:
        for name, text in self.secrets.items():
            (self._pki / name).parent.mkdir(parents=True, exist_ok=True)
            (self._pki / name).write_text(text)
        self._kubeadm("certs", "all", "--config", str(self._config()))
        folder = ("--kubeconfig-dir", str(self.folder))
        self._kubeadm("kubeconfig", "controller-manager", "--config", str(self._config()), *folder)

    def _config(self) -> Path:
        """Return kubeadm's configuration: names, addresses and the worker's token."""
        version = releases.release(self.kubernetes).kubeadm_api
        token = {"token": TOKEN, "ttl": "24h0m0s", "usages": ["signing", "authentication"], "groups": [JOINERS]}
        documents = [
            {
                "apiVersion": version,
                "kind": "InitConfiguration",
                "localAPIEndpoint": {"advertiseAddress": self.address, "bindPort": PORT},
                "bootstrapTokens": [token],
                "nodeRegistration": {"name": "control-plane-0", "criSocket": "unix:///run/containerd/containerd.sock"},
            },
            {
                "apiVersion": version,
                "kind": "ClusterConfiguration",
                "kubernetesVersion": f"v{self.kubernetes}",
                "certificatesDir": str(self._pki),
                # by address: the host that runs kubeadm here does not resolve the name
                "controlPlaneEndpoint": f"{self.address}:{PORT}",
                "networking": {"podSubnet": PODS, "serviceSubnet": SERVICES},
                "apiServer": {"certSANs": [self.host]},
            },
        ]
        path = self.folder / "kubeadm.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return path

    def _administrator(self) -> Path:
        pair = pki.administrator_certificate(self.authority, "lab", days=1)
        url = f"https://{self.address}:{PORT}"
        path = self.folder / "admin.conf"
        path.write_text(pki.administrator_kubeconfig("lab", url, self.host, self.secrets["ca.crt"], pair))
        return path

    def _api_server(self) -> list[str]:
        """Return the flags that kubeadm sets, without the front proxy, whose certificate no test uses."""
        files = {
            "client-ca-file": "ca.crt",
            "tls-cert-file": "apiserver.crt",
            "tls-private-key-file": "apiserver.key",
            "service-account-key-file": "sa.pub",
            "service-account-signing-key-file": "sa.key",
        }
        values = {
            "advertise-address": self.address,
            "secure-port": str(PORT),
            "etcd-servers": ETCD,
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "enable-bootstrap-token-auth": "true",
            "service-cluster-ip-range": SERVICES,
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            **{flag: str(self._pki / file) for flag, file in files.items()},
        }
        return [f"--{name}={value}" for name, value in values.items()]

    def _controllers(self) -> list[str]:
        config = str(self.folder / "controller-manager.conf")
        values = {
            **dict.fromkeys(("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"), config),
            "controllers": "*,bootstrapsigner,tokencleaner",
            "cluster-signing-cert-file": str(self._pki / "ca.crt"),
            "cluster-signing-key-file": str(self._pki / "ca.key"),
            "root-ca-file": str(self._pki / "ca.crt"),
            "service-account-private-key-file": str(self._pki / "sa.key"),
            "use-service-account-credentials": "true",
            "allocate-node-cidrs": "true",
            "cluster-cidr": PODS,
            "leader-elect": "false",
        }
        return [f"--{name}={value}" for name, value in values.items()]


def kubeadm_files(secret: str) -> dict[str, str]:
    """Return the files in the PKI secret, without the keys of encryption at rest."""
    return {name: text for name, text in json.loads(secret).items() if name.endswith((".crt", ".key", ".pub"))}
