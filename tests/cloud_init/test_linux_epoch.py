"""Programs that watch the cluster restart once after each restore, on every Linux machine."""

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.linux import Programs, put

FOLLOWED = "var/lib/mullion/epoch"
OBJECT = "/bundles/epoch.json"
CONTAINERS = ("kube-proxy", "flannel", "coredns", "metrics-server")
RESTARTS = ["systemctl try-restart kubelet.service", *(f"/usr/local/bin/crictl stop {each}" for each in CONTAINERS)]


@pytest.fixture
def follow(node: ModuleType, programs: Programs, root: Path, cloud: FakeCloud) -> Callable[[], list[str]]:
    """Return a function that follows the epoch once and returns what it restarted."""
    put(root, "/usr/local/bin/crictl", "")
    running = (*CONTAINERS, "web")

    def listed() -> None:
        """Answer as crictl does: with the containers whose names match."""
        said = [each for each in running if re.search(programs.asked[-1][-1], each)]
        programs.answers["/usr/local/bin/crictl ps"] = (0, "\n".join(said))

    programs.effects["/usr/local/bin/crictl ps"] = listed
    facts = {"cloud": "aws", "world": "sandbox", "bundle_store": f"{cloud.url}/bundles"}

    def look() -> list[str]:
        programs.asked.clear()
        importlib.import_module("epoch").follow({"facts": facts, "machine": {}}, root)
        return [" ".join(each) for each in programs.asked if "restart" in each[1] or each[1] == "stop"]

    return look


def test_programs_that_watch_the_cluster_restart_once_for_each_epoch(
    follow: Callable[[], list[str]], cloud: FakeCloud, root: Path
) -> None:
    assert follow() == [], "no restore has happened"
    for epoch in (4, 7):
        cloud.objects[OBJECT] = json.dumps({"epoch": epoch}).encode()
        assert follow() == RESTARTS
        assert (root / FOLLOWED).read_text() == str(epoch)
        assert follow() == [], "once"
    assert not cloud.refused()


@pytest.mark.parametrize("content", [b"", b"no json", b"[]", b'{"epoch": "x; reboot"}', b'{"epoch": null}', b"7"])
def test_an_invalid_epoch_changes_nothing(
    follow: Callable[[], list[str]], cloud: FakeCloud, root: Path, content: bytes
) -> None:
    cloud.objects[OBJECT] = content
    assert follow() == []
    assert not (root / FOLLOWED).exists()


def test_a_failed_restart_is_retried(
    follow: Callable[[], list[str]], cloud: FakeCloud, root: Path, programs: Programs
) -> None:
    cloud.objects[OBJECT] = b'{"epoch": 4}'
    programs.answers["systemctl try-restart"] = (1, "")
    failure = importlib.import_module("failure").Failure
    with pytest.raises(failure, match="try-restart"):
        follow()
    assert not (root / FOLLOWED).exists()
    del programs.answers["systemctl try-restart"]
    assert follow() == RESTARTS


def test_a_machine_in_its_first_run_calls_no_runtime(
    follow: Callable[[], list[str]], cloud: FakeCloud, root: Path
) -> None:
    (root / "usr/local/bin/crictl").unlink()
    cloud.objects[OBJECT] = b'{"epoch": 4}'
    assert follow() == RESTARTS[:1]
    assert (root / FOLLOWED).exists()
