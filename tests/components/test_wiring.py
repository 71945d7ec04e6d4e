"""What holds of every cloud's wiring, on a recording monitor."""

import json
import re
from typing import Any

import pytest

from operations import clouds as commands
from sandbox import clouds
from sandbox.values import Secret
from tests.components.wiring import ROOT, plan, recording

STACKS = (
    *(f"{cloud}-{kind}" for cloud in ("aws", "azure", "gcp") for kind in ("dev", "ci", "prod")),
    "aws-docker",
    "aws-routed",
)


@pytest.mark.parametrize("stack", STACKS)
def test_the_urns_are_those_on_record_since_names_are_identity(stack: str) -> None:
    """A difference replaces resources of clusters that exist: it needs aliases, then `make generate`."""
    urns = sorted(each.urn for each in recording(stack).resources.values())
    assert len(set(urns)) == len(recording(stack).resources)
    assert urns == (ROOT / "tests" / "golden" / "urns" / f"{stack}.txt").read_text().splitlines()


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_has_a_parent_below_the_cluster(stack: str) -> None:
    by_urn = {each.urn: each for each in recording(stack).resources.values()}
    for each in by_urn.values():
        if each.type == "mullion:index:MixedCluster":
            continue
        above = each
        while above.parent in by_urn:
            above = by_urn[above.parent]
        assert above.type == "mullion:index:MixedCluster", f"{each.urn} hangs below {above.urn}"


@pytest.mark.parametrize("stack", STACKS)
def test_every_component_registers_its_outputs_and_has_children(stack: str) -> None:
    found = recording(stack).resources.values()
    parents = {each.parent for each in found}
    for each in found:
        if not each.custom:
            assert each.outputs, f"{each.urn} registers no outputs"
            assert each.urn in parents, f"{each.urn} has no children"


@pytest.mark.parametrize("stack", STACKS)
def test_every_property_is_one_that_the_sdk_knows_in_its_type(stack: str) -> None:
    cloud = clouds.of(stack.partition("-")[0])
    ours = [each for each in recording(stack).resources.values() if each.type.startswith(f"{cloud.name}:")]
    assert len(ours) > 40, stack
    for each in ours:
        failures = cloud.shapes.check(each.type, {key: _plain(value) for key, value in each.inputs.items()})
        assert failures == [], each.urn


REQUIRED = {
    "aws": ("aws:ec2/subnet:Subnet", "vpcId"),
    "azure": ("azure-native:network:Subnet", "virtualNetworkName"),
    "gcp": ("gcp:compute/subnetwork:Subnetwork", "network"),
}
"""A type of each cloud, and an input that its SDK asks for."""


@pytest.mark.parametrize("name", REQUIRED)
def test_a_misspelt_or_missing_property_is_found_by_the_sdks_types(name: str) -> None:
    """At the top and further in."""
    check = clouds.of(name).shapes.check
    found = recording(f"{name}-dev").resources.values()
    machine = next(each for each in found if each.type == commands.CLOUDS[name].machine)
    inputs = {key: _plain(value) for key, value in machine.inputs.items()}
    inner = next(key for key, value in inputs.items() if isinstance(value, dict) and "ags" not in key)
    assert check(machine.type, inputs) == []
    for wrong in ({"nmae": "x"}, {inner: {**inputs[inner], "wrongly": "x"}}, {inner: 7}):
        assert check(machine.type, {**inputs, **wrong}) != [], wrong
    kind, required = REQUIRED[name]
    subnet = next(each for each in found if each.type == kind)
    assert check(kind, {key: value for key, value in subnet.inputs.items() if key != required}) != []


HEADINGS = ["Needs", "Set-up", "Cluster", "What `plan` shows", "Verify", "Limits", "Destroy"]


@pytest.mark.parametrize("name", clouds.CLOUDS)
def test_the_page_of_a_cloud_has_the_same_headings_and_what_plan_prints(name: str) -> None:
    page, stack = (ROOT / "docs" / f"{name}.md").read_text(), f"{name}-dev"
    found, planned = recording(stack), plan(stack)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    numbers = re.search(r"(\d+) machines, (\d+) (?:security group|firewall) rules,\s(\d+) resources", page)
    assert numbers, "the numbers that `plan --resources` prints"
    assert tuple(map(int, numbers.groups())) == (len(planned.machines), len(planned.rules), len(found.resources))
    policies = re.findall(r"^ *```json\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    assert all(json.loads(each) for each in policies), "can be pasted"
    assert policies or re.search(r"^ *```(?:sh|yaml)\n", page.partition("## Set-up")[0], re.MULTILINE)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value


@pytest.mark.parametrize("stack", STACKS)
def test_the_same_resources_are_registered_under_preview(stack: str) -> None:
    assert set(recording(stack).resources) == set(recording(stack, preview=True).resources)
