"""The last step of a Linux worker's plan, by the real kubectl with the rights of a node."""

import importlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.agent.served import ADVERTISED, Served
from tools.golden.samples import one, plan

pytestmark = pytest.mark.lab

NAME = "linux-9"
MERGE = "application/merge-patch+json"


@pytest.fixture
def argv(served: Served, api: Any, tmp_path: Path) -> Iterator[list[str]]:
    """Return the step's command with a kubeconfig of the node; its Node exists and is not Ready."""
    who = ("--client-name", f"system:node:{NAME}", "--org", "system:nodes")
    command = [served.programs["kubeadm"], "kubeconfig", "user", *who, "--config", served.config]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    kubeconfig = tmp_path / "kubelet.conf"
    kubeconfig.write_text(made.stdout.replace(ADVERTISED, "127.0.0.1"))
    api.call("POST", "/api/v1/nodes", {"metadata": {"name": NAME}})
    step = one(plan("ubuntu-24.04"), "node-ready").fields
    words = [NAME if isinstance(word, dict) else word for word in step["argv"]]
    assert words[2] == "/etc/kubernetes/kubelet.conf"
    patient = [word.replace("840s", "3s") for word in words[3:]]
    yield [str(served.programs["kubectl"]), "--kubeconfig", str(kubeconfig), *patient]
    api.call("DELETE", f"/api/v1/nodes/{NAME}")


def test_a_worker_reports_ready_only_once_its_node_is_ready(argv: list[str], api: Any, run: Any) -> None:
    commands = importlib.import_module("kinds.commands")
    failure = importlib.import_module("failure").Failure
    step = {"argv": argv, "message": "the Node is not Ready"}
    run.try_for(60)
    with pytest.raises(failure, match="the Node is not Ready"):
        commands.probe_holds(run, step)
    ready = {"type": "Ready", "status": "True"}
    api.call("PATCH", f"/api/v1/nodes/{NAME}/status", {"status": {"conditions": [ready]}}, MERGE)
    assert commands.probe_holds(run, step)
