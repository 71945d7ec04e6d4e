"""`mullion sandbox boot`: the command boots a stack of each cloud, `mullion verify` judges it, until `mullion down`."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import build
from lab.programs import cluster_programs
from operations.engine.locate import Engine
from sandbox.boot import supervision
from sandbox.boot.windows.hosts import why_not
from tests.awaited import until
from tests.lab.cluster.clone import Clone

pytestmark = [pytest.mark.lab, pytest.mark.soak, pytest.mark.engine]

STACKS = ("aws-dev", "gcp-dev", "azure-dev")


@pytest.fixture(scope="module", params=STACKS)
def booted(
    request: pytest.FixtureRequest, built: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Clone, str]]:
    """Return the clone whose stack the command booted, and the command's output."""
    clone = Clone(tmp_path_factory.mktemp("boot"), request.param)
    clone.mullion("up", clone.stack, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
    try:
        output = clone.mullion("sandbox", "boot", clone.stack)
        for each in supervision.disks(clone.sandbox).iterdir():
            groups = each / "cgroups"  # Windows machines have none
            clone.groups += [Path(line) for line in (groups.read_text().splitlines() if groups.exists() else ())]
        yield clone, output
    finally:
        clone.mullion("down", clone.stack, "--sandbox", "--yes")


def test_the_command_prints_each_machines_progress_and_the_nodes(booted: tuple[Clone, str], kubernetes: str) -> None:
    _, output = booted
    for name in ("control-plane-0", "linux-0"):
        assert f"{name}: ready" in output
        assert any(
            line.startswith(name) and " Ready " in line and f"v{kubernetes}" in line for line in output.splitlines()
        )
    assert (f"web-0: not booted: {why_not('web-0')}" if why_not("web-0") else "web-0: registered") in output
    assert "Imitated:" in output


def test_verify_finds_a_working_cluster_and_leaves_no_object_in_it(booted: tuple[Clone, str]) -> None:
    clone, _ = booted
    report = json.loads(clone.mullion("verify", clone.stack, "--json"))
    assert report["failed"] == 0
    passed = {row["check"] for row in report["rows"] if row["verdict"] == "passed"}
    assert passed >= {"SMK-02", "SMK-03", "SMK-04", "SMK-05", "SMK-06", "SMK-07", "SMK-08", "SMK-09", "SMK-10"}
    assert passed >= {"SMK-01", "SMK-12", "SMK-13", "SMK-14", "metadata", "packet-size"}


def test_snapshot_stores_one_that_restore_lists(booted: tuple[Clone, str]) -> None:
    clone, _ = booted
    printed = clone.mullion("snapshot", clone.stack)
    key = printed.partition(f"{clone.stack}: stored ")[2].split()[0]
    assert key in clone.mullion("restore", clone.stack, "--list", "--sandbox").split()


SUITE = """#!/bin/sh
case "$*" in *--provider=skeleton*--node-os-distro=windows*--report-dir=*) ;; *) exit 2 ;; esac
exec {kubectl} "$2" get nodes --output name
"""
"""Stand-in for Kubernetes' own suite, whose Windows containers cannot run here: it makes the suite's API request."""


def test_verify_after_a_reboot_of_each_machine_and_by_a_suite_with_a_kubeconfig_of_this_host(
    booted: tuple[Clone, str], kubernetes: str
) -> None:
    clone, _ = booted
    (kubectl,) = (each for each in cluster_programs(kubernetes) if (each.name, each.os) == ("kubectl", "linux"))
    suite, before = clone.folder / "e2e.test", clone.machines()
    suite.write_text(SUITE.format(kubectl=build.place(kubectl)))
    suite.chmod(0o755)
    report = json.loads(clone.mullion("verify", clone.stack, "--json", "--reboot", "--upstream", str(suite)))
    assert report["failed"] == 0
    rows = [(row["check"], row["verdict"], row["where"].endswith(", rebooted")) for row in report["rows"]]
    assert rows[-1] == ("SMK-15", "passed", False)
    # rows that name pods differ: pods are new each time
    first, again = ({row[:2] for row in rows[:-1] if row[2] is rebooted} for rebooted in (False, True))
    assert first == again
    (log,) = clone.folder.rglob("e2e.log")
    assert set(log.read_text().split()) == {f"node/{name}" for name in before}
    assert clone.machines() == before, "each machine is unchanged"


def test_a_machine_created_by_scale_boots_and_a_deleted_one_is_removed(booted: tuple[Clone, str]) -> None:
    clone, _ = booted
    clone.mullion("scale", clone.stack, "linux", "2", "--sandbox", "--yes")
    until(lambda: clone.machines().get("linux-1", {}).get("record") == "ready", "the new worker is ready")
    clone.mullion("scale", clone.stack, "linux", "1", "--sandbox", "--yes")
    until(lambda: "linux-1" not in clone.machines(), "the worker is gone")
    assert not list(supervision.disks(clone.sandbox).glob("linux-1-*"))


def test_after_the_supervisor_is_killed_the_next_command_ends_all_machines_and_they_can_boot_again(
    booted: tuple[Clone, str],
) -> None:
    clone, _ = booted
    pid = supervision.supervisor_pid(clone.sandbox)
    assert pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: supervision.supervisor_pid(clone.sandbox) is None, "the supervisor has ended")
    assert clone.remains()["processes"], "machines still run"
    clone.mullion("sandbox", "stop", clone.stack)
    assert clone.remains() == {what: [] for what in clone.remains()}
    assert "linux-0: ready" in clone.mullion("sandbox", "boot", clone.stack)
    clone.mullion("sandbox", "stop", clone.stack)
    assert clone.remains() == {what: [] for what in clone.remains()}
