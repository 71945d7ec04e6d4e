"""A temporary cluster whose removal by its state is not enough: what is in no state is deleted by its tags."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from operations.commands import leftovers, removal
from operations.commands.leftovers import Unremoved
from operations.console.exits import Exit, Stop
from operations.engine import clusters, locks
from operations.engine.clusters import BACKEND
from operations.reaping import accounts, sweep
from operations.reaping.things import Thing
from tests.operations.reaping.test_sweep import Account
from tests.operations.states import deployment

ENDS = "2026-11-23T18:00:00Z"
REFUSED = "small: 1 failed\n  subnet-1: DependencyViolation"


def thing(id: str, expires: str = ENDS, **more: Any) -> Thing:
    return replace(Thing("instance", id, "eu-west-1", "ci", 0, "qa", expires), **more)


def state(expires: str = ENDS) -> dict[str, Any]:
    """A state of the cluster ci, which has the machine i-1."""
    made = deployment(expires=expires)
    made["resources"][1] |= {"id": "i-1", "custom": True}
    return made


@pytest.fixture
def account(backend: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Account:
    """An account with a machine in the state, and one that the provider created before it died."""
    made = Account([thing("i-1"), thing("i-lost"), replace(thing("i-other"), cluster="other")])
    backend["ci-1"] = json.dumps({"deployment": state()})
    monkeypatch.setattr(accounts, "real", lambda cloud, regions: made)
    monkeypatch.setattr(sweep, "PAUSE", 0)
    return made


def removing(account: Account, *, expires: str = ENDS, accounts: tuple[str, ...] = ()) -> Callable[[bool], str]:
    """Return a removal by state that the cloud refuses while the account has i-lost."""
    facts = clusters.read("ci-1", BACKEND, state(expires))

    def remove(searched: bool) -> str:
        if any(each.id == "i-lost" for each in account.things):
            raise Unremoved(REFUSED, facts, accounts)
        return "86 deleted in 5.0 s"

    return remove


def test_what_is_in_no_state_is_deleted_and_the_removal_goes_on(account: Account) -> None:
    assert leftovers.removed(removing(account)) == "86 deleted in 5.0 s; 1 resources in no state deleted"
    assert account.asked == ["i-lost"], "the engine deletes what is in the state"


def test_the_resource_group_of_azure_is_deleted_with_what_no_list_has(account: Account) -> None:
    """Its inventory has groups alone, and the cluster's is in the state."""
    account.things[:] = [thing("i-1"), replace(thing("i-other"), cluster="other")]
    facts = clusters.read("ci-1", BACKEND, state())
    assert facts

    def remove(searched: bool) -> str:
        if any(each.id == "i-1" for each in account.things):
            raise Unremoved(REFUSED, replace(facts, cloud="azure"))
        return "29 deleted in 2.8 s"

    assert leftovers.removed(remove).startswith("29 deleted")
    assert account.asked == ["i-1"], "and nothing of the other cluster"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"expires": "2099-01-01T00:00:00Z"}, "expires in"),
        ({"protected": True}, "protected"),
        ({"expires": ""}, "does not expire"),
    ],
)
def test_a_cluster_of_the_same_name_is_left_alone(change: dict[str, Any], says: str, account: Account) -> None:
    account.things[1] = replace(account.things[1], **change)
    with pytest.raises(Unremoved, match=says) as stop:
        leftovers.removed(removing(account))
    assert str(stop.value).startswith(REFUSED)
    assert account.asked == []


def test_a_cluster_that_does_not_expire_is_not_swept(account: Account) -> None:
    facts = clusters.read("ci-1", BACKEND, deployment())

    def remove(searched: bool) -> str:
        raise Unremoved(REFUSED, facts)

    with pytest.raises(Unremoved, match="DependencyViolation"):
        leftovers.removed(remove)
    assert account.asked == []


def test_another_account_is_left_alone(account: Account) -> None:
    with pytest.raises(Unremoved, match="account 111122223333, not 999900001111"):
        leftovers.removed(removing(account, accounts=("999900001111",)))
    assert account.asked == []


def test_nothing_is_deleted_while_a_state_cannot_be_read(account: Account, backend: dict[str, str]) -> None:
    backend["corrupt"] = "error: gzip: invalid header"
    with pytest.raises(Unremoved, match="a state cannot be read"):
        leftovers.removed(removing(account))
    assert account.asked == []


def test_what_cannot_be_deleted_is_named(account: Account) -> None:
    account.held["i-lost"] = "UnauthorizedOperation"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "SHORT", 0)
        with pytest.raises(Unremoved, match="instance i-lost: UnauthorizedOperation"):
            leftovers.removed(removing(account))


PENDING = {
    "type": "creating",
    "resource": {
        "urn": "urn:pulumi:ci::mullion::aws:ec2/instance:Instance::ci-web-1",
        "type": "aws:ec2/instance:Instance",
        "inputs": {"tags": {}},
    },
}


class Run:
    """An engine's stack that destroys everything."""

    name = "ci-1"

    def destroy(self, **_: Any) -> None:
        pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An exported state with a creation of which nobody knows the result."""
    monkeypatch.setattr(removal.controller_made, "adopt", lambda *_, **__: [])
    monkeypatch.setattr(removal.volumes_left, "adopt", lambda *_, **__: (False, ""))
    monkeypatch.setattr(removal.reclaimed, "before_removal", lambda *_: None)
    monkeypatch.setattr(removal.report, "remains", lambda *_, **__: "")
    monkeypatch.setattr(locks, "passed", lambda run, work, **_: work())
    return {"deployment": {**state(), "pending_operations": [PENDING]}}


def test_a_creation_without_a_result_does_not_hinder_a_removal_but_is_looked_up(engine: dict[str, Any]) -> None:
    with pytest.raises(Unremoved, match=r"all resources in the state of ci-1 are deleted.*\n.*\n  ci-web-1") as stop:
        removal.destroyed(Run(), engine, sandbox=False)  # type: ignore[arg-type]
    assert stop.value.facts
    assert stop.value.facts.name == "ci-1"
    removal.destroyed(Run(), engine, sandbox=False, searched=True)  # type: ignore[arg-type]


def test_a_cluster_that_is_extended_while_its_removal_is_prepared_is_kept(
    engine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = {"deployment": state("2099-01-01T00:00:00Z")}
    monkeypatch.setattr(removal, "export", lambda run: newest)

    def refuse(deployment: dict[str, Any]) -> None:
        assert deployment is newest["deployment"]
        raise Stop(Exit.REFUSED, "it is kept")

    class Kept(Run):
        def destroy(self, **_: Any) -> None:
            raise AssertionError

    with pytest.raises(Stop, match="it is kept"):
        removal.destroyed(Kept(), engine, sandbox=False, refuse=refuse)  # type: ignore[arg-type]


def test_an_empty_state_with_such_a_creation_is_not_forgotten(engine: dict[str, Any]) -> None:
    engine["deployment"]["resources"] = []
    with pytest.raises(Stop, match="--clear-pending-creates"):
        removal.refuse_unknown("ci-1", engine, sandbox=False)
    removal.refuse_unknown("ci-1", engine, sandbox=True)
