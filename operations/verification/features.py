"""Features of pods other than the network (SMK-12): volumes, settings, hooks, names. The pods check them."""

from collections.abc import Iterator
from typing import Any

from operations.verification.questions import Node, Place, Question, Scene

ROOT = "/verify"
"""Folder of the volumes; C:\\verify on Windows."""
SETTINGS, KEYS = "settings", "keys"
"""Names of the ConfigMap and of the Secret; its value is not secret."""
WORD, KEY = "hello", "sesame"
EXTERNAL, HEADLESS = "elsewhere", "each"
"""Names of the Services of type ExternalName and without a cluster IP."""
HOST = {"linux": ("/etc", "hostname"), "windows": (r"C:\Windows\System32\drivers\etc", "hosts")}
"""A folder of the node and a file in it, by operating system."""
PIPES = {True: r"\\.\pipe\containerd-containerd", False: r"\\.\pipe\docker_engine"}
"""Named pipe of the container runtime, by whether it is containerd."""
PIPE = r"\\.\pipe\verify"
"""Path of the named pipe in the pod."""
LIMITS = {"cpu": "1", "memory": "512Mi"}


def questions(place: Place, scene: Scene) -> Iterator[Question]:
    """Yield the questions that a pod answers about its own features."""
    os = place.node.os
    rows = [
        ("ConfigMap as a volume", f"file {ROOT}/settings/word {WORD}"),
        ("ConfigMap as a variable", f"env VERIFY_WORD {WORD}"),
        ("Secret as a volume", f"file {ROOT}/keys/word {KEY}"),
        ("Secret as a variable", f"env VERIFY_KEY {KEY}"),
        ("emptyDir of two containers", f"file {ROOT}/shared/other {WORD}"),
        ("postStart", f"file {ROOT}/shared/started {WORD}"),
        ("hostPath", f"there {ROOT}/host/{HOST[os][1]}"),
        ("ExternalName", f"name {EXTERNAL}.{scene.namespace}.svc.{scene.domain}"),
        ("headless Service", f"name {HEADLESS}.{scene.namespace}.svc.{scene.domain}"),
        *(
            (
                "variables of a Service",
                f"env {service.name.upper().replace('-', '_')}_SERVICE_HOST {service.address}",
            )
            for service in scene.services
        ),
        *([("named pipe", f"there {PIPE}")] if os == "windows" else []),
    ]
    for what, words in rows:
        yield Question("SMK-12", "", words, title=what)
    yield Question("SMK-12", "", f"write {ROOT}/settings/new once", opens=False, title="read-only volume")


def objects(web: str, domain: str) -> Iterator[dict[str, Any]]:
    """Yield the ConfigMap, the Secret and the Services that pods use.

    web: label `app` of the pods behind the headless Service. domain: DNS domain of the cluster.
    """
    for kind, name, word in (("ConfigMap", SETTINGS, WORD), ("Secret", KEYS, KEY)):
        field = "data" if kind == "ConfigMap" else "stringData"
        yield {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: {"word": word}}
    external = {"type": "ExternalName", "externalName": f"kubernetes.default.svc.{domain}"}
    headless = {"clusterIP": "None", "selector": {"app": web}, "ports": [{"port": 80, "protocol": "TCP"}]}
    for name, spec in ((EXTERNAL, external), (HEADLESS, headless)):
        yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def equip(pod: dict[str, Any], node: Node, write: dict[str, list[str]]) -> None:
    """Add volumes, variables, limits, postStart and a second container to a pod of one container.

    write: by file name, the command that writes WORD to this file of the volume `shared`.
    """
    (container,) = pod["spec"]["containers"]
    volumes: dict[str, dict[str, Any]] = {
        "settings": {"configMap": {"name": SETTINGS}},
        "keys": {"secret": {"secretName": KEYS}},
        "shared": {"emptyDir": {}},
        "host": {"hostPath": {"path": HOST[node.os][0], "type": "Directory"}},
    }
    mounts = [{"name": name, "mountPath": f"{ROOT}/{name}", "readOnly": name != "shared"} for name in volumes]
    if node.os == "windows":
        volumes["pipe"] = {"hostPath": {"path": PIPES[node.runtime.startswith("containerd")]}}
        mounts.append({"name": "pipe", "mountPath": PIPE})
    container["env"] += [
        {"name": "VERIFY_WORD", "valueFrom": {"configMapKeyRef": {"name": SETTINGS, "key": "word"}}},
        {"name": "VERIFY_KEY", "valueFrom": {"secretKeyRef": {"name": KEYS, "key": "word"}}},
    ]
    container["resources"] = {"limits": LIMITS, "requests": {"cpu": "50m", "memory": "32Mi"}}
    container["lifecycle"] = {"postStart": {"exec": {"command": write["started"]}}}
    other = {"name": "other", "image": container["image"], "command": write["other"], "volumeMounts": [mounts[2]]}
    container["volumeMounts"] = mounts
    pod["spec"]["containers"].append(other)
    pod["spec"]["volumes"] = [{"name": name, **source} for name, source in volumes.items()]
