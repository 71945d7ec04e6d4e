"""`mullion ls --by-tags`: the clusters of an account, and whether they have a state."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.console.exits import Exit
from operations.engine import workspace
from operations.reaping import accounts
from operations.reaping.api import ApiError
from operations.reaping.things import Thing
from tests.operations.reaping.test_sweep import Account
from tests.operations.states import NOW, deployment

Run = Callable[..., Result]
WORDS = ("ls", "--by-tags", "aws", "--regions", "eu-west-1, us-east-1")


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
        ["cluster", "account", "regions", "owner", "age", "expires", "resources", "state"],
        ["ci", "111122223333", "eu-west-1", "qa", "in 1h 00m", "1", "yes"],
        ["lasting", "111122223333", "eu-west-1", "qa", "it does not expire", "1", "no"],
        ["lost", "111122223333", "eu-west-1, us-east-1", "qa", "3h 00m", "1h 00m ago", "2", "no"],
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
        "resources": 2,
        "has_state": False,
    }
    assert by_name["lasting"]["without_expiry"] == "it does not expire"
    assert by_name["ci"]["has_state"] is True


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
