"""Manifests of `mullion verify`: a namespace, web servers, and pods that send requests. All are deleted afterwards."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.releases.systems import WINDOWS
from operations.verification import features
from operations.verification.questions import PORTS, Node, Place, Question

HERE = Path(__file__).parent
WEB = {"linux": "linux-webserver", "windows": "win-webserver"}
"""Names of the Services and label `app` of the web servers, by operating system."""
ANYWHERE: list[dict[str, str]] = [{"operator": "Exists"}]
"""Tolerations of every taint."""
BUSYBOX = "docker.io/library/busybox:1.37"
"""Default image of Linux pods; any image with a complete /bin/busybox works."""
HOSTNAME = "kubernetes.io/hostname"
WRITE = {
    "linux": {
        name: ["/bin/busybox", "sh", "-c", f"echo {features.WORD} >{features.ROOT}/shared/{name}"]
        for name in ("other", "started")
    },
    "windows": {
        name: ["cmd.exe", "/c", rf"echo {features.WORD}>C:\verify\shared\{name}"] for name in ("other", "started")
    },
}
"""Commands that write WORD to a file of the volume that two containers share, by operating system and file name."""
SERVERCORE = "mcr.microsoft.com/windows/servercore"
Manifest = dict[str, Any]


def namespace(name: str) -> Manifest:
    """Return a namespace that admits privileged pods: some use the host network."""
    labels = {"pod-security.kubernetes.io/enforce": "privileged", "app.kubernetes.io/managed-by": "mullion-verify"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def service(os: str) -> Manifest:
    """Return the NodePort Service of a system's web servers, port 80 (SMK-01)."""
    port = {"port": 80, "targetPort": "web", "protocol": "TCP"}
    spec = {"type": "NodePort", "ports": [port], "selector": {"app": WEB[os]}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEB[os], "labels": {"app": WEB[os]}},
        "spec": spec,
    }


def servers(nodes: Iterable[Node], linux_image: str) -> Iterator[Manifest]:
    """Yield a Deployment for each system and Windows build, with a web server on each node (SMK-01).

    Each Windows build needs its own image.
    """
    kinds: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        kinds.setdefault((node.os, node.build), []).append(node)
    for (os, build), members in kinds.items():
        name = WEB[os] + (f"-{build.rpartition('.')[2]}" if build else "")
        yield _deployment(name, os, members, image_of(members[0], linux_image))


def _deployment(name: str, os: str, nodes: list[Node], image: str) -> Manifest:
    labels = {"app": WEB[os], "server": name}
    container = {
        "name": "web",
        "image": image,
        "command": words(os, "serve"),
        "ports": [{"name": "web", "containerPort": PORTS[os]}],
        "readinessProbe": {**_asked_inside(os), "periodSeconds": 2, "timeoutSeconds": 5},
    }
    pod = _pod("web", nodes[0], labels, container)
    names = {"key": HOSTNAME, "operator": "In", "values": [node.name for node in nodes]}
    apart = {"labelSelector": {"matchLabels": {"server": name}}, "topologyKey": HOSTNAME}
    pod["spec"] |= {
        "nodeSelector": {"kubernetes.io/os": os},
        "restartPolicy": "Always",
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [names]}]}
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        },
    }
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    spec = {"replicas": len(nodes), "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _asked_inside(os: str) -> Manifest:
    """Return an exec probe of a web server, because on some Windows builds the kubelet cannot reach pods (SMK-12)."""
    url = f"http://127.0.0.1:{PORTS[os]}/hello"
    ask = {
        "linux": ["/bin/busybox", "wget", "-q", "-O", "/dev/null", url],
        "windows": ["curl.exe", "-sf", "-o", "NUL", url],
    }
    return {"exec": {"command": ask[os]}}


def asker(number: int, place: Place, questions: Iterable[Question], image: str, domain: str) -> Manifest:
    """Return a pod that asks its questions at a place, writes the answers to its log, and ends."""
    text = ";".join(f"{index} {question.words}" for index, question in enumerate(questions))
    variables = [{"name": "QUESTIONS", "value": text}, {"name": "DOMAIN", "value": domain}]
    container: Manifest = {
        "name": "ask", "image": image, "command": words(place.node.os, "probe"), "env": variables,
    }  # fmt: skip
    pod = _pod(f"ask-{number}", place.node, {"app": "ask"}, container)
    if not place.host:
        features.equip(pod, place.node, WRITE[place.node.os])
        return pod
    pod["spec"] |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if place.node.os == "linux":  # the node's crictl
        pod["spec"]["volumes"] = [{"name": "node", "hostPath": {"path": "/"}}]
        container["volumeMounts"] = [{"name": "node", "mountPath": "/node", "readOnly": True}]
    else:
        options = {"hostProcess": True, "runAsUserName": r"NT AUTHORITY\SYSTEM"}
        pod["spec"]["securityContext"] = {"windowsOptions": options}
    return pod


def image_of(node: Node, linux: str) -> str:
    """Return the image of a node's pods; on Windows the one of the node's build (OS-07)."""
    if node.os == "linux":
        return linux
    tags = {windows.build: windows.image_tag for windows in WINDOWS.values()}
    return f"{SERVERCORE}:{tags[node.build]}"


def words(os: str, script: str) -> list[str]:
    """Return the command line that runs a script of this folder."""
    if os == "linux":
        # Kubernetes takes $(NAME) for a variable, and $$ for $
        return ["/bin/busybox", "sh", "-c", (HERE / f"{script}.sh").read_text("ascii").replace("$(", "$$(")]
    text = (HERE / f"{script}.ps1").read_text("ascii")
    # encoded: Windows' quoting rules differ from program to program
    encoded = base64.b64encode(text.encode("utf-16-le")).decode()
    return ["powershell.exe", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]


def _pod(name: str, node: Node, labels: Mapping[str, str], container: Manifest) -> Manifest:
    spec: Manifest = {
        "containers": [container],
        "nodeSelector": {HOSTNAME: node.name},
        "tolerations": ANYWHERE,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": dict(labels)}, "spec": spec}
