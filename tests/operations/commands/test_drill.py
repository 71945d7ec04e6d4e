"""`mullion restore STACK --drill`: what it requests, and how it judges the agent's answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from operations.commands import drill
from operations.console.exits import Exit
from tests.operations.commands.agent_answers import Api, answering
from tests.operations.commands.test_kubeconfig import stored

KEY = "etcd/20261124T095000Z-timer.aa.bb.db"
COUNTS = {"namespaces": [4, 4], "nodes": [3, 5], "secrets": [31, 33]}
FOUND: dict[str, Any] = {"snapshot": KEY, "machine": "control-plane-1", "seconds": 12, "keys": 900, "readable": 31}


def answer(**fields: Any) -> Callable[[str], str]:
    return lambda request: json.dumps({"request": request, "counts": COUNTS, **FOUND, **fields})


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return answering(monkeypatch, drill.NAME, answer())


@pytest.fixture
def run(api: Api, clone: Path, mullion: Callable[..., Result]) -> Callable[..., Result]:
    assert api
    (clone / "kubeconfig").write_text(stored(30))
    given = ("restore", "small", "--drill", "--kubeconfig", str(clone / "kubeconfig"))
    return lambda *words: mullion(*given, *words)


def test_it_prints_what_the_restored_etcd_has_beside_what_the_cluster_has(api: Api, run: Callable[..., Result]) -> None:
    ended = run()
    assert ended.exit_code == 0, ended.stderr
    assert (api.found or {})["data"] | {"request": ""} == {"request": "", "from": "store", "snapshot": ""}
    said = " ".join(ended.stdout.split())
    assert f"small: {KEY}" in said and "of the snapshot store was restored on control-plane-1 in 12 s" in said
    assert "nodes 3 5" in said
    assert "31 of 31 Secrets have an encryption key" in said


def test_a_snapshot_and_its_place_can_be_named(api: Api, run: Callable[..., Result]) -> None:
    ended = run("--from", "copy", "--snapshot", KEY)
    assert ended.exit_code == 0, ended.stderr
    assert (api.found or {})["data"] | {"request": ""} == {"request": "", "from": "copy", "snapshot": KEY}
    assert "of the copies was restored" in " ".join(ended.stdout.split())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (answer(error="no \x1b[2Jspace"), "could not restore a snapshot: no"),
        (answer(readable=29), "2 Secrets are encrypted with keys that the secret store does not have"),
        (answer(counts={**COUNTS, "namespaces": [0, 4]}), "it has no namespace"),
        (lambda request: "", "did not begin this within"),
    ],
)
def test_it_ends_with_1_if_no_cluster_could_start_from_it(
    api: Api, run: Callable[..., Result], said: Callable[[str], str], expected: str
) -> None:
    api.answer = said
    ended = run()
    assert (ended.exit_code, expected in " ".join(ended.stderr.split())) == (Exit.FAILED, True), ended.stderr
    assert "\x1b" not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"readable": "31"}, "readable: Input should be a valid integer"),
        ({"seconds": True}, "seconds: Input should be a valid integer"),
        ({"keys": 10**40}, "keys: Input should be less than"),
        ({"keys": -1}, "keys: Input should be greater than or equal to 0"),
        ({"machine": ["x"]}, "machine: Input should be a valid string"),
        ({"snapshot": None}, "snapshot: Input should be a valid string"),
        ({"counts": []}, "counts: Input should be"),
        ({"counts": {"namespaces": [4, 4]}}, "counts: Value error, secrets is missing"),
        ({"counts": {**COUNTS, "pods": ["\x1b[2J", 1]}}, "counts.pods.0: Input should be a valid integer"),
        ({"counts": {**COUNTS, "\x1b[2J": [1]}}, "counts. [2J: List should have at least 2 items"),
        ({"counts": {**COUNTS, "nodes": {"a": 1}}}, "counts.nodes: Input should be a valid list"),
        ({"snapshot": f"{KEY}\x1b[2J"}, f"it is about {KEY} [2J"),
    ],
)
def test_an_answer_that_no_agent_writes_is_refused(
    api: Api, run: Callable[..., Result], fields: dict[str, Any], said: str
) -> None:
    """Whoever may write ConfigMaps of kube-system may write the answer."""
    api.answer = answer(**fields)
    ended = run("--snapshot", KEY)
    assert ended.exit_code == Exit.FAILED
    assert f"is not one of an agent ({said}" in " ".join(ended.stderr.split()), ended.stderr
    assert not ended.stdout and "\x1b" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drill", "--list"), "leave out --list and --confirm"),
        (("--drill", "--confirm", "small"), "leave out --list and --confirm"),
        (("--kubeconfig", "x"), "--kubeconfig is for --drill"),
    ],
)
def test_options_of_a_drill_and_of_a_restore_are_not_mixed(
    clone: Path, mullion: Callable[..., Result], words: tuple[str, ...], said: str
) -> None:
    assert clone
    ended = mullion("restore", "small", *words)
    assert (ended.exit_code, said in " ".join(ended.stderr.split())) == (Exit.USAGE, True), ended.stderr
