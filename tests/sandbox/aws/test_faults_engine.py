"""Faults, and changes behind the engine's back, with the real engine."""

from typing import Any

import pytest
from pulumi import automation as auto

from sandbox import faults, tamper
from tests.sandbox.running import Runner, Small

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]
VPC, EIP = "aws:ec2/vpc:Vpc", "aws:ec2/eip:Eip"


def two_things(settings: dict[str, Any]) -> None:
    import pulumi
    import pulumi_aws as aws

    vpc = aws.ec2.Vpc("vpc", cidr_block="10.20.0.0/16", tags={"owner": settings["owner"]})
    aws.ec2.Eip("eip", tags={"owner": "us"}, opts=pulumi.ResourceOptions(depends_on=[vpc]))


SMALL = Small(two_things)


def _types(runner: Runner) -> tuple[list[str], list[str]]:
    """Return resources of the cloud state and of the engine's state."""
    state = runner.stack.export_stack().deployment or {}
    known = [each["type"] for each in state.get("resources", []) if each["type"].startswith("aws:")]
    return [each.type for each in runner.cloud_state.resources()], known


@pytest.mark.parametrize(("kind", "made"), [("die-after", [VPC]), ("die-before", [])])
def test_a_provider_that_dies_leaves_cloud_state_and_engine_state_as_a_real_one(runner: Runner, kind, made) -> None:
    faults.plan(runner.cloud_state, kind, type="Vpc")
    with pytest.raises(auto.errors.CommandError):
        runner.stack.up()
    assert _types(runner) == (made, [])


def test_the_next_up_makes_a_failed_call_and_a_throttled_call_is_retried(runner: Runner) -> None:
    faults.plan(runner.cloud_state, "fail", type="Eip")
    faults.plan(runner.cloud_state, "throttle", type="Vpc", amount=4)
    with pytest.raises(auto.errors.CommandError, match="creating Eip eip: InternalFailure"):
        runner.stack.up()
    assert _types(runner) == ([VPC], [VPC])
    assert runner.run(runner.stack.up) == {"Eip eip": ("create", ())}


def test_a_refresh_reads_changed_and_deleted_resources(runner: Runner) -> None:
    runner.stack.up()
    [vpc], [eip] = runner.cloud_state.resources(VPC), runner.cloud_state.resources(EIP)
    tamper.change(runner.cloud_state, vpc, {"tags.owner": "them", "enableDnsHostnames": True})
    tamper.remove(runner.cloud_state, eip)
    assert runner.run(runner.stack.preview) == {}, "without a refresh the engine does not see them"
    runner.stack.refresh()
    assert _types(runner) == ([VPC], [VPC])
    done = runner.preview_and_up()
    assert done == {"Vpc vpc": ("update", ("enableDnsHostnames", "tags")), "Eip eip": ("create", ())}
    [vpc] = runner.cloud_state.resources(VPC)
    assert (vpc.tags, vpc.outputs["enableDnsHostnames"]) == ({"owner": "us"}, False)
