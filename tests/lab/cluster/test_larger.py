"""Larger stacks, booted by the command: each machine reaches its pool's gate, and `mullion verify` finds no failure."""

import json
from typing import Any

import pytest

from operations.engine.locate import Engine
from sandbox.boot import windows
from tests.lab.cluster.clone import Clone
from tests.lab.cluster.running import THREE

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

BOTH_RUNTIMES: dict[str, Any] = {
    **THREE,
    "pools": {
        **THREE["pools"],
        "web": {"os": "windows-2022", "count": 1},
        "legacy": {"os": "windows-2019", "runtime": "docker", "count": 1},
    },
}
"""Three control planes, and Windows workers with containerd and with Docker (through cri-dockerd from Kubernetes 1.24
on)."""
STACKS: dict[str, dict[str, Any] | None] = {"runtimes": BOTH_RUNTIMES, "aws-prod": None}
"""Clusters by stack name; None for a stack of the repository."""
LINUX = ("control-plane-", "linux-")
"""Prefixes of machine names."""


@pytest.mark.parametrize("stack", STACKS)
def test_every_machine_is_as_planned_and_verify_finds_no_fault(
    stack: str, built: str, kubernetes: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster = STACKS[stack]
    own = cluster and {**cluster, "kubernetes": kubernetes}
    clone = Clone(tmp_path_factory.mktemp("larger"), stack, own)
    clone.mullion("up", stack, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
    try:
        output = clone.mullion("sandbox", "boot", stack)
        of_windows = "registered" if windows.tool() else "absent"
        states = {name: each["record"] for name, each in clone.machines().items()}
        assert states == {name: "ready" if name.startswith(LINUX) else of_windows for name in states}
        assert sum(line.startswith("control-plane-") and " Ready " in line for line in output.splitlines()) == 3
        assert json.loads(clone.mullion("verify", stack, "--json"))["failed"] == 0
    finally:
        clone.mullion("down", stack, "--sandbox", "--yes", "--confirm", stack)
    assert clone.remains() == {what: [] for what in clone.remains()}
