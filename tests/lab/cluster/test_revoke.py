"""`mullion revoke` on a booted cluster: what the keys of a Linux and of a Windows worker can do before and after it."""

import json
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest

from components.node.layout import LINUX
from components.releases.order import older
from sandbox.boot.machine import Machine
from sandbox.boot.network import BootedCluster
from sandbox.boot.windows.server import CURRENT
from sandbox.boot.windows.server import PKI as WINDOWS_PKI
from tests.awaited import until
from tests.lab.cluster.asking import at_rest, nodes, ready
from tests.lab.cluster.running import booted_mixed, in_clone, renewed

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.soak]

READY_SECONDS = 900
STACK = "mixed"
LINUX_KEY = "/var/lib/kubelet/pki/kubelet-client-current.pem"
SECRETS = "/api/v1/namespaces/default/secrets"
OK, FAILED = "200", "500"
URL = "https://kubernetes:6443"
"""The API server of the machine itself, by a name in its certificate."""
RESOLVED = ("--resolve", "kubernetes:6443:127.0.0.1")
CRICTL = (LINUX.program("crictl"), "--runtime-endpoint", LINUX.containerd_socket)

Cluster = Callable[[str, str], BootedCluster]


@pytest.fixture(scope="module")
def booted(cluster: Cluster, kubernetes: str, missing: Callable[[str, str], NoReturn]) -> BootedCluster:
    """Return three control planes, a Linux and a Windows worker."""
    if older(kubernetes, "1.32"):
        pytest.skip("before 1.32 the API server cannot refuse reads of a revoked machine")
    return booted_mixed(cluster(STACK, kubernetes), missing, READY_SECONDS)


@pytest.fixture(scope="module")
def heads(booted: BootedCluster) -> list[Machine]:
    return [booted.machine(name) for name in booted.machine_names("control-plane")]


def steal(head: Machine, pem: bytes, name: str) -> str:
    """Keep a kubelet's certificate and key elsewhere; return their path on a control plane."""
    head.file(f"/root/{name}.pem").write_bytes(pem)
    return f"/root/{name}.pem"


def current(worker: Machine) -> bytes:
    """Return the certificate and key that a Linux worker's kubelet uses."""
    return worker.run("cat", LINUX_KEY).stdout.encode()


def asked(head: Machine, key: str, path: str) -> str:
    """Return the status of a read with a stolen key."""
    words = (*RESOLVED, "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "20")
    return head.run("curl", *words, "--cacert", LINUX.ca, "--cert", key, f"{URL}{path}").stdout


def use(head: Machine, node: str) -> str:
    """Create a Secret, and a pod on the node that names it; return the Secret's path. No image is pulled for it."""
    metadata = {"name": f"used-on-{node}", "namespace": "default"}
    volume = {"name": "secret", "secret": {"secretName": metadata["name"]}}
    spec = {"nodeName": node, "containers": [{"name": "app", "image": "app.invalid/app"}], "volumes": [volume]}
    items = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"word": "first"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
    ]
    head.file("/root/used.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    head.kubectl("apply", "--filename", "/root/used.json")
    return f"{SECRETS}/{metadata['name']}"


def revoke(booted: BootedCluster, node: str) -> str:
    """Run the command; return its output."""
    argv = in_clone(booted.folder.parent, "revoke", STACK, node, api=booted.api)
    ended = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=180)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def rested(heads: list[Machine]) -> None:
    """Wait until each control plane's agent has ended its work."""
    until(lambda: all(map(at_rest, heads)), "all control planes are at rest", 900)


def started(head: Machine) -> str:
    """Return the id of the container of the machine's API server."""
    return head.run(*CRICTL, "ps", "--quiet", "--name", "^kube-apiserver$").stdout.strip()


def test_the_key_of_a_revoked_linux_worker_reads_nothing_and_its_watch_ends(
    booted: BootedCluster, heads: list[Machine]
) -> None:
    (head, *_), (node,) = heads, booted.machine_names("linux")
    until(lambda: ready(head, booted), "all Linux nodes are Ready", 600)
    rested(heads)
    key, path = steal(head, current(booted.machine(node)), "linux"), use(head, node)
    until(lambda: asked(head, key, path) == OK, "the key reads the Secret of its pod")
    before = [started(each) for each in heads]
    by_name = f"{SECRETS}?watch=true&timeoutSeconds=86400&fieldSelector=metadata.name%3D{path.rpartition('/')[2]}"
    curl = f"curl {' '.join(RESOLVED)} --silent --no-buffer --cacert {LINUX.ca} --cert {key} '{URL}{by_name}'"
    assert head.run("systemd-run", "--unit=watching", "bash", "-c", f"{curl} >/root/watched").returncode == 0
    until(lambda: b"ADDED" in head.read("/root/watched"), "the watch is open")
    assert "the API servers refuse every request with its certificate" in revoke(booted, node)
    for each in (path, f"/api/v1/nodes/{node}", "/version"):
        until(lambda each=each: asked(head, key, each) == FAILED, f"{each} is refused", 90)
    assert node not in nodes(head)
    until(lambda: head.run("systemctl", "is-active", "watching").stdout.strip() != "active", "the watch has ended", 600)
    rested(heads)
    assert not {*before} & {started(each) for each in heads}, "each API server has restarted"
    assert asked(head, key, path) == FAILED, "a restarted API server has the list"
    assert {*nodes(head)} == {*booted.machine_names("control-plane"), *booted.machine_names("web")}


def test_the_key_of_a_revoked_windows_worker_reads_nothing(booted: BootedCluster, heads: list[Machine]) -> None:
    (head, *_), (node,) = heads, booted.machine_names("web")
    key = steal(head, booted.machine(node).read(rf"{WINDOWS_PKI}\{CURRENT}"), "windows")
    path = use(head, node)
    until(lambda: asked(head, key, path) == OK, "the key reads the Secret of its pod")
    revoke(booted, node)
    until(lambda: asked(head, key, path) == FAILED, f"{path} is refused", 90)
    assert node not in nodes(head)
    rested(heads)


def test_the_successor_of_a_revoked_worker_joins_and_the_stolen_key_does_not_read_its_secrets(
    booted: BootedCluster, heads: list[Machine]
) -> None:
    (head, *_), (node,) = heads, booted.machine_names("linux")
    (new,) = renewed(booted, "roll", STACK, "linux", "--machine", node, "--sandbox", "--yes", gated=True)
    new.until("ready", READY_SECONDS)
    until(lambda: ready(head, booted), "the successor's Node is Ready", 600)
    path, own = use(head, node), steal(head, current(new), "successor")
    until(lambda: asked(head, own, path) == OK, "the successor reads the Secret of its pod", 120)
    assert asked(head, "/root/linux.pem", path) == FAILED
