"""`mullion sandbox`: faults, changes outside of Pulumi, and what blocks machines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from operations.console.exits import Exit
from operations.stacks.target import cloud_state_file
from sandbox import faults
from sandbox.aws.cloud import AWS
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from sandbox.records import Boot

Run = Callable[..., Result]


@pytest.fixture
def cloud_state(clone: Path) -> Iterator[CloudState]:
    """The sandbox of the stack `small`, with a VPC and an address, both named `same`, and one more VPC."""
    file = cloud_state_file("small")
    file.parent.mkdir(parents=True)
    made = CloudState(file, seed="test")
    provider = Provider(AWS, made)
    provider.configure({"region": "eu-west-1"})
    for type, name, inputs in (
        ("aws:ec2/vpc:Vpc", "same", {"cidrBlock": "10.0.0.0/16", "tags": {"owner": "us"}}),
        ("aws:ec2/eip:Eip", "same", {}),
        ("aws:ec2/vpc:Vpc", "net", {"cidrBlock": "10.1.0.0/16"}),
    ):
        provider.create(f"urn:pulumi:small::mullion::{type}::{name}", inputs, preview=False)
    yield made
    made.close()


def test_faults_are_planned_listed_and_deleted(cloud_state, mullion: Run) -> None:
    result = mullion("sandbox", "fault", "small", "--fail", "3", "--throttle", "1", "--tries", "7", "--type", "Vpc")
    assert result.exit_code == 0, result.output
    assert [(each.kind, each.nth, each.type, each.amount) for each in faults.planned(cloud_state)] == [
        ("fail", 3, "Vpc", 0),
        ("throttle", 1, "Vpc", 7),
    ]
    listed = mullion("sandbox", "fault", "small", "--list")
    assert "throttle" in listed.stdout
    assert "InternalFailure" in listed.stdout
    assert mullion("sandbox", "fault", "small", "--clear").stdout == "no fault is planned in the sandbox of small\n"
    assert faults.planned(cloud_state) == []


KINDS = [
    (("--die-before", "4"), ("die-before", 4, 0)),
    (("--die-after", "2"), ("die-after", 2, 0)),
    (("--unseen", "1"), ("unseen", 1, 3)),
    (("--slow", "2.5", "--at", "6"), ("slow", 6, 2.5)),
    (("--late", "1.5", "--at", "2"), ("late", 2, 1.5)),
]


@pytest.mark.parametrize(("words", "planned"), KINDS)
def test_each_kind_of_fault_has_its_option(cloud_state, mullion: Run, words, planned) -> None:
    assert mullion("sandbox", "fault", "small", *words, "--times", "2").exit_code == 0
    [fault] = faults.planned(cloud_state)
    assert (fault.kind, fault.nth, fault.amount) == planned
    assert fault.times == 2


WRONG = [
    (("fault", "small"), "choose a fault"),
    (("fault", "small", "--fail", "1", "--type", "Machine"), "no type 'Machine'"),
    (("fault", "large", "--fail", "1"), "mullion up large --sandbox"),
    (("change", "small", "nothing", "a=b"), "there is no 'nothing'"),
    (("change", "small", "same", "a=b"), "say which: Vpc/same, Eip/same"),
    (("change", "small", "net", "owner"), "is not PROPERTY=VALUE"),
    (("change", "small", "net", "enableDnsHostname=true"), "did you mean enableDnsHostnames"),
    (("change", "small", "net", "enableDnsHostnames=maybe"), "must be a boolean"),
    (("change", "small", "net", "cidrBlock=10.9.0.0/16"), "cannot be changed in place"),
    (("remove", "small", "nothing"), "there is no 'nothing'"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_an_invalid_command_changes_nothing_and_says_what_is_valid(cloud_state, mullion: Run, words, message) -> None:
    before = cloud_state.resources()
    result = mullion("sandbox", *words)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr
    assert (cloud_state.resources(), faults.planned(cloud_state)) == (before, [])


def test_change_takes_type_and_name_or_id_of_a_resource(cloud_state, mullion: Run) -> None:
    assert (
        mullion("sandbox", "change", "small", "Vpc/same", "tags.owner=them", "enableDnsHostnames=true").exit_code == 0
    )
    [same, net] = cloud_state.resources("aws:ec2/vpc:Vpc")
    assert same.inputs["tags"] == same.tags == {"owner": "them"}
    assert same.inputs["enableDnsHostnames"] is True
    assert mullion("sandbox", "change", "small", net.id, 'tags={"a": "1"}').exit_code == 0
    assert cloud_state.resources("aws:ec2/vpc:Vpc")[1].tags == {"a": "1"}


def test_remove_deletes_a_resource(cloud_state, mullion: Run) -> None:
    assert mullion("sandbox", "remove", "small", "net").stdout == "removed Vpc/net\n"
    assert [each.name for each in cloud_state.resources()] == ["same", "same"]


def test_boots_lists_waiting_machines_with_what_blocks_them(cloud_state, mullion: Run) -> None:

    cloud_state.put_boot(
        Boot("i-1", "web-0", "0" * 64, "waiting", "there is no object x in bucket b", "2026-01-01T00:00:00Z")
    )
    result = mullion("sandbox", "boots", "small")
    assert "web-0" in result.stdout
    assert "there is no object x in bucket b" in result.stdout


@pytest.mark.parametrize("name", ["web", "small-web", "Vpc/web", "Vpc/small-web"])
def test_a_resource_is_found_by_its_name_with_and_without_the_stack(cloud_state, mullion: Run, name: str) -> None:
    provider = Provider(AWS, cloud_state)
    provider.configure({"region": "eu-west-1"})
    urn = "urn:pulumi:small::mullion::aws:ec2/vpc:Vpc::small-web"
    provider.create(urn, {"cidrBlock": "10.2.0.0/16"}, preview=False)
    result = mullion("sandbox", "remove", "small", name)
    assert result.stdout == "removed Vpc/small-web\n", result.output
