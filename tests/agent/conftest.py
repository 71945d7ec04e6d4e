"""The agent's modules, a run of the executor, the cloud's services, and a cluster."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.agent.cluster import KEY, Cluster
from tests.agent.machines import ControlPlanes
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.conftest import cloud, loader, node, programs, root

__all__ = ["KEY", "cloud", "loader", "node", "programs", "root"]


@pytest.fixture
def module(loader: ModuleType) -> Callable[[str], ModuleType]:
    """Return a function that imports a module of the agent; `loader` made them importable."""
    return lambda name: importlib.import_module(f"agent.{name}")


@pytest.fixture
def cluster() -> Cluster:
    """Return the API of this test's cluster."""
    return Cluster()


@pytest.fixture
def run(loader: ModuleType, cloud: FakeCloud, root: Path) -> Any:
    """Return a run of the executor on control-plane-0."""
    facts = {**cloud.facts, "desired_state_secret": "desired-state"}
    cloud.secrets["desired-state"] = KEY
    (root / "opt/mullion").mkdir(parents=True)
    told = {"machine": {"name": "control-plane-0", "address": "10.20.64.10"}, "facts": facts}
    (root / "opt/mullion/machine.json").write_text(json.dumps(told))
    made = importlib.import_module("run").Run(root, told, {})
    made.try_for(60)
    return made


@pytest.fixture
def control_planes(
    module: Callable[[str], ModuleType],
    run: Any,
    cluster: Cluster,
    cloud: FakeCloud,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ControlPlanes:
    """Return three control planes of one cluster; `module` made their agents' modules importable."""
    return ControlPlanes(tmp_path, cluster, cloud, run, monkeypatch)
