"""The last step of a Linux worker's plan, by the real kubectl with the rights of a node."""

import importlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.lab.agent.served import ADVERTISED, Served
from tools.golden.samples import one, plan

pytestmark = pytest.mark.lab

NAME = "linux-9"
MERGE = "application/merge-patch+json"


@pytest.fixture
def kubeconfig(served: Served, tmp_path: Path) -> Path:
    """Return a kubeconfig of the node."""
    who = ("--client-name", f"system:node:{NAME}", "--org", "system:nodes")
    command = [served.programs["kubeadm"], "kubeconfig", "user", *who, "--config", served.config]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    path = tmp_path / "kubelet.conf"
    path.write_text(made.stdout.replace(ADVERTISED, "127.0.0.1"))
    return path


@pytest.fixture
def step(served: Served, api: Any, kubeconfig: Path) -> Iterator[dict[str, Any]]:
    """Return the step's fields with the node's kubeconfig; its Node is removed at the end."""
    planned = one(plan("ubuntu-24.04"), "node-ready")
    assert planned.kind == "node-object"
    assert planned.fields["kubeconfig"] == "/etc/kubernetes/kubelet.conf"
    here = {"kubectl": str(served.programs["kubectl"]), "kubeconfig": str(kubeconfig), "node": NAME}
    yield {**planned.fields, **here}
    if any(node["metadata"]["name"] == NAME for node in api.call("GET", "/api/v1/nodes")["items"]):
        api.call("DELETE", f"/api/v1/nodes/{NAME}")


def create(api: Any) -> None:
    """Create the Node as a kubelet does that is not ready yet."""
    api.call("POST", "/api/v1/nodes", {"metadata": {"name": NAME}})


def report_ready(api: Any) -> None:
    """Set the Node's condition Ready to True."""
    ready = {"type": "Ready", "status": "True"}
    api.call("PATCH", f"/api/v1/nodes/{NAME}/status", {"status": {"conditions": [ready]}}, MERGE)


def test_a_worker_reports_ready_only_once_its_node_is_ready(step: dict[str, Any], api: Any, run: Any) -> None:
    joining, failure = importlib.import_module("kinds.joining"), importlib.import_module("failure").Failure
    create(api)
    run.try_for(60)
    assert "Ready" in joining.missing(run, step)
    run.try_for(-1)
    with pytest.raises(failure, match="did not change") as refused:
        joining.make_node(run, step)
    assert refused.value.name == "node-not-ready"
    report_ready(api)
    run.try_for(60)
    assert joining.node_holds(run, step)


def test_a_worker_waits_for_its_certificate_for_the_api_and_for_a_late_node(
    step: dict[str, Any], kubeconfig: Path, api: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    joining = importlib.import_module("kinds.joining")
    whole, seen = kubeconfig.read_text(), list[str]()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # without listen: connections are refused
        refusing = yaml.safe_load(whole)
        refusing["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{silent.getsockname()[1]}"
        user = dict(refusing["users"][0]["user"])
        absent = f"{kubeconfig.parent}/kubelet-client-current.pem"
        refusing["users"][0]["user"] = {"client-certificate": absent, "client-key": absent}
        kubeconfig.write_text(yaml.safe_dump(refusing))

        def join() -> None:
            refusing["users"][0]["user"] = user
            kubeconfig.write_text(yaml.safe_dump(refusing))

        events: Iterator[Callable[[], object]] = iter(
            (join, lambda: kubeconfig.write_text(whole), lambda: create(api), lambda: report_ready(api))
        )

        def next_event(_seconds: float) -> None:
            seen.append(joining.missing(run, step))
            next(events)()

        monkeypatch.setattr(joining, "time", SimpleNamespace(sleep=next_event, monotonic=time.monotonic))
        run.try_for(60)
        joining.make_node(run, step)
    expected = ("kubelet-client-current.pem", "refused", "NotFound", "Ready")
    assert [word in said for word, said in zip(expected, seen, strict=True)] == [True] * 4, seen
