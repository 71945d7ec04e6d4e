"""Controllers (SMK-13), probes and preStop hook (SMK-12). They are created first and judged last, as they take time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from components.rollout.kubernetes_api import Refused
from operations.verification.cluster import Cluster
from operations.verification.manifests import ANYWHERE, image_of, words
from operations.verification.questions import PORTS, Node, unreached
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
"""Commands by operating system: HOLD runs for ever, END succeeds, FAIL fails, DYING prints "stopped" if preStop ran
before, STOPPED is the command of preStop."""


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
"""Controller -> API version, and whether a status is the end state. Deployments are checked as web servers (SMK-01)."""
OLDER = {"batch/v1": "batch/v1beta1"}
"""API version -> the one before it: up to Kubernetes 1.20, CronJobs are in batch/v1beta1."""
ONE_REPLICA = ("ReplicaSet", "ReplicationController", "StatefulSet")
JOBS = ("Job", "CronJob")


@dataclass(frozen=True)
class AwaitedObject:
    """A created object, and whether a status of it is the end state."""

    check: str
    os: str
    node: str
    what: str
    path: str
    reached: Callable[[Cluster, Status], bool]
    limit: str = ""
    """Known limit of Windows that prevents the end state; empty if there is none."""


def create(cluster: Cluster, node: Node, linux_image: str) -> Iterator[AwaitedObject]:
    """Create one controller of each kind and a pod that its liveness probe kills, on one node."""
    image = image_of(node, linux_image)
    for kind, (version, done) in CONTROLLERS.items():
        manifest = _controller(kind, version, node, image)
        try:
            created = cluster.create(manifest)
        except Refused as refused:
            if refused.status != 404 or version not in OLDER:
                raise
            created = cluster.create({**manifest, "apiVersion": OLDER[version]})
        path = cluster.path_of(created)
        ended = _due(cluster, created) if kind == "CronJob" else done
        yield AwaitedObject("SMK-13", node.os, node.name, kind, path, lambda _, status, ended=ended: ended(status))
    path = cluster.path_of(cluster.create(_dying(node, image)))
    yield AwaitedObject("SMK-12", node.os, node.name, "liveness probe", path, lambda _, status: _restarts(status) > 0)
    yield AwaitedObject(
        "SMK-12", node.os, node.name, "preStop", path, lambda cluster, status: _stopped(cluster, path, status)
    )


def _due(cluster: Cluster, created: Manifest) -> Callable[[Status], bool]:
    """Make a CronJob due at once, and return whether a status shows that its controller has scheduled it.

    Its controller makes up for the minute since `lastScheduleTime` ("CronJob", "Schedule" in Kubernetes'
    documentation); without one it would wait for the next minute.
    """
    at = datetime.strptime(created["metadata"]["creationTimestamp"], TIME).replace(tzinfo=timezone.utc)
    earlier = (at - timedelta(seconds=90)).strftime(TIME)
    cluster.write_status(cluster.path_of(created), {"lastScheduleTime": earlier})
    return lambda status: status.get("lastScheduleTime") not in (None, earlier)


TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Form of times in Kubernetes' objects, in UTC."""
PROBES: dict[str, Callable[[str], Manifest]] = {
    "http probe": lambda os: {"httpGet": {"path": "/hello", "port": PORTS[os]}},
    "tcp probe": lambda os: {"tcpSocket": {"port": PORTS[os]}},
    "exec probe": lambda os: {"exec": {"command": END[os]}},
}
"""Readiness probes by name, of a web server on a system."""


def probed(cluster: Cluster, node: Node, linux_image: str, *, overlay: bool) -> Iterator[AwaitedObject]:
    """Create a web server with each kind of readiness probe on one node; the kubelet there must find it ready."""
    for what, probe in PROBES.items():
        container: Manifest = {
            "name": "a", "image": image_of(node, linux_image), "command": words(node.os, "serve"),
            "readinessProbe": {**probe(node.os), "periodSeconds": 2, "timeoutSeconds": 5},
        }  # fmt: skip
        name = f"{what.replace(' ', '-')}-{node.name}"
        manifest = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "probed"}},
            "spec": _pod(node, container, "Always"),
        }  # fmt: skip
        path = cluster.path_of(cluster.create(manifest))
        limit = "" if what == "exec probe" else unreached(node, overlay=overlay)
        yield AwaitedObject("SMK-12", node.os, node.name, what, path, lambda _, status: _is_ready(status), limit)


def _is_ready(status: Status) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or [])


def judged(cluster: Cluster, objects: list[AwaitedObject], seconds: float) -> list[Row]:
    """Wait until all objects reach their end state, for at most `seconds`, and return their rows."""
    left = dict(enumerate(objects))

    def all_reached() -> bool:
        for number, item in list(left.items()):
            if item.reached(cluster, cluster.get(item.path).get("status") or {}):
                del left[number]
        return not left

    cluster.until(all_reached, seconds, lambda: ", ".join(f"{item.what} on {item.node}" for item in left.values()))
    return [_row(cluster, item, failed=number in left) for number, item in enumerate(objects)]


def _row(cluster: Cluster, item: AwaitedObject, *, failed: bool) -> Row:
    where, said = f"{item.os} node {item.node}", _status(cluster, item)
    if failed and item.limit:
        return Row(item.check, where, item.what, Verdict.LIMIT, f"{item.limit} ({said})", item.os)
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    return Row(item.check, where, item.what, verdict, said, item.os)


def _status(cluster: Cluster, item: AwaitedObject) -> str:
    status = cluster.get(item.path).get("status") or {}
    return ", ".join(f"{name} {value}" for name, value in status.items() if isinstance(value, int | str))[:120]


def _controller(kind: str, version: str, node: Node, image: str) -> Manifest:
    """Return a controller with one pod: of a Job or CronJob it succeeds, of the others it runs for ever."""
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
        **{name: {"replicas": 1, "selector": selector, "template": pod} for name in ONE_REPLICA},
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
    """Return a pod whose liveness probe always fails. preStop writes a file; the next start prints that it is there."""
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
    return sum(container.get("restartCount", 0) for container in status.get("containerStatuses") or [])


def _stopped(cluster: Cluster, path: str, status: Status) -> bool:
    return _restarts(status) > 0 and "stopped" in cluster.log_so_far(path.rpartition("/")[2], "a")
