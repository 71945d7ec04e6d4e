"""What `mullion verify` puts into a cluster: a namespace with web servers, and pods that ask. All of it is removed."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.releases.systems import WINDOWS
from operations.verification import features
from operations.verification.questions import PORTS, Node, Place, Question

HERE = Path(__file__).parent
WEB = {"linux": "linux-webserver", "windows": "win-webserver"}
"""Names of the Services and labels of the servers, by system."""
ANYWHERE: list[dict[str, str]] = [{"operator": "Exists"}]
BUSYBOX = "docker.io/library/busybox:1.37"
"""The image of Linux pods where none is named: anything with all of busybox as /bin/busybox will do."""
HOSTNAME = "kubernetes.io/hostname"
SAY = {
    "linux": {
        each: ["/bin/busybox", "sh", "-c", f"echo {features.WORD} >{features.ROOT}/shared/{each}"]
        for each in ("other", "started")
    },
    "windows": {
        each: ["cmd.exe", "/c", rf"echo {features.WORD}>C:\verify\shared\{each}"] for each in ("other", "started")
    },
}
"""Commands that write a word to a file of two containers, by system and the file's name."""
SERVERCORE = "mcr.microsoft.com/windows/servercore"
Manifest = dict[str, Any]


def namespace(name: str) -> Manifest:
    """One in which pods may be on the nodes' network."""
    labels = {"pod-security.kubernetes.io/enforce": "privileged", "app.kubernetes.io/managed-by": "mullion-verify"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def service(os: str) -> Manifest:
    """Port 80 of the servers of a system, inside and on every node (SMK-01)."""
    port = {"port": 80, "targetPort": "web", "protocol": "TCP"}
    spec = {"type": "NodePort", "ports": [port], "selector": {"app": WEB[os]}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": WEB[os], "labels": {"app": WEB[os]}},
        "spec": spec,
    }


def servers(nodes: Iterable[Node], linux_image: str) -> Iterator[Manifest]:
    """Web servers, one on each node: a Deployment for each system and build, as each wants its own image (SMK-01)."""
    kinds: dict[tuple[str, str], list[Node]] = {}
    for each in nodes:
        kinds.setdefault((each.os, each.build), []).append(each)
    for (os, build), mine in kinds.items():
        name = WEB[os] + (f"-{build.rpartition('.')[2]}" if build else "")
        yield _deployment(name, os, mine, image_of(mine[0], linux_image))


def _deployment(name: str, os: str, nodes: list[Node], image: str) -> Manifest:
    labels = {"app": WEB[os], "server": name}
    container = {
        "name": "web",
        "image": image,
        "command": words(os, "serve"),
        "ports": [{"name": "web", "containerPort": PORTS[os]}],
        "readinessProbe": {"httpGet": {"path": "/hello", "port": "web"}, "periodSeconds": 2},
        "livenessProbe": {"httpGet": {"path": "/hello", "port": "web"}, "periodSeconds": 10, "timeoutSeconds": 5},
    }
    pod = _pod("web", nodes[0], labels, container)
    names = {"key": HOSTNAME, "operator": "In", "values": [each.name for each in nodes]}
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


def asker(number: int, place: Place, asked: Iterable[Question], image: str) -> Manifest:
    """A pod that asks each question once at its place and ends."""
    text = ";".join(f"{index} {each.words}" for index, each in enumerate(asked))
    variable = {"name": "QUESTIONS", "value": text}
    container: Manifest = {
        "name": "ask", "image": image, "command": words(place.node.os, "probe"), "env": [variable],
    }  # fmt: skip
    made = _pod(f"ask-{number}", place.node, {"app": "ask"}, container)
    if not place.host:
        features.equip(made, place.node, SAY[place.node.os])
        return made
    made["spec"] |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if place.node.os == "linux":  # its own programs, for what the runtime says
        made["spec"]["volumes"] = [{"name": "node", "hostPath": {"path": "/"}}]
        container["volumeMounts"] = [{"name": "node", "mountPath": "/node", "readOnly": True}]
    else:
        options = {"hostProcess": True, "runAsUserName": r"NT AUTHORITY\SYSTEM"}
        made["spec"]["securityContext"] = {"windowsOptions": options}
    return made


def image_of(node: Node, linux: str) -> str:
    """The image of a node's pods: of its own build on Windows (OS-07)."""
    if node.os == "linux":
        return linux
    tags = {each.build: each.image_tag for each in WINDOWS.values()}
    return f"{SERVERCORE}:{tags[node.build]}"


def words(os: str, script: str) -> list[str]:
    """A script as a command line."""
    if os == "linux":
        # Kubernetes takes $(NAME) for a variable, and $$ for $
        return ["/bin/busybox", "sh", "-c", (HERE / f"{script}.sh").read_text("ascii").replace("$(", "$$(")]
    text = (HERE / f"{script}.ps1").read_text("ascii")
    # encoded: quotes in a command line are Windows' own riddle
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
