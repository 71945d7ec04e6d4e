"""`mullion snapshot`: the request in the cluster, the agent's answer, and each way in which it fails."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.commands import reached_api, snapshot
from operations.console.exits import Exit
from tests.operations.commands.test_kubeconfig import stored

KEY = "etcd/20261124T095000Z-command.aa.bb.db"
Answer = Callable[[str], Any]


class Api:
    """The ConfigMap of the request, and an agent that writes `answer(request)` beside it."""

    def __init__(self) -> None:
        self.found: dict[str, Any] | None = None
        self.answer: Answer = lambda request: json.dumps({"request": request, "key": KEY})
        self.replaced_by = ""
        self.is_reachable = True

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if not self.is_reachable:
            raise Unreachable("nothing answers")
        place = f"{snapshot.CONFIGMAPS}/{snapshot.NAME}"
        if method == "POST":
            assert (path, self.found) == (snapshot.CONFIGMAPS, None)
        elif path != place or self.found is None:
            raise Refused(404, "not found")
        if body:
            self.found = copy.deepcopy(body)
            return body
        assert self.found
        request = self.replaced_by or self.found["data"]["request"]
        answer = self.answer(self.found["data"]["request"])
        return {"data": {"request": request} | ({"answer": answer} if answer else {})}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    monkeypatch.setattr(reached_api, "client", lambda text: made)
    monkeypatch.setattr(snapshot, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(snapshot, "PAUSE", 0.01)
    return made


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
