"""collect_logs.py --requested starts the executor once the kubelet's certificate has ended."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.cloud_init.linux import Programs, put
from tests.conformance.authority import node_pem

CERTIFICATE = "var/lib/kubelet/pki/kubelet-client-current.pem"
JOINED = "var/lib/mullion/joined"
RESTART = ["systemctl", "restart", "--no-block", "mullion.service"]


@pytest.fixture
def follow(node: ModuleType, programs: Programs, root: Path) -> Callable[[], bool]:
    """Return a function that looks at the certificate once, and returns whether the executor was started."""
    assert node
    programs.answers["systemctl restart"] = (0, "")

    def look() -> bool:
        programs.asked.clear()
        importlib.import_module("rejoining").follow({"machine": {"name": "web-0"}}, root)
        return RESTART in programs.asked

    return look


def test_an_ended_certificate_starts_the_executor(root: Path, follow: Callable[[], bool]) -> None:
    put(root, JOINED, "")
    put(root, CERTIFICATE, node_pem("good"))
    assert not follow()
    put(root, CERTIFICATE, node_pem("over"))
    assert follow()


def test_a_machine_that_has_not_joined_yet_is_left_to_its_executor(root: Path, follow: Callable[[], bool]) -> None:
    put(root, CERTIFICATE, node_pem("over"))
    assert not follow()


def test_a_running_executor_is_not_interrupted(root: Path, follow: Callable[[], bool], programs: Programs) -> None:
    put(root, JOINED, "")
    programs.answers["systemctl show"] = (0, "activating\n")
    assert not follow()
