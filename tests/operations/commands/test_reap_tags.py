"""`mullion reap --by-tags`: which clusters without a state are kept and removed, and the report."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.spec import expiry
from operations.clouds.api import ApiError
from operations.console.exits import Exit
from operations.engine import workspace
from operations.reaping import accounts, sweep
from operations.reaping.things import Thing
from tests.operations.reaping.test_sweep import Account
from tests.operations.states import NOW, deployment

Run = Callable[..., Result]
WORDS = ("reap", "--by-tags", "aws", "--regions", "eu-west-1, us-east-1")


def thing(cluster: str, expires: str, **more: Any) -> Thing:
    return replace(Thing("vpc", f"vpc-{cluster}", "eu-west-1", cluster, 0, "qa", expires), **more)


@pytest.fixture
def account(backend: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account with lost clusters, and one whose state is in the backend."""
    backend["team"] = json.dumps({"deployment": deployment(expires="1h")})  # its component is named ci
    made = Account(
        [
            thing("lost", "2026-11-23T18:00:00Z"),
            thing("long-lost", "2026-11-23T12:00:00Z"),
            thing("ci", "2026-11-23T11:00:00Z"),
            thing("fresh", "2026-11-23T20:00:00Z"),
            thing("guarded", "2026-11-23T11:00:00Z", protected=True),
        ]
    )
    monkeypatch.setattr(accounts, "real", lambda cloud, regions: made)
    monkeypatch.setattr(sweep, "PAUSE", 0)
    monkeypatch.setattr(expiry, "now", lambda: NOW)
    return made


def results(answer: Result) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["result"], each["reason"]) for each in json.loads(answer.stdout)["clusters"]}


def test_without_yes_nothing_is_deleted_and_the_expired_are_listed(account: Account, mullion: Run) -> None:
    answer = mullion(*WORDS)
    assert answer.exit_code == Exit.OK, answer.stderr
    assert account.asked == []
    listed = [line.split()[0] for line in answer.stdout.splitlines() if " ago" in line]
    assert listed == ["long-lost", "lost"]
    assert "Nothing was changed" in answer.stdout


def test_only_expired_clusters_without_a_state_are_removed(account: Account, mullion: Run) -> None:
    answer = mullion(*WORDS, "--yes", "--format", "json")
    assert answer.exit_code == Exit.OK, answer.stderr
    assert account.asked == ["vpc-long-lost", "vpc-lost"], "the longest expired first"
    assert results(answer) == {
        "long-lost": ("removed", "expired 7h 00m ago; 1 deleted"),
        "lost": ("removed", "expired 1h 00m ago; 1 deleted"),
        "ci": ("kept", "it has a state: mullion reap without --by-tags removes it once it is expired"),
        "fresh": ("kept", "expires in 1h 00m"),
        "guarded": ("kept", "protected"),
    }


@pytest.mark.parametrize(
    "known",
    ["vpc-prod", "arn:aws:ec2:eu-west-1:111122223333:vpc/vpc-prod", "projects/our-project/managedZones/vpc-prod"],
)
def test_a_resource_of_a_running_cluster_keeps_the_cluster_that_its_tags_name(
    known: str, account: Account, backend: dict[str, str], mullion: Run
) -> None:
    """Somebody who may set tags gave prod's network the tags of an expired cluster."""
    state = deployment()
    state["resources"].append(
        {
            "urn": "urn:pulumi:prod::mullion::aws:ec2/vpc:Vpc::prod",
            "type": "aws:ec2/vpc:Vpc",
            "custom": True,
            "id": known,
        }
    )
    backend["prod"] = json.dumps({"deployment": state})
    account.things.append(thing("zzz", "2026-01-01T00:00:00Z", id="vpc-prod"))
    answer = mullion(*WORDS, "--yes", "--format", "json")
    assert "vpc-prod" not in account.asked
    assert results(answer)["zzz"] == ("kept", "vpc vpc-prod is in the state of prod; its tags name another cluster")


def test_max_limits_the_clusters_that_are_removed(account: Account, mullion: Run) -> None:
    answer = mullion(*WORDS, "--yes", "--max", "1", "--format", "markdown")
    assert account.asked == ["vpc-long-lost"]
    row = "| lost | 111122223333 | qa | 2026-11-23T18:00:00Z | 1 | later | expired 1h 00m ago; --max 1 is reached |"
    assert row in answer.stdout.splitlines()


def test_a_resource_that_cannot_be_deleted_is_reported(
    account: Account, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "SHORT", 0)
    account.held = {"vpc-lost": "UnauthorizedOperation"}
    answer = mullion(*WORDS, "--yes")
    assert answer.exit_code == Exit.FAILED
    assert "UnauthorizedOperation: it cannot be deleted" in answer.stdout
    assert answer.stderr.endswith("mullion: not removed: lost\n")


def test_nothing_is_deleted_while_a_state_cannot_be_read(
    account: Account, backend: dict[str, str], mullion: Run
) -> None:
    backend["corrupt"] = "error: gzip: invalid header"
    answer = mullion(*WORDS, "--yes", "--format", "json")
    assert answer.exit_code == Exit.FAILED
    assert account.asked == []
    assert results(answer)["lost"] == ("kept", "a state cannot be read, and it may be this cluster's")


def test_an_account_that_cannot_be_listed_ends_the_run(
    account: Account, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> list[Thing]:
        raise ApiError(403, "UnauthorizedOperation", "You are not authorized to perform this operation.")

    monkeypatch.setattr(account, "inventory", refused)
    answer = mullion(*WORDS, "--yes")
    assert answer.exit_code == Exit.FAILED
    assert "the resources of aws 111122223333 cannot be listed: UnauthorizedOperation" in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--by-tags", "ovh"), "--by-tags ovh is unknown"),
        (("--by-tags", "aws", "--format", "xml"), "write text, json, markdown"),
        (("--snapshots",), "need --by-tags"),
        (("--regions", "eu-west-1"), "need --by-tags"),
    ],
)
def test_unknown_clouds_and_contradictory_options_are_refused(
    words: tuple[str, ...], says: str, clone: Path, mullion: Run
) -> None:
    answer = mullion("reap", *words)
    assert answer.exit_code == Exit.USAGE
    assert says in answer.stderr


def test_without_a_backend_nobody_knows_which_clusters_have_a_state(
    clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "has_backend", lambda: False)
    answer = mullion(*WORDS)
    assert answer.exit_code == Exit.USAGE
    assert "pulumi login" in answer.stderr


def test_regions_must_be_named(clone: Path, backend: dict[str, str], mullion: Run) -> None:
    answer = mullion("reap", "--by-tags", "aws")
    assert answer.exit_code == Exit.USAGE
    assert "--regions eu-west-1,eu-central-1" in answer.stderr
