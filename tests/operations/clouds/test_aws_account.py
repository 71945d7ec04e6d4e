"""The free plan and the default key of an account of AWS, as its command line prints them."""

from dataclasses import replace
from typing import Any

import pytest

from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.clouds import aws_account
from operations.clouds.identity import Identity
from operations.commands import account_check
from operations.console.exits import Stop
from operations.stacks import stack_files
from tests.components.recorded_wiring import plan
from tests.operations.clouds.test_account_state import answer
from tools.golden.cases import without_egress

FREE: dict[str, Any] = {  # AWS CLI reference, freetier get-account-plan-state
    "get-account-plan-state": {
        "accountId": "111122223333",
        "accountPlanType": "FREE",
        "accountPlanStatus": "ACTIVE",
        "accountPlanRemainingCredits": {"amount": 100.0, "unit": "USD"},
    }
}
PAID: dict[str, Any] = {"get-account-plan-state": {"accountPlanType": "PAID", "accountPlanStatus": "ACTIVE"}}
OWN = "arn:aws:kms:eu-west-1:111122223333:key/00000000-0000-4000-8000-000000000000"
TEAM = Identity(("--profile", "team"))


def with_size(planned: ClusterPlan, size: str) -> ClusterPlan:
    """Return the plan with machines of one size."""
    pools = tuple(replace(pool, size=size) for pool in planned.pools)
    return replace(planned, control_plane=replace(planned.control_plane, size=size), pools=pools)


def test_the_free_plan_refuses_a_new_cluster_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, FREE)
    [(line, fault)] = aws_account.account_plan(plan("aws-dev"), TEAM)
    assert line == "plan of the account: FREE"
    assert "EC2 refuses m6i.large, m6i.xlarge on the free plan" in fault
    assert "upgrade-account-plan --account-plan-type PAID" in fault
    assert asked == [f"/bin/{' '.join(aws_account._PLAN)} --profile team"]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(stack_files, "config", lambda _: {})
    with pytest.raises(Stop, match="plan of the account: FREE"):
        account_check.refuse_short("mine", plan("aws-dev"), "eu-west-1", sandbox=False, built=False)


def test_the_free_plan_starts_its_own_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, FREE)
    free = with_size(plan("aws-dev"), "m7i-flex.large")
    assert aws_account.account_plan(free, TEAM) == [("plan of the account: FREE", "")]


@pytest.mark.parametrize(("answers", "said"), [(PAID, ["plan of the account: PAID"]), ({}, [])], ids=["paid", "older"])
def test_a_paid_plan_and_an_account_without_a_plan_are_no_fault(
    answers: dict[str, Any], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, answers)
    assert aws_account.account_plan(plan("aws-dev"), TEAM) == [(line, "") for line in said]


def test_another_form_of_the_answer_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, {"get-account-plan-state": ["FREE"], "get-ebs-default-kms-key-id": {"KeyId": OWN}})
    assert aws_account.account_plan(plan("aws-dev"), TEAM) == []
    assert aws_account.default_key(plan("aws-dev"), "eu-west-1", TEAM) == []


def test_other_clouds_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, FREE)
    assert not aws_account.account_plan(plan("gcp-dev"), TEAM)
    assert not aws_account.default_key(plan("gcp-dev"), "europe-west1", TEAM)
    assert asked == []


def test_a_default_key_of_the_account_is_a_warning_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answer(monkeypatch, {"get-ebs-default-kms-key-id": {"KmsKeyId": OWN}})
    monkeypatch.setattr(stack_files, "config", lambda _: {})
    account_check.refuse_short("mine", plan("aws-dev"), "eu-west-1", sandbox=False, built=False)
    said = f"warning: disks are encrypted with the account's default key {OWN}"
    assert said in capsys.readouterr().err
    assert any("get-ebs-default-kms-key-id --region eu-west-1" in each for each in asked)


def test_awss_own_default_key_and_a_key_of_the_stack_need_no_rights_on_a_default_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, {"get-ebs-default-kms-key-id": {"KmsKeyId": "alias/aws/ebs"}})
    assert aws_account.default_key(plan("aws-dev"), "eu-west-1", TEAM) == []
    answer(monkeypatch, {"get-ebs-default-kms-key-id": {"KmsKeyId": OWN}})
    planned = plan("aws-dev")
    keyed = replace(planned, spec=planned.spec.model_copy(update={"encryption_key": OWN}))
    assert aws_account.default_key(keyed, "eu-west-1", TEAM) == []


def closed_plan(**network: Any) -> ClusterPlan:
    """Return the plan of the production stack without a way to the internet."""
    config = without_egress("aws")
    config[CLUSTER]["network"] |= network
    return plan_cluster("aws-prod", read_stack("aws-prod", config).spec)


def endpoints(planned: ClusterPlan, **zones: list[str]) -> dict[str, Any]:
    """Return what AWS's command line prints of the endpoints' zones: a, b and c, but for these services."""
    named = {each.service: zones.get(each.service, ["a", "b", "c"]) for each in planned.private_endpoints}
    rows = [
        [f"com.amazonaws.eu-west-1.{name}", [f"eu-west-1{each}" for each in found]] for name, found in named.items()
    ]
    return {"describe-vpc-endpoint-services": rows}


def test_named_zones_without_an_endpoint_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = closed_plan(zone_names=["eu-west-1a", "eu-west-1b", "eu-west-1c"])
    asked = answer(monkeypatch, endpoints(planned, secretsmanager=["a", "c"]))
    [(line, fault)], notes = aws_account.endpoint_zones(planned, "eu-west-1", TEAM)
    assert line == "network.zone_names: eu-west-1b has no endpoint of com.amazonaws.eu-west-1.secretsmanager"
    assert (fault, notes) == ("write other zones in network.zone_names", [])
    assert "--region eu-west-1 --output json --profile team" in asked[0]
    monkeypatch.setattr(stack_files, "config", lambda _: {})
    with pytest.raises(Stop, match="eu-west-1b has no endpoint"):
        account_check.refuse_short("mine", planned, "eu-west-1", sandbox=False, built=False)


def test_zones_that_are_not_named_yet_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = closed_plan()
    answer(monkeypatch, endpoints(planned, secretsmanager=["a", "c"]))
    rows, [note] = aws_account.endpoint_zones(planned, "eu-west-1", TEAM)
    assert rows == [] and note.startswith("eu-west-1b has no endpoint of com.amazonaws.eu-west-1.secretsmanager")
    answer(monkeypatch, endpoints(planned))
    assert aws_account.endpoint_zones(planned, "eu-west-1", TEAM) == ([], [])
    answer(monkeypatch, {"describe-vpc-endpoint-services": {"message": "denied"}})
    assert aws_account.endpoint_zones(planned, "eu-west-1", TEAM) == ([], [])


def test_a_cluster_without_endpoints_asks_for_no_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {})
    assert aws_account.endpoint_zones(plan("aws-prod"), "eu-west-1", TEAM) == ([], [])
    assert asked == []
