"""Queries of a lab cluster, as its administrator on a control plane."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sandbox.boot.machine import KUBECTL, Machine
from sandbox.boot.network import BootedCluster
from tests.awaited import until

IMAGE = "ghcr.io/flannel-io/flannel:v0.28.9"
"""The only image with a shell (busybox)."""
TURN = "/var/lib/mullion/turn"
LIBRARIES = "/node/lib/x86_64-linux-gnu"
CURL = (
    *(f"{LIBRARIES}/ld-linux-x86-64.so.2", "--library-path", LIBRARIES),
    *("/node/bin/curl", "--silent", "--show-error", "--max-time", "5"),
)
"""The node's curl, run in a pod with the node's /usr at /node."""


def nodes(head: Machine) -> dict[str, Any]:
    """Return Node objects by name."""
    items = json.loads(head.kubectl("get", "nodes", "--output", "json"))["items"]
    return {each["metadata"]["name"]: each for each in items}


def condition(node: dict[str, Any], name: str) -> str:
    """Return a condition's status; Unknown if the Node does not have it yet."""
    statuses = [each["status"] for each in node["status"].get("conditions", []) if each["type"] == name]
    return statuses[0] if statuses else "Unknown"


def etcdctl(head: Machine, *words: str) -> Any:
    """Return the JSON output of etcdctl on a control plane, once etcd answers there.

    A kubelet gets its serving certificate some time after its Node is Ready.
    """
    keys = [f"--{flag}=/etc/kubernetes/pki/etcd/{file}" for flag, file in
            (("cacert", "ca.crt"), ("cert", "peer.crt"), ("key", "peer.key"))]  # fmt: skip
    inside = ("exec", "--namespace", "kube-system", f"etcd-{head.name}", "--", "etcdctl", *keys, "--write-out=json")
    return until(lambda: json.loads(head.kubectl(*inside, *words)), f"etcd answers on {head.name}")


def stored(head: Machine, secret: str) -> bytes:
    """Return the bytes of a Secret of namespace `default` in etcd."""
    answer = etcdctl(head, "get", f"/registry/secrets/default/{secret}")
    return base64.b64decode(answer["kvs"][0]["value"])


def agent(head: Machine) -> dict[str, Any]:
    """Return the agent's part of a control plane's status record."""
    return head.status().get("agent") or {}


def at_rest(head: Machine) -> bool:
    """Return whether no turn is held, the machine's record is ready, and its agent has no errors and does not wait."""
    report = agent(head)
    idle = not head.file(TURN).exists() and (report.get("waits_for"), report.get("errors")) == ("", {})
    return idle and head.status()["state"] == "ready"


def all_ready(head: Machine, count: int) -> dict[str, Any] | None:
    """Return Node objects by name if there are `count` and all are Ready, else None."""
    items = nodes(head)
    return items if len(items) == count and all(condition(each, "Ready") == "True" for each in items.values()) else None


def ready(head: Machine, booted: BootedCluster) -> bool:
    """Return whether exactly the Linux machines are Ready."""
    found = nodes(head)
    linux = {*booted.machine_names("linux"), *booted.machine_names("control-plane")}
    conditions = {
        name: {one["type"]: one["status"] for one in each["status"]["conditions"]} for name, each in found.items()
    }
    return {name for name, each in conditions.items() if each.get("Ready") == "True"} == linux


def _pod(name: str, node: str, script: str) -> dict[str, Any]:
    container = {
        "name": "a",
        "image": IMAGE,
        "command": ["/bin/busybox", "sh", "-c", script],
        "volumeMounts": [{"name": "usr", "mountPath": "/node", "readOnly": True}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "lab", "labels": {"app": name}},
        "spec": {
            "containers": [container],
            "volumes": [{"name": "usr", "hostPath": {"path": "/usr"}}],
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        },
    }


PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}


@contextmanager
def web(head: Machine, on: str, asking_from: str) -> Iterator[Callable[[str], str]]:
    """Run a Service `web` in namespace `lab` with a pod on one node; yield a function that fetches a URL from a pod on
    another."""
    serve = "busybox mkdir /www && echo hello >/www/hello && exec busybox httpd -f -p 8080 -h /www"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "lab"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 8080}]},
    }
    items = [
        # the pods mount a folder of their node
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab", "labels": PRIVILEGED}},
        service,
        _pod("web", on, serve),
        _pod("client", asking_from, "exec busybox sleep 1000000"),
    ]
    manifest = head.file("/root/web.json")
    head.run(
        "sh",
        "-c",
        f"cat >/root/web.json <<'END'\n{json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': items})}\nEND",
    )
    # pods are refused until a controller has created the namespace's service account
    until(lambda: head.kubectl("apply", "--filename", "/root/web.json"), "the manifest is accepted")
    wait = ("wait", "--namespace", "lab", "--for=condition=Ready", "pod", "--all", "--timeout=300s")
    try:
        head.kubectl(*wait, seconds=310)

        def ask(url: str) -> str:
            ran = head.run(*KUBECTL, "exec", "--namespace", "lab", "client", "--", *CURL, url)
            return ran.stdout or ran.stderr

        yield ask
    finally:
        manifest.unlink(missing_ok=True)
        head.kubectl("delete", "namespace", "lab", "--wait=false")
