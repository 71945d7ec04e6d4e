"""`mullion snapshot`: the request in the cluster, the agent's answer, and each way in which it fails."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from operations.commands import configmap_requests, snapshot
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
        (lambda request: json.dumps({"request": "an earlier one", "key": KEY}), "did not begin this within"),
        (lambda request: "[]", "did not begin this within"),
        (lambda request: "{", "did not begin this within"),
        (lambda request: "", "did not begin this within"),
    ],
)
def test_it_ends_with_1_without_a_snapshot(api: Api, run: Callable[[], Result], answer: Answer, said: str) -> None:
    api.answer = answer
    ended = run()
    assert (ended.exit_code, said in ended.stderr) == (Exit.FAILED, True), ended.stderr
    assert "\x1b" not in ended.stderr


def test_it_waits_longer_for_an_agent_that_is_busy_and_names_it(
    api: Api, run: Callable[[], Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may copy snapshots for 300 seconds before it finds the request, and then takes 300 seconds for it."""
    clock, answer = Clock(), api.answer
    for name, value in (("time", clock), ("BEGIN_SECONDS", BEGIN), ("ANSWER_SECONDS", LONGEST), ("NOTE_SECONDS", 30)):
        monkeypatch.setattr(configmap_requests, name, value)
    api.others = {
        configmap_requests.LEASE: {"spec": {"holderIdentity": "control-plane-1"}},
        f"{configmap_requests.CONFIGMAPS}/mullion-agent": {"data": {"turn": "control-plane-1"}},
    }
    started = json.dumps({"request": "REQUEST", "machine": "control-plane-1"})
    api.started = lambda request: started.replace("REQUEST", request) if clock.now > 600 else ""
    api.answer = lambda request: answer(request) if clock.now > 900 else ""
    ended = run()
    assert ended.exit_code == 0, ended.stderr
    said = " ".join(ended.stderr.split())
    assert (
        said.count("waiting for a snapshot: no agent has begun it yet; the agent of control-plane-1 has the Lease") == 1
    )
    assert "its machine changes now" in said
    assert f"stored {KEY}" in ended.stdout
    clock.now, api.answer = 0.0, lambda request: ""
    assert "the agent of control-plane-1 has begun this and did not answer within 330 s" in " ".join(
        run().stderr.split()
    )
    assert 930 < clock.now < 940
    clock.now, api.started = 0.0, lambda request: ""
    assert "did not begin this within 660 s; the agent of control-plane-1 has" in " ".join(run().stderr.split())


BEGIN, LONGEST = configmap_requests.BEGIN_SECONDS, configmap_requests.ANSWER_SECONDS
"""The command's own limits; the fixture `api` shortens them."""


class Clock:
    """Stands in for `time`: it goes on while the command sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += 2


def test_it_names_the_agent_that_has_begun_and_did_not_answer(api: Api, run: Callable[[], Result]) -> None:
    api.answer = lambda request: ""
    api.started = lambda request: json.dumps({"request": request, "machine": "control-plane-1\x1b[2J"})
    ended = run()
    assert ended.exit_code == Exit.FAILED
    assert "the agent of control-plane-1 [2J has begun this and did not answer within" in " ".join(ended.stderr.split())
    assert "\x1b" not in ended.stderr


def test_it_says_that_another_request_took_its_place(api: Api, run: Callable[[], Result]) -> None:
    api.replaced_by = "other"
    ended = run()
    assert (ended.exit_code, "run the command again" in ended.stderr) == (Exit.FAILED, True), ended.stderr


def test_it_says_that_the_api_failed(api: Api, run: Callable[[], Result]) -> None:
    api.is_reachable = False
    ended = run()
    assert (ended.exit_code, "restore small --list shows" in " ".join(ended.stderr.split())) == (Exit.FAILED, True)
