"""Concerns that take minutes wait while the machine changes."""

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from components.node import agent
from tests.agent.cluster import Cluster
from tests.agent.test_rounds import record, start
from tests.cloud_init.cloud import FakeCloud

__all__ = ["start"]


def test_nothing_long_begins_while_kubeadm_may_copy_etcds_folder(
    start: Callable[[], Any], cluster: Cluster, cloud: FakeCloud, root: Path
) -> None:
    """`cp -r /var/lib/etcd` fails if a snapshot or a drill vanishes meanwhile, and the machine's turn with it."""
    cluster.node("control-plane-0")
    running, turn = start(), root / agent.TURN.lstrip("/")
    running.following.step = lambda *_: "the executor runs"
    turn.write_text("{}")
    left = root / "var/lib/etcd/drill"
    left.mkdir()
    for _ in range(2):
        running.round()
    assert "snapshots" not in record(cloud)["agent"] and not set(module_of(running).LONG) & running.measures.concerns
    assert left.exists()
    moment = time.time() - 1801
    os.utime(turn, (moment, moment))
    running.round()
    assert record(cloud)["agent"]["snapshots"]["count"] == 1, (
        "a turn that has stopped keeps no cluster without snapshots"
    )
    assert not left.exists()


def module_of(running: Any) -> Any:
    """Return the agent's main module."""
    return importlib.import_module(type(running).__module__)
