"""What `mullion verify` puts into a cluster: a namespace with web servers, and pods that ask. All of it is removed."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from components.releases.systems import WINDOWS
from operations.verification.questions import PORTS, Node, Place, Question

HERE = Path(__file__).parent
WEB = {"linux": "linux-webserver", "windows": "win-webserver"}
"""Names of the Services and labels of the servers, by system."""
ANYWHERE: list[dict[str, str]] = [{"operator": "Exists"}]
BUSYBOX = "docker.io/library/busybox:1.37"
"""The image of Linux pods where none is named: anything with all of busybox as /bin/busybox will do."""
SERVERCORE = "mcr.microsoft.com/windows/servercore"
Manifest = dict[str, Any]


def namespace(name: str) -> Manifest:
    """One in which pods may be on the nodes' network."""
    labels = {"pod-security.kubernetes.io/enforce": "privileged", "app.kubernetes.io/managed-by": "mullion-verify"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def service(os: str) -> Manifest:
    """Port 80 of the servers of a system, inside and on every node (SMK-01)."""
    port = {"port": 80, "targetPort": PORTS[os], "protocol": "TCP"}
    spec = {"type": "NodePort", "ports": [port], "selector": {"app": WEB[os]}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEB[os], "labels": {"app": WEB[os]}},
        "spec": spec,
    }


def server(node: Node, image: str) -> Manifest:
    """A web server on one node."""
    container = {
        "name": "web",
        "image": image,
        "command": _command(node.os, "serve"),
        "ports": [{"containerPort": PORTS[node.os]}],
        "readinessProbe": {"httpGet": {"path": "/hello", "port": PORTS[node.os]}, "periodSeconds": 2},
    }
    return _pod(f"web-{node.name}", node, {"app": WEB[node.os]}, container)


def asker(number: int, place: Place, asked: Iterable[Question], image: str) -> Manifest:
    """A pod that asks each question once at its place and ends."""
    words = ";".join(f"{index} {each.words}" for index, each in enumerate(asked))
    variable = {"name": "QUESTIONS", "value": words}
    container: Manifest = {
        "name": "ask", "image": image, "command": _command(place.node.os, "probe"), "env": [variable],
    }  # fmt: skip
    made = _pod(f"ask-{number}", place.node, {"app": "ask"}, container)
    if place.host:
        made["spec"] |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if place.host and place.node.os == "windows":
        options = {"hostProcess": True, "runAsUserName": r"NT AUTHORITY\SYSTEM"}
        made["spec"]["securityContext"] = {"windowsOptions": options}
    return made


def image_of(node: Node, linux: str) -> str:
    """The image of a node's pods: of its own build on Windows (OS-07)."""
    if node.os == "linux":
        return linux
    tags = {each.build: each.image_tag for each in WINDOWS.values()}
    return f"{SERVERCORE}:{tags[node.build]}"


def _command(os: str, script: str) -> list[str]:
    """A script as a command line."""
    if os == "linux":
        # Kubernetes takes $(NAME) for a variable, and $$ for $
        return ["/bin/busybox", "sh", "-c", (HERE / f"{script}.sh").read_text("ascii").replace("$(", "$$(")]
    text = (HERE / f"{script}.ps1").read_text("ascii")
    # encoded: quotes in a command line are Windows' own riddle
    encoded = base64.b64encode(text.encode("utf-16-le")).decode()
    return ["powershell.exe", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]


def _pod(name: str, node: Node, labels: Mapping[str, str], container: Manifest) -> Manifest:
    spec = {
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": node.name},
        "tolerations": ANYWHERE,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": dict(labels)}, "spec": spec}
