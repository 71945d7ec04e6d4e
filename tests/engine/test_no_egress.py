"""A stack without a way to the internet on the real engine: built, unchanged, never given a way, removed."""

from typing import Any

import pytest

from operations.clouds import cloud_tables
from tests import existing_networks

from . import sampling, variants

pytestmark = pytest.mark.engine

STACKS = (*(f"{cloud}-dev" for cloud in sampling.CLOUDS), *sampling.EXISTING)
"""A stack of each cloud, and one in a network of the user."""
REFUSED = (
    r"network\.egress: none   \(not nat\)|no default route that machines without public addresses can use"
    r"|has no service endpoint for"
)
"""What `up` says to another egress; in the user's network the lookups say it first."""
LOST = {
    "aws-existing": ("aws:ec2/vpcEndpoint:VpcEndpoint", "aws ec2 create-vpc-endpoint"),
    "azure-existing": ("azure-native:privatedns:VirtualNetworkLink", "az network private-dns link vnet create"),
    "gcp-existing": ("gcp:dns/recordSet:RecordSet", "gcloud dns record-sets create"),
}
"""Type of what a user's network loses, and the command that `preview` then names."""


def closed(name: str) -> dict[str, Any]:
    """Return the fields of a stack without a way to the internet; in the user's network with its private zones."""
    cloud, _, kind = name.partition("-")
    network = {"existing": existing_networks.SERVICE_ZONES[cloud]} if kind == existing_networks.KIND else {}
    return {"network": {**network, "egress": "none"}, "proxy": variants.PROXY}


def opened(name: str) -> dict[str, Any]:
    """Return the fields of a stack with a way to the internet, without the zones that it does not use."""
    zones = {"existing": {"service_zones": []}} if name.endswith(existing_networks.KIND) else {}
    return {"network": {**zones, "egress": "nat"}, "proxy": variants.PROXY}


@pytest.mark.parametrize("drawn", sampling.one(STACKS))
def test_machines_without_a_way_to_the_internet_boot_and_stay_without_one(drawn: str, new_stack: Any) -> None:
    name = sampling.drawn(drawn, STACKS, "no egress")
    stack, cloud = new_stack(name, **closed(name)), name.partition("-")[0]
    stack.up()
    machines = stack.cloud_state.resources(cloud_tables.CLOUDS[cloud].machine)
    assert len(machines) > 1
    assert [(each.machine, each.reason) for each in stack.cloud_state.boots() if each.state != "ready"] == []
    assert stack.up().steps == {}
    before = [each.inputs for each in stack.cloud_state.resources()]
    stack.edit(**opened(name))
    with pytest.raises(Exception, match=REFUSED):
        stack.up()
    assert [each.inputs for each in stack.cloud_state.resources()] == before
    stack.edit(**closed(name))
    stack.down()


@pytest.mark.parametrize("drawn", sampling.one((*LOST,)))
def test_a_users_network_that_lacks_what_machines_ask_is_refused_with_the_command_that_makes_it(
    drawn: str, new_stack: Any
) -> None:
    name = sampling.drawn(drawn, (*LOST,), "lost endpoints")
    stack, (kind, command) = new_stack(name, **closed(name)), LOST[name]
    cloud_state = stack.cloud_state
    with cloud_state.transaction():
        for each in cloud_state.resources(kind):
            cloud_state.remove(each.sequence)
    with pytest.raises(Exception, match=command):
        stack.preview()
