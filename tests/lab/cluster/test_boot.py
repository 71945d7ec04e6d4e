"""`mullion sandbox boot` itself: a stack of each cloud by the command, judged by `mullion verify`, until it is gone."""

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
    """The clone whose stack the command booted, and what it printed."""
    clone = Clone(tmp_path_factory.mktemp("boot"), request.param)
    clone.mullion("up", clone.stack, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
    try:
        said = clone.mullion("sandbox", "boot", clone.stack)
        for each in supervision.disks(clone.sandbox).iterdir():
            kept = each / "cgroups"  # Windows machines have none
            clone.groups += [Path(line) for line in (kept.read_text().splitlines() if kept.exists() else ())]
        yield clone, said
    finally:
        clone.mullion("down", clone.stack, "--sandbox", "--yes")


def test_the_command_tells_each_machines_progress_and_shows_the_nodes(
    booted: tuple[Clone, str], kubernetes: str
) -> None:
    _, said = booted
    for name in ("control-plane-0", "linux-0"):
        assert f"{name}: ready" in said
        assert any(
            line.startswith(name) and " Ready " in line and f"v{kubernetes}" in line for line in said.splitlines()
        )
    assert (f"web-0: not booted: {why_not('web-0')}" if why_not("web-0") else "web-0: registered") in said
    assert "Imitated:" in said


def test_verify_finds_a_working_cluster_and_leaves_nothing_in_it(booted: tuple[Clone, str]) -> None:
    clone, _ = booted
    found = json.loads(clone.mullion("verify", clone.stack, "--json"))
    assert found["failed"] == 0
    passed = {row["check"] for row in found["rows"] if row["verdict"] == "passed"}
    assert passed >= {"SMK-02", "SMK-03", "SMK-04", "SMK-05", "SMK-06", "SMK-07", "SMK-08", "SMK-09", "SMK-10"}
    assert passed >= {"SMK-01", "SMK-12", "SMK-13", "SMK-14", "metadata", "packet-size"}


SUITE = """#!/bin/sh
case "$*" in *--provider=skeleton*--node-os-distro=windows*--report-dir=*) ;; *) exit 2 ;; esac
exec {kubectl} "$2" get nodes --output name
"""
"""In the place of Kubernetes' own suite, whose Windows containers cannot run here: it asks the API as that would."""


def test_verify_after_a_reboot_of_each_machine_and_by_a_suite_with_a_kubeconfig_of_this_host(
    booted: tuple[Clone, str], kubernetes: str
) -> None:
    clone, _ = booted
    (kubectl,) = (each for each in cluster_programs(kubernetes) if (each.name, each.os) == ("kubectl", "linux"))
    suite, before = clone.folder / "e2e.test", clone.machines()
    suite.write_text(SUITE.format(kubectl=build.place(kubectl)))
    suite.chmod(0o755)
    found = json.loads(clone.mullion("verify", clone.stack, "--json", "--reboot", "--upstream", str(suite)))
    assert found["failed"] == 0
    rows = [(row["check"], row["verdict"], row["where"].endswith(", rebooted")) for row in found["rows"]]
    assert rows[-1] == ("SMK-15", "passed", False)
    # pods, which some rows name, are others each time
    first, again = ({row[:2] for row in rows[:-1] if row[2] is rebooted} for rebooted in (False, True))
    assert first == again
    (log,) = clone.folder.rglob("e2e.log")
    assert set(log.read_text().split()) == {f"node/{name}" for name in before}
    assert clone.machines() == before, "each is as it was"


def test_a_machine_that_scale_makes_boots_and_one_that_it_deletes_is_gone(booted: tuple[Clone, str]) -> None:
    clone, _ = booted
    clone.mullion("scale", clone.stack, "linux", "2", "--sandbox", "--yes")
    until(lambda: clone.machines().get("linux-1", {}).get("record") == "ready", "the new worker is ready")
    clone.mullion("scale", clone.stack, "linux", "1", "--sandbox", "--yes")
    until(lambda: "linux-1" not in clone.machines(), "the worker is gone")
    assert not list(supervision.disks(clone.sandbox).glob("linux-1-*"))


def test_who_kills_the_keeper_finds_everything_ended_by_the_next_command_and_can_boot_again(
    booted: tuple[Clone, str],
) -> None:
    clone, _ = booted
    pid = supervision.supervisor_pid(clone.sandbox)
    assert pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: supervision.supervisor_pid(clone.sandbox) is None, "the supervisor has ended")
    assert clone.remains()["processes"], "machines run on"
    clone.mullion("sandbox", "stop", clone.stack)
    assert clone.remains() == {what: [] for what in clone.remains()}
    assert "linux-0: ready" in clone.mullion("sandbox", "boot", clone.stack)
    clone.mullion("sandbox", "stop", clone.stack)
    assert clone.remains() == {what: [] for what in clone.remains()}
