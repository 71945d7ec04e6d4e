"""`mullion snapshot`: the request in the cluster, the agent's answer, and each way in which it fails."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.commands import snapshot
from operations.console.exits import Exit
from tests.operations.commands.agent_answers import Answer, Api, answering
from tests.operations.commands.test_kubeconfig import stored

KEY = "etcd/20261124T095000Z-command.aa.bb.db"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return answering(monkeypatch, snapshot.NAME, lambda request: json.dumps({"request": request, "key": KEY}))


@pytest.fixture
def run(api: Api, clone: Path, mullion: Callable[..., Result]) -> Callable[[], Result]:
    assert api
    (clone / "kubeconfig").write_text(stored(30))
    return lambda: mullion("snapshot", "small", "--kubeconfig", str(clone / "kubeconfig"))


def test_it_prints_the_key_and_the_command_that_restores_it(api: Api, run: Callable[[], Result]) -> None:
    first = run()
    assert (first.exit_code, api.found is not None) == (0, True), first.stderr
    request = (api.found or {})["data"]
    ended = run()
    assert ended.exit_code == 0, ended.stderr
    assert (api.found or {})["data"] != request, "a second command requests a second snapshot"
    assert f"stored {KEY}" in ended.stdout
    assert f"restore small --snapshot {KEY}" in " ".join(ended.stdout.split())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda request: json.dumps({"request": request, "error": "no \x1b[2Jspace"}), "stored no snapshot: no"),
        (lambda request: json.dumps({"request": "an earlier one", "key": KEY}), "did not answer within"),
        (lambda request: "[]", "did not answer within"),
        (lambda request: "{", "did not answer within"),
        (lambda request: "", "did not answer within"),
    ],
)
def test_it_ends_with_1_without_a_snapshot(api: Api, run: Callable[[], Result], answer: Answer, said: str) -> None:
    api.answer = answer
    ended = run()
    assert (ended.exit_code, said in ended.stderr) == (Exit.FAILED, True), ended.stderr
    assert "\x1b" not in ended.stderr


def test_it_says_that_another_request_took_its_place(api: Api, run: Callable[[], Result]) -> None:
    api.replaced_by = "other"
    ended = run()
    assert (ended.exit_code, "run the command again" in ended.stderr) == (Exit.FAILED, True), ended.stderr


def test_it_says_that_the_api_failed(api: Api, run: Callable[[], Result]) -> None:
    api.is_reachable = False
    ended = run()
    assert (ended.exit_code, "restore small --list shows" in " ".join(ended.stderr.split())) == (Exit.FAILED, True)
