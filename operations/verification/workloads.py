"""Controllers (SMK-13), and what pods need time for (SMK-12): liveness, preStop. Made first, judged last."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from components.rollout.kubernetes_api import Refused
from operations.verification.cluster import Cluster
from operations.verification.manifests import ANYWHERE, image_of
from operations.verification.questions import Node
from operations.verification.verdicts import Row, Verdict

Manifest = dict[str, Any]
Status = dict[str, Any]

HOLD = {"linux": ["/bin/busybox", "sleep", "100000"], "windows": ["cmd.exe", "/c", "ping -t 127.0.0.1 >NUL"]}
END = {"linux": ["/bin/busybox", "true"], "windows": ["cmd.exe", "/c", "exit 0"]}
FAIL = {"linux": ["/bin/busybox", "false"], "windows": ["cmd.exe", "/c", "exit 1"]}
DYING = {
    "linux": ["/bin/busybox", "sh", "-c", "[ -e /verify/stopped ] && echo stopped; exec /bin/busybox sleep 100000"],
    "windows": ["cmd.exe", "/c", r"(if exist C:\verify\stopped echo stopped)& ping -t 127.0.0.1 >NUL"],
}
STOPPED = {
    "linux": ["/bin/busybox", "touch", "/verify/stopped"],
    "windows": ["cmd.exe", "/c", r"echo.>C:\verify\stopped"],
}
"""Commands that go on, that end well or badly; that say whether preStop ran before, and that preStop runs."""


def _one(status: Status) -> bool:
    return status.get("readyReplicas") == 1


CONTROLLERS: dict[str, tuple[str, Callable[[Status], bool]]] = {
    "ReplicaSet": ("apps/v1", _one),
    "ReplicationController": ("v1", _one),
    "StatefulSet": ("apps/v1", _one),
    "DaemonSet": ("apps/v1", lambda status: status.get("numberReady", 0) == status.get("desiredNumberScheduled") == 1),
    "Job": ("batch/v1", lambda status: status.get("succeeded") == 1),
    "CronJob": ("batch/v1", lambda status: bool(status.get("lastScheduleTime"))),
}
"""Controller -> its API, and whether its status is the end state. Deployments serve the web (SMK-01)."""
OLDER = {"batch/v1": "batch/v1beta1"}
"""Where an API lacks a CronJob in the first it has it in the second (up to 1.20)."""
ONE_REPLICA = ("ReplicaSet", "ReplicationController", "StatefulSet")
JOBS = ("Job", "CronJob")


@dataclass(frozen=True)
class Made:
    """One object whose end state is awaited."""

    check: str
    os: str
    node: str
    what: str
    path: str
    reached: Callable[[Cluster, Status], bool]


def make(cluster: Cluster, node: Node, linux_image: str) -> Iterator[Made]:
    """One of each, on one node."""
    image = image_of(node, linux_image)
    for kind, (version, done) in CONTROLLERS.items():
        manifest = _controller(kind, version, node, image)
        try:
            path = cluster.place(cluster.make(manifest))
        except Refused as refused:
            if refused.status != 404 or version not in OLDER:
                raise
            path = cluster.place(cluster.make({**manifest, "apiVersion": OLDER[version]}))
        yield Made("SMK-13", node.os, node.name, kind, path, lambda _, status, done=done: done(status))
    path = cluster.place(cluster.make(_dying(node, image)))
    yield Made("SMK-12", node.os, node.name, "liveness probe", path, lambda _, status: _restarts(status) > 0)
    yield Made("SMK-12", node.os, node.name, "preStop", path, lambda cluster, status: _said(cluster, path, status))


def judged(cluster: Cluster, made: list[Made], seconds: float) -> list[Row]:
    """What came of them in time."""
    left = dict(enumerate(made))

    def over() -> bool:
        for number, each in list(left.items()):
            if each.reached(cluster, cluster.get(each.path).get("status") or {}):
                del left[number]
        return not left

    cluster.until(over, seconds)
    return [_row(cluster, each, number in left) for number, each in enumerate(made)]


def _row(cluster: Cluster, each: Made, is_left: bool) -> Row:
    verdict = Verdict.FAILED if is_left else Verdict.PASSED
    return Row(each.check, f"{each.os} node {each.node}", each.what, verdict, _why(cluster, each), each.os)


def _why(cluster: Cluster, each: Made) -> str:
    status = cluster.get(each.path).get("status") or {}
    return ", ".join(f"{name} {value}" for name, value in status.items() if isinstance(value, int | str))[:120]


def _controller(kind: str, version: str, node: Node, image: str) -> Manifest:
    """It, with one pod that holds, or one that ends well."""
    name = f"{kind.lower()}-{node.os}"
    labels = {"app": name}
    ends = kind in JOBS
    container = {"name": "a", "image": image, "command": (END if ends else HOLD)[node.os]}
    pod: Manifest = {"metadata": {"labels": labels}, "spec": _pod(node, container, "Never" if ends else "Always")}
    job: Manifest = {"template": pod}
    selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
    specs: dict[str, Manifest] = {
        "Job": job,
        "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
        "DaemonSet": {"selector": selector, "template": pod},
        **{each: {"replicas": 1, "selector": selector, "template": pod} for each in ONE_REPLICA},
    }
    spec = specs[kind] | ({"serviceName": name} if kind == "StatefulSet" else {})
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _pod(node: Node, container: Manifest, restarts: str) -> Manifest:
    return {
        "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": node.name},
        "tolerations": ANYWHERE,
        "restartPolicy": restarts,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
    }


def _dying(node: Node, image: str) -> Manifest:
    """A pod whose liveness probe never passes; preStop leaves a file, which its next start tells of."""
    container: Manifest = {
        "name": "a",
        "image": image,
        "command": DYING[node.os],
        "livenessProbe": {
            "exec": {"command": FAIL[node.os]}, "periodSeconds": 2, "failureThreshold": 1, "timeoutSeconds": 5,
        },
        "lifecycle": {"preStop": {"exec": {"command": STOPPED[node.os]}}},
        "volumeMounts": [{"name": "kept", "mountPath": "/verify"}],
    }  # fmt: skip
    spec = {**_pod(node, container, "Always"), "volumes": [{"name": "kept", "emptyDir": {}}]}
    metadata = {"name": f"dying-{node.os}", "labels": {"app": "dying"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _restarts(status: Status) -> int:
    return sum(each.get("restartCount", 0) for each in status.get("containerStatuses") or [])


def _said(cluster: Cluster, path: str, status: Status) -> bool:
    return _restarts(status) > 0 and "stopped" in cluster.written(path.rpartition("/")[2], "a")
