"""`mullion ls --by-tags`: the clusters of an account, and whether they have a state."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.clouds.api import ApiError
from operations.console.exits import Exit
from operations.engine import workspace
from operations.reaping import accounts
from operations.reaping.things import Thing
from operations.stacks import stack_files
from tests.operations.reaping.test_sweep import Account
from tests.operations.states import NOW, deployment

Run = Callable[..., Result]
WORDS = ("ls", "--by-tags", "aws", "--regions", "eu-west-1, us-east-1")

LAST = ("cost so far", "machines", "resources", "state", "health")
LOST = ("unknown", "1", "2", "no", "unknown")
"""Last cells of a cluster without a state: its tags do not say what it costs, and its health is not asked."""


@pytest.fixture
def account(backend: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account with a lost cluster, a lasting one, and one whose state is in the backend."""
    backend["team"] = json.dumps({"deployment": deployment(expires="1h")})  # its component is named ci
    vpc = Thing("vpc", "vpc-1", "eu-west-1", "lost", 0, "qa", "2026-11-23T18:00:00Z")
    made = Account(
        [
            replace(vpc, created=NOW - timedelta(hours=3)),
            replace(vpc, kind="instance", id="i-1", region="us-east-1", created=NOW - timedelta(hours=2)),
            replace(vpc, id="vpc-2", cluster="ci", expires="2026-11-23T20:00:00Z"),
            replace(vpc, id="vpc-3", cluster="lasting", expires=""),
        ]
    )
    monkeypatch.setattr(accounts, "real", lambda cloud, regions: made)
    monkeypatch.setattr(expiry, "now", lambda: NOW)
    return made


def test_all_clusters_of_an_account_are_listed_with_their_states(account: Account, mullion: Run) -> None:
    answer = mullion(*WORDS)
    assert answer.exit_code == Exit.OK, answer.stderr
    rows = [[cell for cell in line.split("  ") if cell] for line in answer.stdout.splitlines()]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["cluster", "account", "regions", "owner", "age", "expires", *LAST],
        ["ci", "111122223333", "eu-west-1", "qa", "in 1h 00m", "unknown", "0", "1", "yes", "incomplete"],
        ["lasting", "111122223333", "eu-west-1", "qa", "it does not expire", "unknown", "0", "1", "no", "unknown"],
        ["lost", "111122223333", "eu-west-1, us-east-1", "qa", "3h 00m", "1h 00m ago", *LOST],
    ]


def test_json_has_times_and_whether_a_state_exists(account: Account, mullion: Run) -> None:
    answer = mullion(*WORDS, "--json")
    by_name = {each["name"]: each for each in json.loads(answer.stdout)["clusters"]}
    assert by_name["lost"] == {
        "name": "lost",
        "account": "111122223333",
        "regions": ["eu-west-1", "us-east-1"],
        "owner": "qa",
        "created": "2026-11-23T16:00:00Z",
        "expires": "2026-11-23T18:00:00Z",
        "expired": True,
        "without_expiry": None,
        "usd_so_far": None,
        "without_price": None,
        "machines": 1,
        "resources": 2,
        "has_state": False,
        "health": None,
    }
    assert by_name["lasting"]["without_expiry"] == "it does not expire"
    assert by_name["ci"]["has_state"] is True


def test_a_cluster_with_a_state_shows_its_cost_and_health(
    account: Account, backend: dict[str, str], clone: Path, mullion: Run
) -> None:
    state = deployment(**stack_files.load("small").spec.model_dump(mode="json"))
    provider = {"type": "pulumi:providers:aws", "urn": "urn:pulumi:ci::mullion::pulumi:providers:aws::default"}
    stack = {"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:ci::mullion::pulumi:pulumi:Stack::mullion-ci"}
    resources = [stack | {"outputs": {"endpoint": "x"}}, provider | {"inputs": {"region": "eu-west-1"}}]
    backend["team"] = json.dumps({"deployment": {"resources": [*resources, *state["resources"]]}})
    hour = json.loads(mullion("cost", "small", "--json").stdout)["hour"]
    [found] = [each for each in json.loads(mullion(*WORDS, "--json").stdout)["clusters"] if each["has_state"]]
    assert found["usd_so_far"] == pytest.approx(9 * hour, abs=0.01)
    assert (found["without_price"], found["health"]) == ([], "built")
    [line] = [line for line in mullion(*WORDS).stdout.splitlines() if line.startswith("  ci ")]
    assert f"USD {9 * hour:.2f}" in line
    assert line.rstrip().endswith("built")


def test_without_a_backend_the_states_are_unknown(
    account: Account, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    answer = mullion(*WORDS, "--json")
    assert answer.exit_code == Exit.OK
    assert {each["has_state"] for each in json.loads(answer.stdout)["clusters"]} == {None}
    assert "no backend for real accounts is set" in answer.stderr


def test_an_unreadable_state_is_an_error_and_its_cluster_may_be_any(
    account: Account, backend: dict[str, str], mullion: Run
) -> None:
    backend["corrupt"] = "error: gzip: invalid header"
    answer = mullion(*WORDS, "--json")
    assert answer.exit_code == Exit.FAILED
    states = {each["name"]: each["has_state"] for each in json.loads(answer.stdout)["clusters"]}
    assert states == {"ci": True, "lasting": None, "lost": None}


def test_an_account_that_cannot_be_listed_is_an_error(
    account: Account, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> list[Thing]:
        raise ApiError(403, "UnauthorizedOperation", "You are not authorized to perform this operation.")

    monkeypatch.setattr(account, "inventory", refused)
    answer = mullion(*WORDS)
    assert answer.exit_code == Exit.FAILED
    assert "the resources of aws 111122223333 cannot be listed: UnauthorizedOperation" in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [(("--by-tags", "ovh"), "--by-tags ovh is unknown"), (("--regions", "eu-west-1"), "needs --by-tags")],
)
def test_wrong_words_are_refused(words: tuple[str, ...], says: str, mullion: Run) -> None:
    answer = mullion("ls", *words)
    assert answer.exit_code == Exit.USAGE
    assert says in answer.stderr
