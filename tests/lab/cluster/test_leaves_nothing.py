"""Leftovers of machines and their network on the host after they end."""

from pathlib import Path

import pytest

from lab.linuxnode import network
from operations.engine.locate import Engine
from tests.lab.cluster.running import running

pytestmark = [pytest.mark.lab, pytest.mark.engine]


def left(folder: Path, net: str, groups: list[Path]) -> dict[str, list[str]]:
    """Return leftovers on this host: of machines below the folder, in the network `net`; groups: their control
    groups."""
    processes: list[str] = []
    for mounts in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if str(folder) in mounts.read_text():
                processes.append(mounts.parent.name)
        except OSError:
            continue  # the process has ended
    spaces = [line.split()[0] for line in network.run("netns", "list").splitlines()]
    return {
        "control groups": [str(group) for group in groups if group.exists()],
        "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line],
        "network namespaces": [name for name in spaces if name.startswith(net)],
        "processes": processes,
    }


def test_machines_that_end_leave_no_process_mount_namespace_or_control_group(
    engine: Engine, built: str, tmp_path: Path
) -> None:
    with running(tmp_path / "booted", "aws-dev", built) as booted:
        head, net = booted.machine(booted.machine_names("control-plane")[0]), booted.net
        head.boot()
        groups = [Path(line) for line in (head.folder / "cgroups").read_text().splitlines()]
        during = left(tmp_path, net, groups)
    assert (len(during["control groups"]), len(during["network namespaces"])) == (len(groups), 2)
    assert groups, "the running machine has some"
    assert during["processes"], "those of the machine are found"
    assert left(tmp_path, net, groups) == {what: [] for what in during}
    assert not (tmp_path / "booted" / "machines").exists()
