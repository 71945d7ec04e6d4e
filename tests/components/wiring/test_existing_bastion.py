"""Lookups of a Bastion host of the user, answered by the sandbox."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from sandbox import clouds
from sandbox.azure.regions import SUBSCRIPTION
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from tests import existing_networks
from tests.components.wiring.test_existing_network import ELSEWHERE, LOOKS, Asked, changed, removed
from tests.existing_networks import stack


def with_bastion(folder: Path, drift: Callable[[CloudState], None] | None = None, **fields: Any) -> Asked:
    """Return the lookups of a stack with sessions. The hub has the host of the stack file, but for `drift`."""
    hub = existing_networks.EXISTING["azure"] | {"bastion": existing_networks.BASTION}
    settings, _, region = stack("azure", existing=hub)
    cloud_state = existing_networks.create(folder / "world.db", "azure-existing", settings)
    if drift:
        with cloud_state.transaction():
            drift(cloud_state)
    provider = Provider(clouds.of("azure"), cloud_state)
    provider.configure({provider.cloud.region: region})
    lookups = Asked(provider, stack("azure", existing={**hub, "bastion": {**existing_networks.BASTION, **fields}})[1])
    asyncio.run(LOOKS["azure"](lookups))
    return lookups


def test_a_bastion_host_with_the_native_client_is_accepted(tmp_path: Path) -> None:
    lookups = with_bastion(tmp_path)
    lookups.finish()
    assert lookups.warnings == []


@pytest.mark.parametrize(
    ("drift", "fields", "says"),
    [
        (changed("BastionHost", enableTunneling=False), {}, "--sku Standard --enable-tunneling"),
        (changed("BastionHost", sku={"name": "Basic"}), {}, "has the SKU Basic, and its native client is on"),
        (removed("BastionHost"), {}, "bastion.id: hub does not exist"),
        (None, {"range": "10.31.0.0/25"}, "bastion.range: the subnet of hub has the range 10.31.0.0/26"),
    ],
    ids=["native client is off", "SKU without it", "no such host", "other range"],
)
def test_a_bastion_host_that_carries_no_session_is_refused(
    drift: Callable[[CloudState], None] | None, fields: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        with_bastion(tmp_path, drift, **fields).finish()
    assert says in str(refused.value)


def test_a_bastion_host_of_another_subscription_is_not_looked_up(tmp_path: Path) -> None:
    elsewhere = existing_networks.BASTION["id"].replace(SUBSCRIPTION, ELSEWHERE)
    lookups = with_bastion(tmp_path, id=elsewhere)
    lookups.finish()
    assert [ELSEWHERE in each for each in lookups.warnings] == [True]
