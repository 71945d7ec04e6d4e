"""What holds of every cloud's wiring, on a recording monitor."""

from typing import Any

import pytest

from sandbox import clouds
from sandbox.values import Secret
from tests.components.wiring import ROOT, recording

STACKS = tuple(f"{cloud}-{kind}" for cloud in ("azure", "gcp") for kind in ("dev", "ci", "prod"))


@pytest.mark.parametrize("stack", STACKS)
def test_the_urns_are_those_on_record_since_names_are_identity(stack: str) -> None:
    urns = sorted(each.urn for each in recording(stack).resources.values())
    assert urns == (ROOT / "tests" / "golden" / "urns" / f"{stack}.txt").read_text().splitlines()


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
def test_every_component_registers_its_outputs_and_everything_has_a_parent(stack: str) -> None:
    urns = {each.urn for each in recording(stack).resources.values()}
    for each in recording(stack).resources.values():
        assert each.custom or each.outputs, f"{each.urn} registers no outputs"
        assert each.parent in urns or each.type == "mullion:index:MixedCluster"


@pytest.mark.parametrize("stack", STACKS)
def test_the_same_resources_are_registered_under_preview(stack: str) -> None:
    assert set(recording(stack).resources) == set(recording(stack, preview=True).resources)
