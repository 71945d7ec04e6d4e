"""A booted cluster with spot machines of both systems, and pods on them."""

import json
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from components.spec.choices import Cloud
from components.stack_files.stack import CLUSTER
from lab.linuxnode import machine as linuxnode
from operations.stacks.paths import REPOSITORY
from sandbox.boot import supervision
from sandbox.boot.machine import KUBECTL
from tests.awaited import until
from tests.lab.cluster.asking import IMAGE, condition
from tests.lab.cluster.clone import Clone

STAYS, LINUX, WINDOWS = "linux-0", "batch-0", "web-0"
TAKEN = {LINUX, WINDOWS}
"""Spot machines."""
END_SECONDS = 5
"""Time that a pod takes to end."""
COMMAND_SECONDS = 20
"""Longest time from a machine's end to the end of the command that interrupts it, on busy cores."""
SERVES = f"trap 'busybox sleep {END_SECONDS}; exit 0' TERM; while :; do busybox sleep 1; done"
TOLERATED = ("node.kubernetes.io/not-ready", "os")
"""Taints of the lab's Windows Nodes; a cordoned one has another."""
SPOT = {"matchExpressions": [{"key": "mullion.dev/spot", "operator": "Exists"}]}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": SPOT}]}


def config(cloud: str) -> dict[str, Any]:
    """Return the configuration of CLOUD-dev with a spot pool of each system, beside its Linux pool."""
    whole = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{cloud}-dev.yaml").read_text("utf-8"))["config"]
    pools = whole[CLUSTER]["pools"]
    taken = {"batch": {**pools["linux"], "spot": True}, "web": {**pools["web"], "spot": True}}
    return {**whole, CLUSTER: {**whole[CLUSTER], "pools": {**pools, **taken}}}


def objects(name: str, replicas: int, *, available: int = 0, windows: bool = False) -> list[dict[str, Any]]:
    """Return a Deployment whose pods prefer spot machines. available: the least number that its budget keeps."""
    labels = {"matchLabels": {"app": name}}
    serving = {"name": "app", "image": IMAGE, "command": ["/bin/busybox", "sh", "-c", SERVES]}
    pod: dict[str, Any] = {
        "containers": [{"name": "app", "image": "app.invalid/app"} if windows else serving],
        "nodeSelector": {"kubernetes.io/os": "windows" if windows else "linux"},
        "tolerations": [{"key": key, "operator": "Exists"} for key in TOLERATED] if windows else [],
        "affinity": {"nodeAffinity": PREFERRED},
        "terminationGracePeriodSeconds": 3 * END_SECONDS,
    }
    template = {"metadata": {"labels": labels["matchLabels"]}, "spec": pod}
    spec = {"replicas": replicas, "selector": labels, "template": template}
    metadata = {"name": name, "namespace": "default"}
    found: list[dict[str, Any]] = [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}]
    if available:
        budget = {"minAvailable": available, "selector": labels}
        found.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget})
    return found


WORK = [
    *objects("moved", 1),
    *objects("guarded", 2, available=1),
    *objects("kept", 1, available=1),
    *objects("waiting", 1, windows=True),
]
ON = {"moved": LINUX, "guarded": LINUX, "kept": LINUX, "waiting": WINDOWS}
"""Machines of the pods before the notice, by Deployment."""


class Spot(Clone):
    """The clone with a booted cluster that has spot machines."""

    def __init__(self, folder: Path, cloud: str) -> None:
        super().__init__(folder, f"{cloud}-dev")
        file = folder / "stacks" / f"Pulumi.{self.stack}.yaml"
        file.write_text(yaml.safe_dump({"config": config(cloud)}), "utf-8")
        self.notice = Cloud(cloud).facts.spot_notice_seconds

    def kubectl(self, *words: str, given: str | None = None) -> str:
        """Run kubectl on the control plane; return its output. Raises RuntimeError with its error if it fails."""
        (disk,) = supervision.disks(self.sandbox).glob("control-plane-0-*")
        argv = linuxnode.command(disk, [*KUBECTL, *words])
        ran = subprocess.run(argv, input=given, capture_output=True, text=True, check=False, timeout=60)
        if ran.returncode:
            raise RuntimeError(f"kubectl {' '.join(words)}: {ran.stderr.strip()}")
        return ran.stdout

    def items(self, kinds: str) -> list[dict[str, Any]]:
        """Return the objects of these kinds."""
        return json.loads(self.kubectl("get", kinds, "--output", "json"))["items"]

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return Node objects by name."""
        return {each["metadata"]["name"]: each for each in self.items("nodes")}

    def pods(self, name: str) -> list[dict[str, Any]]:
        """Return the pods of a Deployment that are not being deleted."""
        there = [each for each in self.items("pods") if each["metadata"]["labels"]["app"] == name]
        return [each for each in there if "deletionTimestamp" not in each["metadata"]]

    def names(self, name: str) -> set[str]:
        """Return the names of these pods."""
        return {each["metadata"]["name"] for each in self.pods(name)}

    def places(self, name: str) -> list[str]:
        """Return the Nodes of those of these pods that are ready; on Windows, of those that are bound to one."""
        there = [each for each in self.pods(name) if ON[name] == WINDOWS or condition(each, "Ready") == "True"]
        return [each["spec"]["nodeName"] for each in there if "nodeName" in each["spec"]]

    def begin(self) -> None:
        """Run the pods, on the spot machines."""
        until(lambda: self.kubectl("get", "serviceaccount", "default"), "the namespace's account")
        self.kubectl("cordon", STAYS)
        self.kubectl("apply", "--filename", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": WORK}))
        for name, node in ON.items():
            wanted = [node] * (2 if name == "guarded" else 1)
            until(lambda name=name, wanted=wanted: self.places(name) == wanted, f"{name} runs on {node}")
        self.kubectl("uncordon", STAYS)
        until(lambda: self.evictable() == {"guarded": 1, "kept": 0}, "the budgets are counted")

    def evictable(self) -> dict[str, int]:
        """Return the number of evictions that each budget allows."""
        found = self.items("poddisruptionbudgets")
        return {each["metadata"]["name"]: each["status"]["disruptionsAllowed"] for each in found}

    def interrupt(self, *more: str, meanwhile: Callable[[], None] = lambda: None) -> tuple[float, float]:
        """Let the cloud take both spot machines back; return the Unix times of the notices and of the commands' end."""
        runs = [
            subprocess.Popen(
                self.argv("sandbox", "interrupt", self.stack, name, *more),
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in sorted(TAKEN)
        ]
        for run in runs:
            assert run.stdout and "was told that it ends in" in run.stdout.readline()
        notice = time.time()
        while any(run.poll() is None for run in runs):
            meanwhile()
            time.sleep(0.5)
        assert [run.wait() for run in runs] == [0, 0]
        return notice, time.time()

    def requests(self, node: str, since: float, *asked: str) -> list[tuple[float, str, int]]:
        """Return when a machine made requests as its node, their objects and their status codes.

        asked: verb and resource, with its subresource.
        """
        found: list[tuple[float, str, int]] = []
        for line in self.audit_lines():
            if f'"system:node:{node}"' not in line:
                continue
            entry = json.loads(line)
            thing = entry.get("objectRef", {})
            resource = "/".join(filter(None, (thing.get("resource"), thing.get("subresource"))))
            at = datetime.fromisoformat(entry["requestReceivedTimestamp"].replace("Z", "+00:00")).timestamp()
            if at > since and (entry["verb"], resource) == asked:
                found.append((at - since, thing.get("name", ""), entry["responseStatus"]["code"]))
        return found
