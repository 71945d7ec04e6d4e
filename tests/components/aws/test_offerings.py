"""Zones and sizes are chosen by what the account's zones offer."""

from collections.abc import Mapping
from typing import Any

import pytest

from components.stack_files.stack import CLUSTER
from operations.recorder import cloud_answers
from operations.recorder.recorder import record
from tests.components.aws.samples import changed
from tests.components.recorded_wiring import config, recording

OFFERINGS = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
SUBNET = "aws:ec2/subnet:Subnet"


def recorded_without(size: str, letters: str, **cluster: Any) -> Any:
    """Record aws-dev in a region whose zones with these letters do not offer a size."""

    all_offered = cloud_answers.INVOKES[OFFERINGS]

    def answer(region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        found = all_offered(region, asked)
        rows = [
            (zone, name)
            for zone, name in zip(found["locations"], found["instanceTypes"], strict=True)
            if name != size or zone[-1] not in letters
        ]
        return {"id": "x", "locations": [zone for zone, _ in rows], "instanceTypes": [name for _, name in rows]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("operations.recorder.cloud_answers.INVOKES", {**cloud_answers.INVOKES, OFFERINGS: answer})
        return record("aws-dev", changed("aws-dev", **cluster))


def web_size() -> str:
    return config("aws-dev")[CLUSTER]["pools"]["web"]["size"]


def test_a_new_cluster_is_built_in_zones_that_offer_all_its_sizes() -> None:
    """EC2 refuses the machine otherwise, once the network exists and zones cannot change."""
    found = recorded_without(web_size(), "a")
    assert found.errors == []
    zones = {each.inputs["availabilityZone"] for each in found.resources.values() if each.type == SUBNET}
    before = {
        each.inputs["availabilityZone"] for each in recording("aws-dev").resources.values() if each.type == SUBNET
    }
    assert {zone[-1] for zone in before} == {"a"} and {zone[-1] for zone in zones} == {"b"}


def test_a_size_that_a_zone_of_the_cluster_lacks_is_refused_before_any_network() -> None:
    region = config("aws-dev")["aws:region"]
    network = {**config("aws-dev")[CLUSTER].get("network", {}), "zone_names": [f"{region}a"]}
    found = recorded_without(web_size(), "ac", network=network)
    told = f"pools.web.size: zone {region}a does not offer {web_size()} to this account ({region}b, {region}d"
    assert any(told in each for each in found.errors), found.errors
    assert not [each for each in found.resources.values() if each.type == SUBNET]


def test_a_size_that_no_zone_offers_is_named() -> None:
    found = recorded_without(web_size(), "abcdefgh")
    assert any(f"does not offer {web_size()} to this account (no zone does)" in each for each in found.errors)
