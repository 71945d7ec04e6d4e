"""A stack without a way to the internet on the real engine: built, unchanged, never given a way, removed."""

from typing import Any

import pytest

from operations.clouds import cloud_tables

from . import sampling

pytestmark = pytest.mark.engine

PROXY = {"http": "http://10.9.0.4:3128", "https": "http://10.9.0.4:3128"}
STACKS = ("aws-dev", "aws-existing", "azure-dev", "gcp-dev")
"""Stacks of the clouds on which it is built, and one in a network of the user."""
REFUSED = r"network\.egress: none   \(not nat\)|no default route that machines without public addresses can use"
"""What `up` says to another egress; in the user's network the lookups say it first."""


@pytest.mark.parametrize("drawn", sampling.one(STACKS))
def test_machines_without_a_way_to_the_internet_boot_and_stay_without_one(drawn: str, new_stack: Any) -> None:
    name = sampling.drawn(drawn, STACKS, "no egress")
    stack, cloud = new_stack(name, network={"egress": "none"}, proxy=PROXY), name.partition("-")[0]
    stack.up()
    machines = stack.cloud_state.resources(cloud_tables.CLOUDS[cloud].machine)
    assert len(machines) > 1
    assert [(each.machine, each.reason) for each in stack.cloud_state.boots() if each.state != "ready"] == []
    assert stack.up().steps == {}
    before = [each.inputs for each in stack.cloud_state.resources()]
    stack.edit(network={"egress": "nat"}, proxy=PROXY)
    with pytest.raises(Exception, match=REFUSED):
        stack.up()
    assert [each.inputs for each in stack.cloud_state.resources()] == before
    stack.edit(network={"egress": "none"}, proxy=PROXY)
    stack.down()
