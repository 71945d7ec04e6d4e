"""Spot machines on Linux: the notice of each cloud, and the drain after it."""

import argparse
import importlib
import time
from pathlib import Path
from types import ModuleType

import pytest

from sandbox import interruptions
from sandbox.records import Record
from tests.cloud_init.cloud import EACH_CLOUD, FakeCloud

pytestmark = pytest.mark.subprocess

KUBECTL = """#!/bin/sh
echo "$@" >> "$0.calls"
test "$(wc -l < "$0.calls")" -ge 2
"""
"""A kubectl that refuses the first time, as the API refuses a node that reads a pod that is gone."""


def module() -> ModuleType:
    return importlib.import_module("interruption")


def itself(cloud: FakeCloud) -> Record:
    """Return the test's own machine in its cloud."""
    [found] = [each for each in cloud.objects.cloud_state.resources() if each.id == cloud.account.machine]
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return the path of the stand-in of kubectl."""
    path = tmp_path / "kubectl"
    path.write_text(KUBECTL)
    path.chmod(0o755)
    return path


def drain(program: Path, seconds: float) -> tuple[bool, list[str]]:
    options = argparse.Namespace(kubectl=str(program), kubeconfig="/k/node.conf", grace=20)
    done = module().drain(module().command(options, "web-0"), seconds)
    return done, Path(f"{program}.calls").read_text().splitlines()


@EACH_CLOUD
@pytest.mark.usefixtures("node")
def test_a_machine_learns_that_its_cloud_takes_it_back(cloud: FakeCloud) -> None:
    own = importlib.import_module("clouds").CLOUDS[cloud.facts["cloud"]]
    assert own.interrupted() is False
    interruptions.announce(cloud.objects.cloud_state, itself(cloud), time.time() + 30)
    assert own.interrupted() is True
    interruptions.withdraw(cloud.objects.cloud_state, itself(cloud))
    assert own.interrupted() is False


@pytest.mark.usefixtures("node")
def test_a_drain_is_repeated_until_it_succeeds(program: Path) -> None:
    done, calls = drain(program, 20)
    assert done and len(calls) == 2
    assert calls[0].startswith("--kubeconfig /k/node.conf --request-timeout=5s drain web-0 ")
    assert "--pod-selector=!pod-template-generation --force --delete-emptydir-data --grace-period=20" in calls[0]


@pytest.mark.usefixtures("node")
def test_a_drain_ends_with_the_notice(program: Path) -> None:
    program.write_text(KUBECTL.replace("-ge 2", "-ge 99999"))
    begun = time.monotonic()
    done, calls = drain(program, 1.5)
    assert not done and len(calls) > 1 and time.monotonic() - begun < 4


@EACH_CLOUD
def test_the_service_drains_the_node_of_its_machine_after_the_notice(
    node: ModuleType, cloud: FakeCloud, root: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "place", lambda _: (root, {"machine": {"name": "web-0"}, "facts": cloud.facts}))
    state, machine, asked = cloud.objects.cloud_state, itself(cloud), list[float]()

    def sleep(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) == 3:  # meanwhile the service asks, and there is no notice
            assert not Path(f"{program}.calls").exists()
            interruptions.announce(state, machine, time.time() + 30)

    monkeypatch.setattr(module().time, "sleep", sleep)
    words = ["--seconds", "20", "--grace", "-1", "--kubectl", str(program), "--kubeconfig", "/k/node.conf"]
    module().main(words, root)
    assert asked[:3] == [module().EVERY] * 3
    assert [line.split()[4] for line in Path(f"{program}.calls").read_text().splitlines()] == ["web-0", "web-0"]
