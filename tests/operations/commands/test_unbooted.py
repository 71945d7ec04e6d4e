"""Commands that need a live cluster, on a sandbox that is not booted: they say so at once."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.commands import report
from operations.console.exits import Exit
from operations.stacks import boot_site, target
from tests.operations.commands.test_kubeconfig import stored

Mullion = Callable[..., Result]
NEEDS_A_CLUSTER = (("verify", "small"), ("logs", "small", "web-0"))


@pytest.fixture
def unbooted(clone: Path) -> None:
    """The stack `small` is built in the sandbox."""
    path = target.folder("small") / "world.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"world": "sandbox"}))


@pytest.mark.parametrize("words", NEEDS_A_CLUSTER, ids=lambda words: words[0])
def test_a_command_that_needs_a_live_cluster_says_how_to_boot_the_sandbox(
    words: tuple[str, ...], unbooted: None, mullion: Mullion
) -> None:
    ended = mullion(*words)
    assert ended.exit_code == Exit.USAGE
    assert ended.stderr == (
        "mullion: the sandbox of small is not booted: make demo STACK=small, or mullion sandbox boot small\n"
    )


def test_up_says_that_nothing_answers_at_the_endpoint_of_an_unbooted_sandbox() -> None:
    outputs = {"endpoint": "https://api.small.mullion.internal:6443"}
    text = report.access(outputs, Path("/x/kubeconfig"), boot_site.not_booted("small"))
    assert text.splitlines() == [
        "Endpoint    https://api.small.mullion.internal:6443",
        "Kubeconfig  /x/kubeconfig",
        f"Nothing answers at this endpoint: {boot_site.not_booted('small')}",
    ]
    assert "Nothing answers" not in report.access(outputs, Path("/x/kubeconfig"))


def test_verify_ends_at_once_if_the_name_of_the_api_has_no_address(
    clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    (clone / "kubeconfig").write_text(stored(30))
    ended = mullion("verify", "small", "--kubeconfig", str(clone / "kubeconfig"))
    assert ended.exit_code == Exit.FAILED
    assert "mullion: people.example has no address on this host (https://people.example:6443: " in ended.stderr
    assert "Traceback" not in ended.output


def test_verify_ends_without_a_traceback_if_the_api_does_not_answer(
    clone: Path, mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stored(30).replace("people.example:6443", "127.0.0.1:1")
    (clone / "kubeconfig").write_text(text)
    monkeypatch.setattr("operations.verification.cluster.POLL_SECONDS", 0.01)
    ended = mullion("verify", "small", "--kubeconfig", str(clone / "kubeconfig"), "--timeout", "1s")
    assert ended.exit_code == Exit.FAILED
    assert "mullion: the API of small at 127.0.0.1:1 failed: https://127.0.0.1:1: " in ended.stderr


def test_a_stack_in_an_account_is_not_an_unbooted_sandbox(clone: Path) -> None:
    boot_site.refuse_unbooted("small")
