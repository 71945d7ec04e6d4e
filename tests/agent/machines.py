"""Control planes of one cluster with a simulated executor that applies the current bundle's plan at once."""

import hashlib
import importlib
import io
import json
import time
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.node import agent, api_server, kubeadm
from components.node.etcd import LEAST
from components.rollout import signed_documents
from tests.agent.cluster import KEY, Cluster
from tests.cloud_init.cloud import FakeCloud
from tools.golden.samples import content, plan

CONFIG = content(plan(None), "agent-config")
DATABASE = b"pages"
WHOLE = DATABASE + hashlib.sha256(DATABASE).digest()


DATES = "notBefore=Jan  1 00:00:00 2026 GMT\nnotAfter=Jan  1 00:00:00 2126 GMT\n"
"""openssl's dates of a certificate that ends late."""


PODS = "/api/v1/namespaces/kube-system/pods"


class Cut(BaseException):
    """A power loss."""


def bundle(kubernetes: str, digest: str) -> tuple[bytes, str]:
    """Return a bundle whose plan has this version and configuration, and its sha256."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("plan.json", json.dumps({"kubernetes": kubernetes, "digest": digest}))
    return buffer.getvalue(), hashlib.sha256(buffer.getvalue()).hexdigest()


class ControlPlanes:
    """Machines by name, and the effects in order. cut_at: effects after which the power is lost, once."""

    def __init__(
        self, folder: Path, cluster: Cluster, cloud: FakeCloud, template: Any, patch: pytest.MonkeyPatch, count: int = 3
    ) -> None:
        self.patch, self.cluster, self.cloud, self.told_as = (
            patch,
            cluster,
            cloud,
            [f"control-plane-{each}" for each in range(count)],
        )
        self.log: list[str] = []
        self.cut_at = -1
        self.pointer: dict[str, Any] | None = None
        self.keys: list[str] = []
        """Encryption keys in the secret, newest first; empty: the agents do not read keys."""
        self.signers: list[dict[str, Any]] = []
        """Service-account keys, newest first."""
        self.broken = ""
        """Digest of a configuration with which the executor fails."""
        self.backups = 0
        """Number of kubeadm's backups, one a second."""
        self.window: dict[str, int] = {}
        """When the machines may restart: {begin, minutes}; empty: never."""
        self.etcd = dict.fromkeys(self.told_as, LEAST)
        """Version of each member of etcd."""
        facts = template.told["facts"]
        self.machines = {name: Machine(self, name, folder / name, facts) for name in self.told_as}
        self.first = bundle("1.36.3", "first")
        for machine in self.machines.values():
            machine.begin(*self.first)
        cluster.add(
            "/api/v1/namespaces/kube-system/configmaps", "mullion-agent", data={"applied": "first", "pointer": "1"}
        )

    def point(self, serial: int, kubernetes: str, digest: str) -> str:
        """Publish a bundle and the pointer to it."""
        made, sha256 = bundle(kubernetes, digest)
        self.cloud.objects[f"/bundles/{sha256}.zip"] = made
        url = f"{self.cloud.url}/bundles/{sha256}.zip"
        text = signed_documents.pointer_document(KEY, url, sha256, kubernetes, serial, kubernetes)
        self.pointer = {name: value for name, value in json.loads(text).items() if name != "mac"}
        return sha256

    def add_key(self, key: str) -> None:
        """Store another encryption key, as `mullion` does."""
        self.keys.insert(0, key)
        self.store()

    def add_signer(self, number: int) -> None:
        """Store another service-account key and drop the second oldest, as `mullion` does."""
        made = {"number": number, "private": f"private {number}\n", "public": f"public {number}\n"}
        self.signers = [made, *self.signers[:1]]
        self.store()

    def store(self) -> None:
        """Write the keys to the secret."""
        self.cloud.secrets["pki"] = json.dumps({"encryption-keys": self.keys, "service-account-keys": self.signers})

    def did(self, what: str) -> None:
        """Record an effect; raise Cut at cut_at."""
        self.log.append(what)
        if self.cut_at == len(self.log):
            self.cut_at = -1
            raise Cut

    def rounds(self, count: int = 24) -> None:
        """Run every agent and executor in turn; a machine without power boots."""
        for _ in range(count):
            for machine in self.machines.values():
                try:
                    machine.round()
                except Cut:
                    machine.boot()

    def reached(self, sha256: str, digest: str) -> bool:
        """Return whether all machines match the pointer and none has the turn."""
        free = not self.cluster.objects["/api/v1/namespaces/kube-system/configmaps/mullion-agent"]["data"].get("turn")
        return free and all(each.current() == sha256 and each.stamp() == digest for each in self.machines.values())


