"""The recording monitor: everything the program registers, with every option, and no engine."""

import asyncio
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import Output, ResourceOptions
from pulumi.runtime.settings import get_root_resource

from operations.recorder.recorder import Key, Recording, record
from operations.stacks import stack_files
from sandbox.values import UNKNOWN, Secret, plain

REGION = {"aws:region": "eu-west-1"}


class Shop(pulumi.ComponentResource):
    """A component with one resource of each sort that matters here."""

    def __init__(self, name: str) -> None:
        super().__init__("test:index:Shop", name, {"size": 3})
        import pulumi_aws as aws

        zones = aws.get_availability_zones_output(state="available").names
        child = ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", opts=child)
        aws.ec2.Subnet(
            "first",
            vpc_id=vpc.id,
            availability_zone=zones[1],
            opts=ResourceOptions(
                parent=self, depends_on=[vpc], protect=True, retain_on_delete=True, ignore_changes=["tags"]
            ),
        )
        kept = pulumi.Stash(
            "kept",
            input=Output.secret({"key": "hidden"}),
            opts=ResourceOptions(
                parent=self,
                additional_secret_outputs=["output"],
                delete_before_replace=True,
                replacement_trigger=[1, vpc.id],
            ),
        )
        bucket = aws.s3.Bucket("store", opts=child)
        pulumi.export("place", bucket.bucket_regional_domain_name)
        pulumi.export("secret", kept.output)
        self.register_outputs({"zone": zones[0]})


def shop() -> None:
    """The program under test."""
    pulumi.warn("mind the step")
    Shop("shop")


@pytest.fixture(scope="module")
def up() -> Recording:
    return record("dev", REGION, program=shop)


@pytest.fixture(scope="module")
def preview() -> Recording:
    return record("dev", REGION, preview=True, program=shop)


STACK = "urn:pulumi:dev::mullion::pulumi:pulumi:Stack::mullion-dev"
SHOP = "urn:pulumi:dev::mullion::test:index:Shop::shop"
NET = "urn:pulumi:dev::mullion::test:index:Shop$aws:ec2/vpc:Vpc::net"
FIRST = Key(SHOP, "aws:ec2/subnet:Subnet", "first")
KEPT = Key(SHOP, "pulumi:index:Stash", "kept")


def test_resources_are_found_by_parent_type_and_name(up: Recording) -> None:
    assert set(up.resources) == {
        Key(STACK, "test:index:Shop", "shop"),
        Key(SHOP, "aws:ec2/vpc:Vpc", "net"),
        FIRST,
        KEPT,
        Key(SHOP, "aws:s3/bucket:Bucket", "store"),
    }
    assert up.resources[Key(SHOP, "aws:ec2/vpc:Vpc", "net")].urn == NET, "URNs are the engine's"


def test_options_and_dependencies_of_the_request_are_there(up: Recording) -> None:
    first, kept = up.resources[FIRST], up.resources[KEPT]
    assert (first.protect, first.retain_on_delete, first.ignore_changes) == (True, True, ["tags"])
    assert first.dependencies == {NET}
    assert first.property_dependencies["vpcId"] == {NET}
    assert kept.additional_secret_outputs == ["output"]
    assert kept.delete_before_replace
    assert kept.replacement_trigger[0] == 1
    assert first.replacement_trigger is None


def test_computed_outputs_and_invokes_reach_other_resources(up: Recording) -> None:
    first = up.resources[FIRST]
    assert first.inputs["vpcId"].startswith("vpc-")
    assert first.inputs["availabilityZone"] == "eu-west-1b"
    assert up.outputs["place"].endswith(".s3.eu-west-1.amazonaws.com")


def test_in_a_preview_computed_outputs_are_unknown_and_the_resources_are_the_same(
    up: Recording, preview: Recording
) -> None:
    assert list(preview.resources) == list(up.resources)
    assert preview.resources[FIRST].inputs["vpcId"] is UNKNOWN
    assert preview.outputs["place"] is UNKNOWN


@pytest.mark.parametrize("mode", ["up", "preview"])
def test_a_stash_gives_back_its_input_and_keeps_it_secret(mode: str, request: pytest.FixtureRequest) -> None:
    recording: Recording = request.getfixturevalue(mode)
    assert isinstance(recording.resources[KEPT].inputs["input"], Secret)
    assert isinstance(recording.outputs["secret"], Secret)
    assert plain(recording.outputs["secret"]) == {"key": "hidden"}
    assert "hidden" not in repr(recording.resources[KEPT].inputs), "a secret does not show itself"


def test_outputs_of_components_and_warnings_are_recorded(up: Recording) -> None:
    assert up.resources[Key(STACK, "test:index:Shop", "shop")].outputs == {"zone": "eu-west-1a"}
    assert up.resources[FIRST].outputs is None, "only components register outputs"
    assert up.warnings == ["mind the step"]
    assert not up.errors


def test_a_refusal_is_an_error_of_the_recording() -> None:
    def refuse() -> None:
        raise pulumi.RunError("not like this")

    assert record("dev", REGION, program=refuse).errors == ["not like this"]


def test_a_refusal_inside_apply_is_an_error_too() -> None:
    def refuse(_: str) -> str:
        raise pulumi.RunError("not like this")

    def program() -> None:
        pulumi.Stash("late", input=Output.from_input("x").apply(refuse))

    assert record("dev", REGION, program=program).errors == ["not like this"]


def test_a_name_registered_twice_is_an_error_that_names_it() -> None:
    def program() -> None:
        pulumi.Stash("twin", input=1)
        pulumi.Stash("twin", input=2)

    (error,) = record("dev", REGION, program=program).errors
    assert "twin" in error


def test_an_exception_of_the_program_is_raised() -> None:
    def program() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record("dev", REGION, program=program)


def test_recording_does_not_change_the_pulumi_runtime_of_this_process() -> None:
    record("dev", REGION, program=shop)
    assert pulumi.get_stack() != "dev"
    assert get_root_resource() is None


def test_a_long_chain_of_resources_costs_in_proportion_to_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a pool that is replaced one by one could not be planned: 100 machines took ten times what 50 took."""
    looked_at: list[int] = []
    wait = asyncio.wait

    def counting(tasks: list[asyncio.Task[object]], **options: Any) -> object:
        looked_at.append(len(tasks))
        return wait(tasks, **options)

    def chain() -> None:
        before: list[pulumi.Resource] = []
        for index in range(80):
            before = [pulumi.Stash(f"link-{index}", input=index, opts=ResourceOptions(depends_on=before))]

    monkeypatch.setattr(asyncio, "wait", counting)
    assert len(record("dev", REGION, program=chain).resources) == 80
    assert sum(looked_at) < 80 * 10


@pytest.mark.parametrize("name", ["aws-dev", "aws-ci", "aws-prod"])
def test_the_repositorys_own_program_is_recorded_the_same_in_up_and_preview(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    up, preview = (record(name, stack_files.config(name), preview=each) for each in (False, True))
    assert not up.errors
    assert set(up.resources) == set(preview.resources)
    assert isinstance(up.outputs["kubeconfig"], Secret)
    assert plain(up.outputs["endpoint"]) == f"https://api.{name}.mullion.internal:6443"
