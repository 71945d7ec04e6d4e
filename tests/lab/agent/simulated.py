"""Nodes without machines: kwok reports them as healthy by status and lease, as their kubelets would."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

MARK = {"simulated": "kwok"}
"""Label of the Nodes that kwok keeps healthy; others get no reports."""

HEARTBEAT: dict[str, Any] = {
    "apiVersion": "kwok.x-k8s.io/v1alpha1",
    "kind": "Stage",
    "metadata": {"name": "heartbeat"},
    "spec": {
        "resourceRef": {"apiGroup": "v1", "kind": "Node"},
        "selector": {"matchExpressions": [{"key": ".metadata.name", "operator": "Exists"}]},
        "delay": {"durationMilliseconds": 3000},
        "next": {
            "statusTemplate": "conditions: [{type: Ready, status: 'True', reason: KubeletReady, message: simulated,"
            " lastHeartbeatTime: {{ Now | Quote }}, lastTransitionTime: {{ .metadata.creationTimestamp | Quote }}}]"
        },
    },
}


@contextmanager
def kubelets(kwok: Path, kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run kwok without a port of its own."""
    config, log = folder / "kwok.yaml", folder / "kwok.log"
    config.write_text(yaml.safe_dump(HEARTBEAT))
    selected = ",".join(f"{key}={value}" for key, value in MARK.items())
    words = ["--config", config, "--kubeconfig", kubeconfig, "--manage-nodes-with-label-selector", selected]
    with (
        log.open("wb") as said,
        subprocess.Popen(
            [kwok, *words, "--manage-all-nodes=false", "--node-port=0", "--node-lease-duration-seconds=40"],
            env={"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        ) as process,
    ):
        try:
            yield
            assert process.poll() is None, log.read_text("utf-8", "replace")
        finally:
            process.kill()
