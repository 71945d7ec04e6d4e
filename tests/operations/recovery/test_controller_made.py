"""What a cloud controller made joins the state before a removal, and is deleted in an order that ends."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pulumi import automation as auto
from pulumi.automation.errors import create_command_error

from operations.console.command_line import continued_by
from operations.console.exits import Stop
from operations.engine import scratch_stack
from operations.engine.events import CLUSTER
from operations.recovery import controller_made, volumes_left
from operations.recovery.controller_made import BALANCERS, GROUP, NETWORK, TARGETS
from operations.recovery.tag_search import PROVIDER

Resource = dict[str, Any]

HEAD = f"urn:pulumi:dev::mullion::{CLUSTER}"
ROOT: Resource = {"type": CLUSTER, "urn": f"{HEAD}::dev", "inputs": {"cloud_controller": "external"}}
MACHINE = "aws:ec2/instance:Instance"
CLASSIC, NEWER = BALANCERS[1], BALANCERS[0]
FOUND = [
    {"type": CLASSIC, "id": "a1", "name": "a1", "properties": {}},
    {"type": NEWER, "id": "arn:b1", "name": "b1", "properties": {}},
    {"type": GROUP, "id": "sg-elb", "name": "sg-elb", "properties": {}},
    {"type": TARGETS, "id": "arn:t1", "name": "t1", "properties": {}},
]


def resource(type: str, name: str, **more: Any) -> Resource:
    return {"type": type, "urn": f"{HEAD}${type}::dev-{name}", "id": name, "provider": "own", "inputs": {}, **more}


def state(*names: str) -> list[Resource]:
    """Return a state with the root, the provider, and the resources of these names."""
    tags = {"tags": {"mullion:cluster": "dev", "mullion:pool": "control-plane"}}
    known = [
        resource(NETWORK, "vpc"),
        resource("aws:ec2/subnet:Subnet", "edge-0"),
        resource(GROUP, "workers"),
        resource(MACHINE, "control-plane-0", inputs=tags),
    ]
    provider = {"type": PROVIDER, "urn": f"urn:pulumi:dev::mullion::{PROVIDER}::default", "id": "p1", "inputs": {}}
    return [ROOT, provider, *(each for each in known if each["id"] in names)]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the networks that are searched; each search finds one of each kind."""
    networks = list[str]()
    monkeypatch.setattr(controller_made, "_search", lambda *given: networks.append(given[2]) or FOUND)
    return networks


def after(resources: list[Resource], name: str) -> set[str]:
    """Return the ids of what is deleted only after the resource of this id."""
    (one,) = (each for each in resources if each.get("id") == name)
    return {each["id"] for each in resources if each["urn"] in (one.get("dependencies") or [])}


def test_what_was_found_is_deleted_after_the_control_plane_and_before_the_network(searched: list[str]) -> None:
    resources = state("vpc", "edge-0", "workers", "control-plane-0")
    assert controller_made.adopt("dev", resources, sandbox=True) == ["a1", "arn:b1", "sg-elb", "arn:t1"]
    assert after(resources, "control-plane-0") == {"a1", "arn:b1"}
    assert after(resources, "a1") == {"vpc", "edge-0", "workers", "sg-elb", "arn:t1"}
    assert "sg-elb" in after(resources, "workers"), "rules of the workers' group name those of load balancers"
    places = {each["urn"]: place for place, each in enumerate(resources)}
    for each in resources:
        assert all(places[urn] < places[each["urn"]] for urn in each.get("dependencies") or []), "the engine's order"


@pytest.mark.parametrize(
    "left", [("vpc",), ("vpc", "edge-0"), ("vpc", "workers"), ("vpc", "edge-0", "control-plane-0")]
)
def test_a_removal_that_was_cut_off_anywhere_searches_again_while_the_network_is_left(
    left: tuple[str, ...], searched: list[str]
) -> None:
    """The controller may have made a load balancer after the first search."""
    resources = state(*left)
    assert controller_made.adopt("dev", resources, sandbox=True)
    assert searched == ["vpc"]
    assert "vpc" in after(resources, "sg-elb")
    assert {each["provider"] for each in resources if each.get("id") in ("a1", "sg-elb")} == {
        f"{resources[1]['urn']}::p1"
    }
    assert controller_made.adopt("dev", resources, sandbox=True) == [], "the state has them now"


def test_a_network_of_the_users_is_searched_without_being_in_the_state(searched: list[str]) -> None:
    resources = state("workers")
    inputs = {**ROOT["inputs"], "network": {"existing": {"network": "vpc-1"}}}
    resources[0] = {**ROOT, "inputs": inputs}
    assert controller_made.adopt("dev", resources, sandbox=True)
    assert searched == ["vpc-1"]


def test_nothing_is_searched_without_a_controller_or_without_a_network(searched: list[str]) -> None:
    without = [{**ROOT, "inputs": {"cloud_controller": "none"}}, *state("vpc", "workers")[1:]]
    assert controller_made.adopt("dev", without, sandbox=True) == []
    assert controller_made.adopt("dev", state(), sandbox=True) == []
    assert searched == []


@pytest.mark.parametrize("search", [controller_made.adopt, volumes_left.adopt])
def test_a_search_that_is_cut_off_names_down(search: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches before a removal are runs of the engine too."""

    def killed(**_: Any) -> None:
        raise create_command_error(auto.CommandResult("", "", -9))

    monkeypatch.setattr(scratch_stack, "_of_stack", lambda *_, **__: nullcontext())
    monkeypatch.setattr(scratch_stack, "_options", lambda *_: None)
    monkeypatch.setattr(scratch_stack.stack_files, "config", lambda _: {})
    monkeypatch.setattr(auto, "create_stack", lambda *_, **__: SimpleNamespace(up=killed))
    [root, *others] = state("vpc", "control-plane-0")
    resources = [{**root, "inputs": {**root["inputs"], "csi": ["ebs"]}}, *others]
    with (
        continued_by(lambda: "mullion down dev --yes"),
        pytest.raises(Stop, match="`mullion down dev --yes` recovers and continues"),
    ):
        search("dev", resources, sandbox=True)
