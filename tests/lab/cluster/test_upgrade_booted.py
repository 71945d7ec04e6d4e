"""`mullion upgrade` of a booted stack: one command brings every node to the next minor version."""

import json
from collections.abc import Callable
from typing import NoReturn

import pytest

from lab import cluster as programs
from lab.linuxnode.image import lacking
from operations.engine.locate import Engine
from tests.lab.cluster.clone import Clone

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

STACK = "plain"


def versions(said: str) -> dict[str, str]:
    """Return kubelet versions by node, from the output of `kubectl get nodes`."""
    rows = (line.split() for line in said.splitlines())
    return {row[0]: row[4].removeprefix("v") for row in rows if len(row) > 5 and row[1] == "Ready"}


def test_one_command_upgrades_a_booted_cluster_without_windows_by_one_minor(
    kubernetes: str, missing: Callable[[str, str], NoReturn], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Programs come from the mirror and images from its registry; the new worker is booted, the old one drained."""
    if kubernetes not in programs.BEFORE:
        pytest.skip(f"no upgrade to {kubernetes} is tested, only to {', '.join(programs.BEFORE)}")
    before = programs.BEFORE[kubernetes][-1]
    if why := lacking():
        missing("linuxnode", why)
    for each in (before, kubernetes):
        if not programs.is_built(each, programs.LINUX):
            missing("lab", f"there is no cluster of {each}; run: python -m lab before {kubernetes}")
    pools = {"linux": {"os": "ubuntu-24.04", "count": 1}}
    cluster = {"cloud": "aws", "kubernetes": before, "pools": pools}
    clone = Clone(tmp_path_factory.mktemp("upgrade"), STACK, cluster)
    clone.mullion("up", STACK, "--sandbox", "--yes", "--bootable")
    try:
        nodes = ("control-plane-0", "linux-0")
        assert versions(clone.mullion("sandbox", "boot", STACK)) == dict.fromkeys(nodes, before)
        instance = clone.machines()["linux-0"]["instance"]
        output = clone.mullion("upgrade", STACK, kubernetes, "--sandbox", "--yes")
        assert "the second stage: pools" in output
        assert versions(clone.mullion("sandbox", "boot", STACK)) == dict.fromkeys(nodes, kubernetes)
        assert clone.machines()["linux-0"]["instance"] != instance, "the worker was replaced"
        assert json.loads(clone.mullion("verify", STACK, "--json"))["failed"] == 0
    finally:
        clone.mullion("down", STACK, "--sandbox", "--yes")
    assert clone.remains() == {what: [] for what in clone.remains()}
