"""etcd, kube-apiserver and kube-controller-manager on free ports of 127.0.0.1, with files and rules made by kubeadm."""

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from components import releases
from components.node import authorization
from components.node.layout import PKI
from tests.awaited import until
from tests.lab.agent import refusing
from tests.lab.agent.free_ports import held_ports
from tests.lab.agent.issuer import CLIENT, Issuer
from tests.lab.rendered import Rendered, Variant, machines, of_variant

TOKEN = "abcdef.0123456789abcdef"
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
ADVERTISED = "192.0.2.10"
"""Advertised address: kubeadm accepts no loopback address. Nothing listens there."""
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CHECKS_KUBELETS = "kubelet-certificate-authority"
APPROVALS = ("controllers", "cluster-signing-duration")
"""Planned flags that decide who approves and what is signed."""
NAMESPACES = {f"namespace/{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")}


class Served:
    """The processes, and calls with other identities."""

    def __init__(self, programs: Mapping[str, Path], kubernetes: str, folder: Path) -> None:
        self.programs, self.kubernetes, self.folder = programs, kubernetes, folder
        self.held = held_ports(5)
        ports = [each.getsockname()[1] for each in self.held]
        self.port, self.etcd, self.peers, self.controllers, sign_in = ports
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.pki = folder / "pki"
        self.issuer = Issuer(sign_in, self.pki)
        self.plan = with_sign_in(kubernetes, self.issuer.url)
        self.config = folder / "kubeadm.yaml"
        self.client_key = ec.generate_private_key(ec.SECP256R1())

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def administrator(self) -> Path:
        """Return kubeadm's kubeconfig of system:masters: from 1.29 on not admin.conf."""
        super_admin = self.folder / "super-admin.conf"
        return super_admin if super_admin.exists() else self.folder / "admin.conf"

    @property
    def audit_log(self) -> Path:
        """Return the log of the API server with the planned audit policy, one event a line."""
        return self.folder / "audit.jsonl"

    def start(self) -> None:
        """Start all processes, and do what `kubeadm init` does for joining nodes, with automatic approvals."""
        self._configure()
        self._kubeadm("certs", "all")
        for each in ("admin", "super-admin", "controller-manager"):
            # minors before 1.29 have no super-admin.conf
            self._kubeadm("kubeconfig", each, "--kubeconfig-dir", str(self.folder), optional=each == "super-admin")
        own = self.folder / "controller-manager.conf"  # kubeadm calls the advertised address
        own.write_text(own.read_text().replace(ADVERTISED, "127.0.0.1"))
        for each in self.held:  # released only now: other test processes also look for free ports
            each.close()
        self.issuer.start()
        self._start_etcd()
        self._process("kube-apiserver", self._api_server())
        until(self._ready, "the API is ready", log=self._log)
        self._process("kube-controller-manager", self._controllers())
        self._kubeadm("bootstrap-token", "--kubeconfig", str(self.administrator))

    def stop(self) -> None:
        """Stop the processes in reverse order without waiting for their writes: the test owns their data."""
        for each in reversed(list(self.running.values())):
            each.kill()
            each.wait()
        self.issuer.stop()

    def kubectl(self, *words: str, check: bool = True) -> str:
        """Return kubectl's output as the administrator. Raises RuntimeError with its error if it fails and `check`."""
        argv = [str(self.programs["kubectl"]), "--kubeconfig", str(self.administrator), *words]
        ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
        if check and ended.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)}: {ended.stderr.strip()}")
        return ended.stdout

    def kubeadm(self, *words: str) -> None:
        """Run kubeadm."""
        argv = [str(self.programs["kubeadm"]), *words]
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)

    def kubectl_said(self, *words: str) -> str:
        """Return kubectl's output and errors as the administrator, also if it fails."""
        argv = [str(self.programs["kubectl"]), "--kubeconfig", str(self.administrator), *words]
        ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
        return ended.stdout + ended.stderr

    def _configure(self) -> None:
        version = releases.release(self.kubernetes).kubeadm_api
        token = {"token": TOKEN, "ttl": "24h0m0s", "usages": ["signing", "authentication"], "groups": [JOINERS]}
        endpoint = {"advertiseAddress": ADVERTISED, "bindPort": self.port}
        node = {"name": "control-plane-0", "criSocket": "unix:///run/containerd/containerd.sock"}
        init = {"kind": "InitConfiguration", "localAPIEndpoint": endpoint, "nodeRegistration": node}
        cluster = {"kind": "ClusterConfiguration", "kubernetesVersion": f"v{self.kubernetes}"}
        cluster |= {"certificatesDir": str(self.pki), "controlPlaneEndpoint": f"127.0.0.1:{self.port}"}
        cluster |= {"apiServer": {"certSANs": ["127.0.0.1"]}}
        documents = [{"apiVersion": version, **each} for each in (init | {"bootstrapTokens": [token]}, cluster)]
        self.config.write_text(yaml.safe_dump_all(documents))

    def _kubeadm(self, *words: str, optional: bool = False) -> None:
        argv = [str(self.programs["kubeadm"]), "init", "phase", *words, "--config", str(self.config)]
        ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
        assert optional or ended.returncode == 0, ended.stdout + ended.stderr

    def _process(self, name: str, flags: Mapping[str, Any]) -> None:
        argv = [str(self.programs[name]), *(f"--{flag}={value}" for flag, value in flags.items())]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _start_etcd(self) -> None:
        client, peer = f"https://127.0.0.1:{self.etcd}", f"https://127.0.0.1:{self.peers}"
        tls = {"cert-file": "server.crt", "key-file": "server.key", "trusted-ca-file": "ca.crt"}
        flags: dict[str, Any] = {"data-dir": self.folder / "etcd", "name": "one", "client-cert-auth": "true"}
        flags |= {"listen-client-urls": client, "advertise-client-urls": client}
        flags |= {"listen-peer-urls": peer, "initial-advertise-peer-urls": peer, "initial-cluster": f"one={peer}"}
        flags |= {flag: self.pki / "etcd" / file for flag, file in tls.items()}
        flags |= {f"peer-{flag}": self.pki / "etcd" / file.replace("server", "peer") for flag, file in tls.items()}
        self._process("etcd", flags)

    def _api_server(self) -> dict[str, Any]:
        files = {
            "client-ca-file": "ca.crt",
            "tls-cert-file": "apiserver.crt",
            "tls-private-key-file": "apiserver.key",
            "service-account-key-file": "sa.pub",
            "service-account-signing-key-file": "sa.key",
            "etcd-cafile": "etcd/ca.crt",
            "etcd-certfile": "apiserver-etcd-client.crt",
            "etcd-keyfile": "apiserver-etcd-client.key",
            "kubelet-client-certificate": "apiserver-kubelet-client.crt",
            "kubelet-client-key": "apiserver-kubelet-client.key",
        }
        flags: dict[str, Any] = {"bind-address": "127.0.0.1", "advertise-address": ADVERTISED, "secure-port": self.port}
        flags |= {"etcd-servers": f"https://127.0.0.1:{self.etcd}", "authorization-mode": "Node,RBAC"}
        flags |= {"enable-admission-plugins": "NodeRestriction", "enable-bootstrap-token-auth": "true"}
        flags |= {"allow-privileged": "true"}  # as kubeadm
        if self.kubernetes.startswith("1.37."):  # an API that 1.38 removes, for tests of `upgrade --check`
            flags |= {"runtime-config": "resource.k8s.io/v1beta1=true"}
        flags |= {"service-cluster-ip-range": "10.96.0.0/12"}
        flags |= {"service-account-issuer": "https://kubernetes.default.svc.cluster.local"}
        given = arguments(self.plan, "apiServer")
        flags |= {name: value for name, value in given.items() if name.startswith("oidc-")}
        flags |= {
            "oidc-ca-file": self.pki / "ca.crt",
            CHECKS_KUBELETS: given[CHECKS_KUBELETS].replace(PKI, str(self.pki)),
        }
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(self.plan.content("audit-policy")))
        flags |= {"audit-policy-file": policy, "audit-log-path": self.audit_log}
        if authorization.FLAG in given:  # from 1.32 on
            del flags["authorization-mode"]
            flags[authorization.FLAG] = refusing.prepare(self.folder, self.pki, self.plan)
        if "admission-control-config-file" in given:  # from 1.23 on
            file = self.folder / "admission.json"
            file.write_text(json.dumps(self.plan.content("admission")))
            flags["admission-control-config-file"] = file
        return flags | {flag: self.pki / file for flag, file in files.items()}

    def _controllers(self) -> dict[str, Any]:
        kubeconfig = self.folder / "controller-manager.conf"
        flags: dict[str, Any] = dict.fromkeys(
            ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"), kubeconfig
        )
        flags |= {"cluster-signing-cert-file": self.pki / "ca.crt", "cluster-signing-key-file": self.pki / "ca.key"}
        flags |= {name: planned(self.kubernetes, "controllerManager")[name] for name in APPROVALS}
        flags |= {"leader-elect": "false"}
        flags |= {"use-service-account-credentials": "true"}
        flags |= {"secure-port": self.controllers, "bind-address": "127.0.0.1"}
        # no kubelet renews the status of these nodes
        flags |= {"node-monitor-grace-period": "24h"}
        flags |= {"root-ca-file": self.pki / "ca.crt", "service-account-private-key-file": self.pki / "sa.key"}
        return flags

    def _ready(self) -> bool:
        """Return whether the API answers and has a cluster's namespaces, which it creates after it reports ready."""
        died = [name for name, each in self.running.items() if each.poll() is not None]
        assert not died, f"{died}\n{self._log()}"
        namespaces = self.kubectl("get", "namespaces", "--output", "name", check=False).split()
        return self.kubectl("get", "--raw", "/readyz", check=False) == "ok" and {*namespaces} >= NAMESPACES

    def _log(self) -> str:
        """Return the end of each process's output."""
        return "\n".join(each.read_text(errors="replace")[-1500:] for each in sorted(self.folder.glob("*.log")))

    def request(self, pem: str, signer: str, as_user: Mapping[str, Any]) -> str:
        """Create a certificate request as another user (token, or certificate and key); return its name."""
        own = "server auth" if signer.endswith("serving") else "client auth"
        # the controller manager of 1.24 signs for no other signer
        usages = ["key encipherment", "digital signature", own]
        spec = {"signerName": signer, "usages": usages, "request": base64.b64encode(pem.encode()).decode()}
        kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        body = {**kind, "metadata": {"generateName": "csr-"}, "spec": spec}

        def created() -> str:
            answer = self.call(as_user, "POST", REQUESTS, body)
            if answer.get("code") == 401:  # the API does not accept a token until a moment after its creation
                return ""
            assert answer["kind"] == "CertificateSigningRequest", answer
            return answer["metadata"]["name"]

        return until(created, "the request is accepted")

    def call(
        self, who: Mapping[str, Any], method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Any:
        """Return the API's answer for this identity: a document, also if it refuses."""
        return json.loads(self._curl(who, method, path, body, "--header", f"Content-Type: {kind}"))

    def status(self, who: Mapping[str, Any], path: str) -> int:
        """Return the status of the API's answer to a read with this identity."""
        return int(self._curl(who, "GET", path, None, "--output", "/dev/null", "--write-out", "%{http_code}"))

    def _curl(self, who: Mapping[str, Any], method: str, path: str, body: Any, *more: str) -> str:
        words = ["curl", "--silent", "--cacert", str(self.pki / "ca.crt"), "--request", method, *more]
        words += [f"{self.url}{path}", "--config", "-"]
        options = [f'header = "Authorization: Bearer {who["token"]}"'] if "token" in who else []
        options += [f'cert = "{who["certificate"]}"', f'key = "{who["key"]}"'] if "certificate" in who else []
        if body is not None:
            place = self.folder / "body.json"
            place.write_text(json.dumps(body))
            options.append(f'data = "@{place}"')
        ended = subprocess.run(
            words,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            input="\n".join(options),
            env=dict(os.environ),
        )
        return ended.stdout

    def issued(self, name: str) -> dict[str, Any]:
        """Return the identity of a request once its certificate is issued."""
        words = ("get", "csr", name, "--output", "json")
        certificate = until(lambda: json.loads(self.kubectl(*words))["status"]["certificate"], f"{name} is issued")
        place, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        place.write_bytes(base64.b64decode(certificate))
        key.write_bytes(self.client_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return {"certificate": place, "key": key}

    def pem(self, name: str, names: list[x509.GeneralName] | None = None) -> str:
        """Return a kubelet's certificate request, with a key that `issued` uses."""
        pairs = ((NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{name}"))
        build = x509.CertificateSigningRequestBuilder()
        build = build.subject_name(x509.Name([x509.NameAttribute(*each) for each in pairs]))
        if names:
            build = build.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = build.sign(self.client_key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM).decode()


def planned(kubernetes: str, part: str) -> dict[str, str]:
    """Return the flags that a cluster's plan gives a program; part: its section of the ClusterConfiguration."""
    return arguments(next(each for each in machines(kubernetes) if each.pool == "control-plane"), part)


def with_sign_in(kubernetes: str, issuer: str) -> Rendered:
    """Return the control plane of a cluster whose groups `admins`, `editors` and `viewers` sign in by an issuer."""
    groups = {name: [name] for name in ("admins", "editors", "viewers")}
    oidc = {"issuer": issuer, "client": CLIENT, **groups, "required_claims": {"tenant": "ours"}}
    variant = Variant("sign-in", {"api": {"oidc": oidc}}, {})
    return next(each for each in of_variant(kubernetes, variant) if each.pool == "control-plane")


def arguments(machine: Rendered, part: str) -> dict[str, str]:
    """Return the flags that a control plane's plan gives a program."""
    cluster = next(each for each in machine.content("init-config") if each["kind"] == "ClusterConfiguration")
    given = cluster[part]["extraArgs"]
    return given if isinstance(given, dict) else {each["name"]: each["value"] for each in given}
