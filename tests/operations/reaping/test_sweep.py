"""Order and end of a removal by tags, on an account that these tests make up."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from operations.clouds.api import ApiError
from operations.reaping import sweep
from operations.reaping.things import TIER, Thing, clusters

NOW = datetime(2026, 11, 23, 12, tzinfo=timezone.utc)
PAST, FUTURE = "2026-11-23T11:00:00Z", "2026-11-23T13:00:00Z"


@dataclass
class Account:
    """Resources in a list. held: refusal's code by id of what cannot be deleted."""

    things: list[Thing]
    held: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    changed: Callable[[], None] = lambda: None
    cloud: str = "aws"
    name: str = "111122223333"

    def inventory(self) -> list[Thing]:
        return list(self.things)

    def delete(self, thing: Thing) -> None:
        self.asked.append(thing.id)
        if thing.id in self.held:
            raise ApiError(400, self.held[thing.id], "it cannot be deleted")
        self.things.remove(thing)
        self.changed()

    def waits(self, code: str) -> bool:
        return code == "DependencyViolation"

    def close(self) -> None:
        pass


def thing(id: str, rank: int = 0, **more: Any) -> Thing:
    given = {"owner": "qa", "expires": PAST, **more}
    return replace(Thing("kind", id, "eu-west-1", "ci", rank), **given)


def remove(account: Account) -> sweep.Outcome:
    seconds = itertools.count(step=30)
    clock = sweep.Clock(now=lambda: float(next(seconds)), pause=lambda _: None)
    return sweep.removed(account, "ci", lambda each: each.kept(NOW, snapshots=False), clock=clock)


def test_a_resource_is_deleted_after_those_that_need_it() -> None:
    account = Account([thing("bucket", 2 * TIER), thing("vpc", TIER), thing("subnet", 5), thing("machine")])
    assert remove(account).left == []
    assert account.asked == ["machine", "subnet", "vpc", "bucket"]


def test_a_refusal_that_ends_by_itself_is_tried_again() -> None:
    account = Account([thing("group"), thing("machine", 1)], held={"group": "DependencyViolation"})
    account.changed = lambda: account.held.clear()
    assert remove(account).left == []
    assert account.asked == ["group", "machine", "group"]


def test_a_refusal_is_reported_with_its_reason_and_the_rest_goes() -> None:
    account = Account([thing("locked"), thing("machine"), thing("vpc", TIER)], held={"locked": "AccessDenied"})
    outcome = remove(account)
    assert [(each.thing.id, each.why) for each in outcome.left] == [
        ("locked", "AccessDenied: it cannot be deleted"),
        ("vpc", "it waits for the other resources"),
    ]
    assert {key[2] for key in outcome.deleted} == {"machine"}


def test_a_removal_stops_when_the_cluster_is_extended_meanwhile() -> None:
    account = Account([thing("machine"), thing("vpc", TIER)])

    def extend() -> None:
        account.things = [replace(each, expires=FUTURE) for each in account.things]

    account.changed = extend
    outcome = remove(account)
    assert outcome.kept == "expires in 1h 00m"
    assert [each.id for each in account.things] == ["vpc"]


def test_a_snapshot_store_stays_unless_it_is_asked_for() -> None:
    account = Account([thing("machine"), thing("snapshots", 2 * TIER, kept=True)])
    remove(account)
    assert account.asked == ["machine"]
    [left] = clusters(account.things)
    assert left.kept(NOW, snapshots=False) == "only its snapshot store is left; --snapshots removes it too"
    assert left.kept(NOW, snapshots=True) == ""


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ([{"expires": PAST}, {"expires": PAST}], ""),
        ([{"expires": PAST}, {"expires": FUTURE}], "expires in 1h 00m"),
        ([{"expires": PAST}, {"expires": ""}], "some of its resources do not expire"),
        ([{"expires": PAST}, {"expires": "", "owner": ""}], "some of its resources do not expire"),
        ([{"expires": PAST}, {"expires": "", "untagged": True}], ""),
        ([{"expires": ""}], "it does not expire"),
        ([{"expires": PAST, "protected": True}, {"expires": PAST}], "protected"),
        ([{"expires": "soon"}], "its expiry is unknown: expires is soon, and no resource says when it was created"),
        ([{"expires": "8h"}], "its expiry is unknown: expires is 8h, and no resource says when it was created"),
        ([{"expires": "8h", "created": NOW - timedelta(hours=9)}, {"expires": "8h"}], ""),
        (
            [{"expires": "8h", "created": NOW - timedelta(hours=9)}, {"expires": "8h", "created": NOW}],
            "expires in 8h 00m",
        ),
        ([{"expires": "2026-11-23t11_00_00z"}], ""),
    ],
)
def test_a_cluster_stays_unless_all_its_resources_have_expired(tags: list[dict[str, Any]], why: str) -> None:
    [found] = clusters([thing(str(number), **each) for number, each in enumerate(tags)])
    assert found.kept(NOW, snapshots=False) == why


def test_resources_with_only_kubernetes_tags_form_no_cluster() -> None:
    assert clusters([thing("volume", by_controller=True, owner="", expires="")]) == []


@pytest.mark.parametrize(("deleting", "seconds"), [(False, sweep.PATIENCE), (True, sweep.DELETING)])
def test_a_resource_that_the_cloud_is_deleting_gets_more_time(deleting: bool, seconds: float) -> None:
    """Azure deletes a group with machines, a load balancer and a Bastion host in 10 to 20 minutes."""
    group = thing("group", deleting=deleting)
    account = Account([group], held={"group": "DependencyViolation"})
    assert [each.thing for each in remove(account).left] == [group]
    assert len(account.asked) == seconds / 30 + 1  # remove()'s clock: 30 s for each pass
