"""Where `aws ssm` finds a machine, and what it has to say about the stack's credentials."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from components.aws import records
from components.aws.records import Records
from components.rollout.provider_calls import ProviderError
from components.rollout.session_commands import MachinePlace
from tests.components.recorded_wiring import plan


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"profile": "team"}, ""),
        ({"assumeRoles": '[{"roleArn": "arn:aws:iam::111122223333:role/build"}]'}, "sets aws:assumeRoles, which"),
        ({"accessKey": "AKIAEXAMPLE"}, "sets aws:accessKey, which"),
    ],
)
def test_a_place_names_the_profile_and_credentials_that_the_command_does_not_use(
    settings: dict[str, str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan("aws-prod")
    machine = planned.control_plane.machines[0]

    async def in_states(_: Records, states: list[str]) -> dict[str, str]:
        return {str(machine.address): "i-0"} if states == records.RUNNING else {}

    async def invoke(token: str, _: dict[str, Any]) -> dict[str, Any]:
        assert token == "aws:index/getRegion:getRegion"
        return {"region": "eu-west-1"}

    monkeypatch.setattr(records.pulumi, "Config", lambda name: SimpleNamespace(get=settings.get))
    monkeypatch.setattr(Records, "_in_states", in_states)
    known: Any = object.__new__(Records)
    object.__setattr__(known, "calls", SimpleNamespace(invoke=invoke))
    found = asyncio.run(known.place(planned, machine))
    assert found == MachinePlace("aws", "i-0", "eu-west-1", profile=settings.get("profile", ""), hint=found.hint)
    assert hint in found.hint and bool(found.hint) == bool(hint)


@pytest.mark.parametrize("reason", ["RequestLimitExceeded: Request limit exceeded.", "Your query returned no results"])
def test_a_refused_question_about_stopped_instances_is_no_answer(reason: str) -> None:
    async def invoke(_: str, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["instanceStateNames"] == records.STOPPED:
            raise ProviderError(reason)
        return {"privateIps": ["10.0.0.1"], "ids": ["i-0"]}

    async def vpc() -> str:
        return "vpc-1"

    known: Any = object.__new__(Records)
    object.__setattr__(known, "calls", SimpleNamespace(invoke=invoke))
    object.__setattr__(known, "vpc_id", SimpleNamespace(future=vpc))
    if "no results" in reason:
        assert asyncio.run(known.instances()) == ({"10.0.0.1": "i-0"}, {})
    else:
        with pytest.raises(ProviderError, match="RequestLimitExceeded"):
            asyncio.run(known.instances())
