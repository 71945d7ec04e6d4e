"""Planned faults: the call that they meet, their effect, and how often they come."""

import os
from typing import Any

import pytest

from sandbox import faults
from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState

VPC = "aws:ec2/vpc:Vpc"


def _calls(account: Any, count: int) -> list[str]:
    """Return the codes of `count` creates; empty for a success."""
    codes = []
    for number in range(count):
        try:
            account.create("Vpc", f"v{number}", cidrBlock="10.0.0.0/16")
            codes.append("")
        except Refusal as refusal:
            codes.append(refusal.code)
    return codes


def test_a_fault_fails_one_call_and_not_the_next_run(account) -> None:
    faults.plan(account.cloud_state, "fail", 2)
    assert _calls(account, 4) == ["", "InternalFailure", "", ""]
    assert faults.planned(account.cloud_state) == []
    assert [each.error is None for each in account.cloud_state.operations()] == [True, False, True, True]


def test_a_fault_fails_the_planned_number_of_calls(account) -> None:
    faults.plan(account.cloud_state, "fail", 2, times=2)
    assert _calls(account, 4) == ["", "InternalFailure", "InternalFailure", ""]


@pytest.mark.parametrize("type", ["Vpc", VPC])
def test_only_calls_of_the_type_are_counted(account, type) -> None:
    faults.plan(account.cloud_state, "fail", 1, type=type)
    account.create("Eip", "e")
    assert _calls(account, 1) == ["InternalFailure"]


def test_updates_and_deletions_are_calls_too_but_previews_are_not(account) -> None:
    vpc = account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
    faults.plan(account.cloud_state, "fail", 1, times=2)
    account.provider.create(vpc.urn, vpc.inputs, preview=True)
    assert account.refused(lambda: account.update(vpc, tags={"a": "b"})).code == "InternalFailure"
    assert account.refused(lambda: account.delete(vpc)).code == "InternalFailure"
    account.delete(vpc)


@pytest.mark.parametrize(("kind", "waited"), [("throttle", 1 + 2 + 4), ("unseen", 0.5 + 1 + 2)])
def test_a_retried_fault_costs_simulated_time_and_does_not_fail_the_call(account, machine, kind, waited) -> None:
    faults.plan(account.cloud_state, kind, 1, type="Instance", amount=3)
    machine()
    usual = account.provider.cloud.seconds("aws:ec2/instance:Instance", "create")
    assert account.cloud_state.operations()[-1].simulated_seconds == usual + waited


ENDLESS = {
    "throttle": ("RequestLimitExceeded", 26),
    "unseen": ("InvalidParameterValue", 16),
    "capacity": ("InsufficientInstanceCapacity", 26),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_the_provider_gives_up_after_the_retries_of_the_real_one(account, machine, kind) -> None:
    code, tries = ENDLESS[kind]
    faults.plan(account.cloud_state, kind, 1, type="Instance", amount=1000)
    refusal = account.refused(machine)
    assert refusal.code == code
    answer = account.provider.cloud.failures.answer(kind)
    assert f"({len(list(answer.waits())) + 1} tries in" in refusal.message
    assert len(list(answer.waits())) + 1 == tries


def test_a_slow_call_waits_for_the_planned_seconds(account) -> None:
    paused: list[float] = []
    account.provider.pause = paused.append
    faults.plan(account.cloud_state, "slow", 2, amount=7.5)
    assert _calls(account, 3) == ["", "", ""]
    assert paused == [7.5]


@pytest.mark.parametrize(("kind", "made"), [("die-before", 0), ("die-after", 1)])
def test_the_process_ends_before_or_after_the_cloud_acts(account, monkeypatch, kind, made) -> None:
    class Died(BaseException):
        pass

    def die(code: int) -> None:
        raise Died(code)

    monkeypatch.setattr(os, "_exit", die)
    faults.plan(account.cloud_state, kind)
    with pytest.raises(Died) as caught:
        account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
    assert caught.value.args == (faults.DEATH,)
    other = CloudState(account.cloud_state.path)
    assert len(other.resources()) == made
    assert faults.planned(other) == [], "the next run meets it no more"
    other.close()


def test_planned_faults_are_listed_and_deleted(account) -> None:
    first = faults.plan(account.cloud_state, "fail", 3)
    second = faults.plan(account.cloud_state, "unseen")
    assert faults.planned(account.cloud_state) == [first, second]
    assert (second.type, second.amount) == (None, 1), "it comes at what the cloud's table says"
    faults.clear(account.cloud_state)
    assert faults.planned(account.cloud_state) == []
    assert _calls(account, 3) == ["", "", ""]


@pytest.mark.parametrize(("kind", "nth", "times"), [("explode", 1, 1), ("fail", 0, 1), ("fail", 1, 0)])
def test_an_invalid_fault_is_refused(cloud_state, kind, nth, times) -> None:
    with pytest.raises(ValueError, match="fault"):
        faults.plan(cloud_state, kind, nth, times=times)
