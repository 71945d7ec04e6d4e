"""What pods have besides a network (SMK-12): volumes, settings, hooks, names; asked by the pods themselves."""

from collections.abc import Iterator
from typing import Any

from operations.verification.questions import Node, Place, Question, Scene

ROOT = "/verify"
"""Where volumes are; on Windows that is C:\\verify."""
SETTINGS, KEYS = "settings", "keys"
"""Names of the ConfigMap and of the Secret, which holds nothing secret."""
WORD, KEY = "hello", "sesame"
EXTERNAL, HEADLESS = "elsewhere", "each"
HOST = {"linux": ("/etc", "hostname"), "windows": (r"C:\Windows\System32\drivers\etc", "hosts")}
"""A folder of the node's, and a file in it, by system."""
PIPES = {True: r"\\.\pipe\containerd-containerd", False: r"\\.\pipe\docker_engine"}
"""Named pipe of the runtime, by whether that is containerd."""
PIPE = r"\\.\pipe\verify"
"""What it is called in the pod."""
LIMITS = {"cpu": "1", "memory": "512Mi"}


def questions(place: Place, scene: Scene) -> Iterator[Question]:
    """What a pod is asked about itself."""
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
            ("variables of a Service", f"env {each.name.upper().replace('-', '_')}_SERVICE_HOST {each.address}")
            for each in scene.services
        ),
        *([("named pipe", f"there {PIPE}")] if os == "windows" else []),
    ]
    for what, words in rows:
        yield Question("SMK-12", "", words, title=what)
    yield Question("SMK-12", "", f"write {ROOT}/settings/new once", opens=False, title="read-only volume")


def objects(web: str) -> Iterator[dict[str, Any]]:
    """The namespace's own. web: name of a Service that ExternalName and the headless one lead to."""
    for kind, name, word in (("ConfigMap", SETTINGS, WORD), ("Secret", KEYS, KEY)):
        field = "data" if kind == "ConfigMap" else "stringData"
        yield {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, field: {"word": word}}
    leads = {"type": "ExternalName", "externalName": "kubernetes.default.svc.cluster.local"}
    bare = {"clusterIP": "None", "selector": {"app": web}, "ports": [{"port": 80, "protocol": "TCP"}]}
    for name, spec in ((EXTERNAL, leads), (HEADLESS, bare)):
        yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def equip(pod: dict[str, Any], node: Node, say: dict[str, list[str]]) -> None:
    """Give a pod of one container all of it. say: by name, the command that writes the word to that file of shared."""
    (container,) = pod["spec"]["containers"]
    volumes: dict[str, dict[str, Any]] = {
        "settings": {"configMap": {"name": SETTINGS}},
        "keys": {"secret": {"secretName": KEYS}},
        "shared": {"emptyDir": {}},
        "host": {"hostPath": {"path": HOST[node.os][0], "type": "Directory"}},
    }
    mounts = [{"name": each, "mountPath": f"{ROOT}/{each}", "readOnly": each != "shared"} for each in volumes]
    if node.os == "windows":
        volumes["pipe"] = {"hostPath": {"path": PIPES[node.runtime.startswith("containerd")]}}
        mounts.append({"name": "pipe", "mountPath": PIPE})
    container["env"] += [
        {"name": "VERIFY_WORD", "valueFrom": {"configMapKeyRef": {"name": SETTINGS, "key": "word"}}},
        {"name": "VERIFY_KEY", "valueFrom": {"secretKeyRef": {"name": KEYS, "key": "word"}}},
    ]
    container["resources"] = {"limits": LIMITS, "requests": {"cpu": "50m", "memory": "32Mi"}}
    container["lifecycle"] = {"postStart": {"exec": {"command": say["started"]}}}
    other = {"name": "other", "image": container["image"], "command": say["other"], "volumeMounts": [mounts[2]]}
    container["volumeMounts"] = mounts
    pod["spec"]["containers"].append(other)
    pod["spec"]["volumes"] = [{"name": name, **source} for name, source in volumes.items()]
