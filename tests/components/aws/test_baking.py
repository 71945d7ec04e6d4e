"""The builder of golden images on AWS: what it is made of, judged by AWS's models of its requests."""

import asyncio
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from components.aws import baking
from components.machine.bundle import BAKE
from components.node import baking as what_is_baked
from components.wiring.baking import OF_STACK, BakedImage, Baking
from operations.recorder.recorder import Recording, record
from tests.components.official_models import aws_requests, aws_table
from tests.components.official_models.aws_requests import Call, Row
from tests.components.recorded_wiring import config, of, plan

IMAGE = "aws:ec2/amiFromInstance:AmiFromInstance"
CREATE_IMAGE = Row(
    (
        Call(
            "ec2/CreateImage",
            {
                "name": "Name",
                "sourceInstanceId": "InstanceId",
                "tags": lambda values: {
                    "TagSpecifications": [{"ResourceType": "image", "Tags": aws_table.tags(values)}]
                },
            },
        ),
    )
)
"""The provider's request for an image; `docs/images.md` names its permissions."""
OLD = BakedImage("aws-ci-windows-1", "i-00000000000000001", {OF_STACK: "aws-ci", "mullion:created": "2026-11-01"})


def wanted(stack: str = "aws-ci", pool: str = "windows") -> Baking:
    whole = plan(stack)
    group = next(each for each in whole.machine_groups if each.name == pool)
    tags = {"mullion:cluster": f"{stack}-image", "mullion:expires": "2026-11-28T22:00:00Z"}
    return Baking(whole, group, f"{stack}-image", f"{stack}-{pool}-2", "2026-11-28T20:00:00Z", tags, "cloud", 60)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recording:
    async def stopped(self: Any, instance: str, seconds: float) -> str:
        return f"stopped {instance}"

    monkeypatch.setattr(baking.Builder, "_until_stopped", stopped)
    found = record("aws-ci-image", config("aws-ci"), program=lambda: baking.register("aws-ci", wanted(), [OLD]))
    assert found.errors == []
    return found


def test_an_image_is_made_of_the_builder_and_older_ones_stay_as_they_are(recorded: Recording) -> None:
    images = of(recorded, IMAGE)
    assert images[OLD.name].inputs == {"name": OLD.name, "sourceInstanceId": OLD.source, "tags": OLD.tags}
    made = images["aws-ci-windows-2"].inputs
    assert made["sourceInstanceId"].startswith("stopped "), "not before the builder has stopped"
    assert made["tags"]["mullion:build"] == "10.0.20348"
    assert made["tags"]["mullion:bundle"] == wanted().bundle.sha256
    assert not [key for key in made["tags"] if key == "mullion:cluster"], "the reaper would take it for a cluster's"


def test_awss_models_accept_every_request(recorded: Recording) -> None:
    for each in recorded.resources.values():
        if each.type.startswith("aws:"):
            row = CREATE_IMAGE if each.type == IMAGE else aws_table.ROWS[each.type.partition(":")[2]]
            assert aws_requests.faults(row, each.inputs, each.name) == [], each.urn


def test_a_builder_asks_for_nested_virtualization_if_its_pool_offers_hyper_v(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped(self: Any, instance: str, seconds: float) -> str:
        return f"stopped {instance}"

    monkeypatch.setattr(baking.Builder, "_until_stopped", stopped)
    for offered in (False, True):
        plain = wanted()
        isolated = replace(plain, group=replace(plain.group, nested_virtualisation=offered))
        register = partial(baking.register, "aws-ci", isolated, [])
        builders = of(record("aws-ci-image", config("aws-ci"), program=register), "aws:ec2/instance:Instance")
        [machine] = builders.values()
        assert machine.inputs.get("cpuOptions") == ({"nestedVirtualization": "enabled"} if offered else None)


def test_a_builder_opens_no_port_and_reads_its_bundle_alone(recorded: Recording) -> None:
    types = [each.type for each in recorded.resources.values()]
    assert not [each for each in types if "Ingress" in each]
    [policy] = of(recorded, "aws:iam/rolePolicy:RolePolicy").values()
    [statement] = json.loads(policy.inputs["policy"])["Statement"]
    assert statement["Action"] == ["s3:GetObject"]
    [resource] = statement["Resource"]
    assert resource.endswith(f"/{wanted().bundle.key}")
    [machine] = of(recorded, "aws:ec2/instance:Instance").values()
    assert machine.inputs["instanceInitiatedShutdownBehavior"] == "stop"
    assert machine.inputs["metadataOptions"]["httpTokens"] == "required"
    assert machine.inputs["metadataOptions"]["instanceMetadataTags"] == "disabled"
    for each in recorded.resources.values():
        if each.type.startswith("aws:") and "tags" in each.inputs and each.type != IMAGE:
            assert each.inputs["tags"]["mullion:expires"] == "2026-11-28T22:00:00Z", each.urn


def test_a_builder_has_a_zone_with_its_size_and_may_send_everything(recorded: Recording) -> None:
    [subnet] = of(recorded, "aws:ec2/subnet:Subnet").values()
    assert subnet.inputs["availabilityZone"]
    [rule] = of(recorded, "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule").values()
    assert (rule.inputs["ipProtocol"], rule.inputs["cidrIpv4"]) == ("-1", "0.0.0.0/0")
    assert baking._offering("m6i.large", ["a", "b", "c"], {"a": ["t3.large"], "c": ["m6i.large"]}) == "c"
    with pytest.raises(pulumi.RunError, match=r"no zone of the region offers m6i\.large"):
        baking._offering("m6i.large", ["a"], {"a": ["t3.large"]})


def test_no_pool_has_a_smaller_disk_than_the_image() -> None:
    """EC2 refuses a volume that is smaller than the image's snapshot, and the image is for all pools of its system."""
    made = wanted()
    smaller = replace(made.group, name="other", disk_gb=made.group.disk_gb - 1)
    linux = replace(made.group, os=made.plan.control_plane.os, disk_gb=8)
    groups = SimpleNamespace(machine_groups=(linux, made.group, smaller))
    assert replace(made, plan=groups).disk_gb == smaller.disk_gb  # type: ignore[arg-type]


def test_its_bundle_has_no_phase_of_a_node_and_lists_what_is_removed() -> None:
    assert wanted().bundle.sha256 in wanted().user_data("https://store/x.zip")
    made = wanted().bundle.content
    assert BAKE.encode() in made
    assert b"image/bake.ps1" in made
    assert what_is_baked.image_plan(wanted().group.node_plan).registration["labels"] == ""


class Calls:
    """Answers with states in turn; the last one for ever."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)

    async def invoke(self, token: str, arguments: dict[str, str]) -> dict[str, str]:
        assert (token, arguments) == ("aws:ec2/getInstance:getInstance", {"instanceId": "i-1"})
        return {"instanceState": self.states.pop(0) if len(self.states) > 1 else self.states[0]}


def waited(seconds: float, *states: str) -> str:
    builder = baking.Builder.__new__(baking.Builder)
    builder._calls = Calls(*states)  # type: ignore[assignment]
    return asyncio.run(builder._until_stopped("i-1", seconds))


def test_only_a_stopped_builder_becomes_an_image() -> None:
    assert waited(10, "pending", "running", "stopping", "stopped") == "i-1"
    for state, said in (
        ("running", "i-1 is running after 0 s, so its set-up or sysprep failed"),
        ("terminated", "was deleted"),
    ):
        with pytest.raises(pulumi.RunError, match=said):
            waited(0.2, "running", state)