class Machine:
    """One control-plane machine."""

    def __init__(self, planes: ControlPlanes, name: str, root: Path, facts: dict[str, str]) -> None:
        self.planes, self.name, self.root, self.facts = planes, name, root, facts
        self.address = f"10.20.64.{10 + int(name[-1])}"
        self.starts = 0
        self.boots, self.rounds = False, 0
        self.began: dict[str, float] = {}
        """Start of its static pods."""
        self.reads: list[int] = []
        """Numbers of the keys that its API server has read; it encrypts with the first."""
        self.takes = ""
        """Keys whose tokens its API server accepts."""
        self.signs: dict[str, str] = {}
        """Key with which its static pods sign tokens."""

    def begin(self, content: bytes, sha256: str) -> None:
        """Found or join the cluster with this bundle."""
        loader = importlib.import_module("loader")
        (self.root / "opt/mullion").mkdir(parents=True)
        (self.root / "var/lib/etcd").mkdir(parents=True)
        loader.unpack(content, sha256, self.root / "opt/mullion")
        loader.switch(sha256, self.root / "opt/mullion")
        self.file("/var/lib/mullion/applied").write_text("first")
        self.serve_version()
        self.execute()
        self.boot()

    def boot(self) -> None:
        """Lose memory and run the executor, as at every boot."""
        run = importlib.import_module("run")
        told = {"machine": {"name": self.name}, "facts": self.facts}
        self.run = run.Run(self.root, told, {})
        self.following = importlib.import_module("agent.following").Following(self.run, self.name)
        self.following.controllers = {each.name: each.address for each in self.others()}
        self.due = True

    def others(self) -> list["Machine"]:
        return [Machine(self.planes, each, self.root, {}) for each in self.planes.told_as]

    def file(self, path: str) -> Path:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def current(self) -> str:
        return (self.root / "opt/mullion/current").resolve().name

    def stamp(self) -> str:
        return self.file("/var/lib/mullion/applied").read_text()

    def round(self) -> None:
        """Run the executor if it was started, then one round of the agent."""
        if self.due:
            self.due = False
            self.execute()
        self.planes.patch.setattr(importlib.import_module("programs"), "start", self.start)
        self.run.try_for(60)
        self.following.config = json.loads(self.file(agent.CONFIG).read_text())
        self.rounds += 1
        if self.planes.keys and self.rounds % 4 == 0:  # an agent checks from time to time
            self.following.look_at_keys()
        if self.planes.cluster:
            self.following.refusals.reconcile(self.following.config, self.planes.cluster)
        self.says = self.following.step(self.planes.cluster, self.planes.pointer)

    def serve_version(self) -> None:
        """Make the API server's static pod run the current bundle's version."""
        planned = json.loads((self.root / "opt/mullion/current/plan.json").read_text())
        image = {"name": "kube-apiserver", "image": f"registry.k8s.io/kube-apiserver:v{planned['kubernetes']}"}
        self.planes.cluster.add(PODS, f"kube-apiserver-{self.name}", spec={"containers": [image]})

    def serve(self, component: str = "kube-apiserver") -> None:
        """Start a static pod, which reads its keys."""
        self.began[component] = time.time()
        self.signs[component] = self.file(kubeadm.SIGNING_KEY).read_text()
        if component == "kube-apiserver":
            self.reads = importlib.import_module("kinds.keys").numbers(self.file(api_server.ENCRYPTION))
            self.takes = self.file(kubeadm.VERIFYING_KEYS).read_text()

    def execute(self) -> None:
        """Apply the plan's steps: the agent's configuration, kubeadm's upgrade in a turn, the result."""
        planned = json.loads((self.root / "opt/mullion/current/plan.json").read_text())
        rings = {name: {**CONFIG[name], "secret": "pki"} for name in ("encryption", "service_account")}
        config = {**CONFIG, "digest": planned["digest"], **rings}
        config["etcd"] = {**CONFIG["etcd"], "least": LEAST}
        config |= {"reboots": self.planes.window} if self.planes.window else {}
        self.file(agent.CONFIG).write_text(json.dumps(config))
        failed = planned["digest"] == self.planes.broken or self.planes.cluster is None  # kubeadm calls the API
        self.starts += 1
        if not failed and (self.root / agent.TURN.lstrip("/")).exists():
            upgrade = importlib.import_module("agent.upgrade")
            self.planes.patch.setattr(importlib.import_module("programs"), "start", self.start)
            self.planes.patch.setattr(upgrade, "from_kubeconfig", lambda path: self.planes.cluster)
            upgrade.upgrade(self.run)
        result = {"bundle": self.current(), "state": "failed" if failed else "done", "started": self.starts}
        result |= {"step": "kubeadm-upgrade", "message": "it is broken"} if failed else {}
        self.file("/var/lib/mullion/result.json").write_text(json.dumps(result))
        self.due = failed  # systemd starts it again
        memory = {"kubernetes": planned["kubernetes"]}
        if not failed:
            self.file("/var/lib/mullion/state.json").write_text(json.dumps(memory))

    def back_up(self) -> None:
        """Copy etcd's data and the manifests, as every `kubeadm upgrade` does, and keep both."""
        for number, name in enumerate(("backup-etcd", "backup-manifests")):
            moment = f"2026-11-30-12-{self.planes.backups // 60:02}-{self.planes.backups % 60:02}"
            place = self.file(f"/etc/kubernetes/tmp/kubeadm-{name}-{moment}/{('etcd/member', 'etcd.yaml')[number]}")
            place.write_bytes(DATABASE)
        self.planes.backups += 1

    def start(self, argv: tuple[str, ...], *_: Any) -> Any:
        """Stands in for programs.start."""
        words, said = " ".join(argv), ""
        if "mullion.service" in words:
            self.due = True
            self.planes.did(f"{self.name} runs")
        elif words == "systemctl reboot --no-block":
            self.planes.did(f"{self.name} reboots")
            self.file("/run/reboot-required").unlink()
            self.file("/proc/uptime").write_text("12.00 20.00\n")
            raise Cut
        elif "snapshot save" in words:
            self.file("/var/lib/etcd/mullion.snapshot").write_bytes(WHOLE)
            self.planes.did(f"{self.name} snapshot")
        elif "endpoint status" in words:
            members = self.planes.etcd.items()
            said = json.dumps([{"Endpoint": name, "Status": {"version": version}} for name, version in members])
        elif "kubeadm upgrade" in words:
            self.back_up()
            self.serve_version()
            if "apply" in argv:
                for name in importlib.import_module("agent.signing").AUTOMATIC:
                    self.planes.cluster.add("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", name)
            self.planes.did(f"{self.name} {argv[2]}")
        elif "addon kube-proxy" in words:
            self.planes.did(f"{self.name} kube-proxy")
        elif "ps --quiet" in words:
            said = words.rpartition("^")[2].rstrip("$")  # the container has the component's name
        elif words.startswith("openssl"):
            said = DATES
        elif " pods --quiet" in words:
            said = words.rpartition("=")[2]
        elif " inspect " in words:
            began = self.began.get(argv[-1], 0.0)
            said = f"{datetime.fromtimestamp(began, timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"
        elif " stopp " in words:
            self.serve(argv[-1])
            about = f"serves with {self.reads}" if argv[-1] == "kube-apiserver" else f"{argv[-1]} anew"
            self.planes.did(f"{self.name} {about}")
        return SimpleNamespace(returncode=0, stdout=said, stderr="")
