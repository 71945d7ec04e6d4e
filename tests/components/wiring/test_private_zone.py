"""The user's private zone of the API's name: it answers in the VPC, and no later `up` takes another one."""

import asyncio
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws.existing import look
from components.wiring.fixed_layout import _same  # pyright: ignore[reportPrivateUsage]
from sandbox import clouds
from sandbox.provider import Provider
from tests import existing_networks
from tests.components.wiring.test_existing_network import Asked, changed

ZONE = "Z0123456789ABCDEFGHIJ"
OTHER = "vpc-0fedcba987654321f"


def looked_up(folder: Path, vpcs: list[dict[str, str]] | None) -> Asked:
    """Look up a network whose file names the zone. vpcs: those with which it is associated; None: the user's."""
    existing = {**existing_networks.EXISTING["aws"], "private_zone": ZONE}
    settings, spec, region = existing_networks.stack("aws", existing=existing)
    cloud_state = existing_networks.create(folder / "world.db", "aws-existing", settings)
    if vpcs is not None:
        with cloud_state.transaction():
            changed("Zone", vpcs=vpcs)(cloud_state)
    provider = Provider(clouds.of("aws"), cloud_state)
    provider.configure({provider.cloud.region: region})
    lookups = Asked(provider, spec)
    asyncio.run(look(lookups, "aws-existing"))
    return lookups


def test_a_zone_that_is_associated_with_the_vpc_is_accepted(tmp_path: Path) -> None:
    looked_up(tmp_path, None).finish()


def test_a_zone_that_answers_in_another_vpc_alone_is_refused_with_the_command_that_associates_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(pulumi.RunError, match="nothing was changed") as refused:
        looked_up(tmp_path, [{"vpcId": OTHER}]).finish()
    assert f"network.existing.private_zone: {ZONE} is not associated with vpc-" in str(refused.value)
    assert f"aws route53 associate-vpc-with-hosted-zone --hosted-zone-id {ZONE}" in str(refused.value)


BUILT: dict[str, Any] = {"nodes": "10.30.0.0/20", "existing": ["vpc-1"]}


@pytest.mark.parametrize(("kept", "planned"), [("", ZONE), (ZONE, ""), (ZONE, "Z1")])
def test_another_zone_is_refused_while_the_cluster_exists(kept: str, planned: str) -> None:
    with pytest.raises(pulumi.RunError, match=r"network\.existing\.private_zone"):
        _same({**BUILT, "private_zone": kept}, {**BUILT, "private_zone": planned})


def test_a_cluster_of_an_earlier_version_keeps_its_zone() -> None:
    assert _same(BUILT, {**BUILT, "private_zone": ZONE})["private_zone"] == ZONE
