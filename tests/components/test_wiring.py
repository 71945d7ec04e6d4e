"""What holds of every cloud's wiring, on a recording monitor."""

from typing import Any

import pytest

from sandbox import clouds
from sandbox.values import Secret
from tests.components.wiring import ROOT, recording

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


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value


@pytest.mark.parametrize("stack", STACKS)
def test_the_same_resources_are_registered_under_preview(stack: str) -> None:
    assert set(recording(stack).resources) == set(recording(stack, preview=True).resources)
