"""`mullion revoke`: what it writes into the cluster, what it prints, and when it refuses."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.commands import reached_api, revoke
from operations.console.exits import Exit
from tests.operations.commands.test_kubeconfig import stored

Mullion = Callable[..., Result]
ISSUED = {"instance": "i-1", "certificates": {64 * "a": 1795437000.0}, "asked": [], "before": {}, "revoked": False}


class Api:
    """The record of machines, and an agent that deletes Nodes of revoked machines unless it is off."""

    def __init__(self) -> None:
        self.data = {"web-0": json.dumps(ISSUED)}
        self.conflicts, self.agent_runs, self.is_reachable = 0, True, True
        self.configuration = "apiServer:\n  extraArgs:\n  - name: authorization-config\n    value: /etc/x.json\n"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if not self.is_reachable:
            raise Unreachable("nothing answers")
        if path.startswith(revoke.NODES):
            if self.agent_runs and json.loads(self.data["web-0"])["revoked"]:
                raise Refused(404, "not found")
            return {}
        if path == revoke.KUBEADM:
            return {"data": {"ClusterConfiguration": self.configuration}}
        if method == "GET":
            return {"data": copy.deepcopy(self.data)}
        if self.conflicts:
            self.conflicts -= 1
            raise Refused(409, "changed")
        self.data = body["data"]
        return body


@pytest.fixture
def api(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Return the API of the stack `small`; a kubeconfig for it is beside the stacks."""
    made = Api()
    monkeypatch.setattr(reached_api, "client", lambda text: made)
    monkeypatch.setattr(revoke, "GONE_SECONDS", 0.2)
    monkeypatch.setattr(revoke, "PAUSE", 0.01)
    (clone / "kubeconfig").write_text(stored(30))
    return made


@pytest.fixture
def run(api: Api, clone: Path, mullion: Mullion) -> Callable[[str], Result]:
    assert api
    return lambda node: mullion("revoke", "small", node, "--kubeconfig", str(clone / "kubeconfig"))


def test_it_marks_the_machine_and_says_what_stays(api: Api, run: Callable[[str], Result]) -> None:
    api.conflicts = 2
    assert run("web-0").exit_code == 0
    ended = run("web-0")
    assert ended.exit_code == 0, ended.stderr
    assert json.loads(api.data["web-0"]) == ISSUED | {"revoked": True}
    assert "web-0 (machine i-1) is revoked" in ended.stdout
    assert "Within half a minute the API servers refuse every request with its certificate" in ended.stdout
    assert "roll small web --machine web-0" in " ".join(ended.stdout.split())


def test_it_says_until_when_a_certificate_reads_if_the_api_servers_do_not_refuse_it(
    api: Api, run: Callable[[str], Result]
) -> None:
    """Before 1.32, and until a cluster of an earlier Mullion has got the flag."""
    api.configuration = "apiServer: {}\n"
    ended = run("web-0")
    assert ended.exit_code == 0, ended.stderr
    assert "Until 2026-11-23 12:30 UTC its certificate can still read" in ended.stdout


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("control-plane-0", "has every key of the cluster"),
        ("web-9", "has no machine web-9; its workers: linux-0, web-0, web-1"),
    ],
)
def test_it_refuses_a_machine_that_is_not_a_worker(
    api: Api, run: Callable[[str], Result], node: str, said: str
) -> None:
    ended = run(node)
    assert (ended.exit_code, said in ended.stderr) == (Exit.USAGE, True), ended.stderr
    assert api.data == {"web-0": json.dumps(ISSUED)}


def test_it_refuses_a_machine_that_has_not_joined(api: Api, run: Callable[[str], Result]) -> None:
    api.data.clear()
    ended = run("web-0")
    assert (ended.exit_code, "web-0 has not joined" in ended.stderr) == (Exit.USAGE, True), ended.stderr


def test_it_fails_if_the_api_does_not_answer_or_no_agent_acts(api: Api, run: Callable[[str], Result]) -> None:
    api.is_reachable = False
    ended = run("web-0")
    assert (ended.exit_code, "nothing answers" in ended.stderr) == (Exit.FAILED, True), ended.stderr
    api.is_reachable, api.agent_runs = True, False
    ended = run("web-0")
    assert (ended.exit_code, "does the control-plane agent run?" in ended.stderr) == (Exit.FAILED, True)
