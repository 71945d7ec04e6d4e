"""A cluster in a VPC that another account shares with the stack's, on the real engine."""

from typing import Any

import pytest

from sandbox.aws.network import VPC
from sandbox.aws.route53 import RECORD
from sandbox.aws.route53 import ZONE as ZONES
from sandbox.existing_network import OTHER_ACCOUNT, is_yours
from tests import existing_networks

pytestmark = pytest.mark.engine

ZONE = "Z0123456789ABCDEFGHIJ"
"""The private zone of the API's name, which the owner of the VPC has associated with it."""


def test_a_vpc_of_another_account_gets_one_record_in_the_zone_of_the_stack_file_and_keeps_everything_else(
    new_stack: Any,
) -> None:
    stack = new_stack("aws-existing", network={"existing": {"private_zone": ZONE}})
    theirs = existing_networks.yours(stack.cloud_state)
    assert [each.outputs["ownerId"] for each in theirs if each.type == VPC] == [OTHER_ACCOUNT]
    stack.up()
    assert [(each.machine, each.reason) for each in stack.cloud_state.boots() if each.state != "ready"] == []
    assert [each.inputs["zoneId"] for each in stack.cloud_state.resources(RECORD)] == [ZONE]
    assert [each.id for each in stack.cloud_state.resources(ZONES)] == [ZONE]
    assert stack.up().steps == {}
    stack.edit(network={"existing": {"private_zone": None}})
    with pytest.raises(Exception, match=f"account {OTHER_ACCOUNT} owns|cannot change while it exists"):
        stack.preview()
    stack.edit()
    stack.down()
    assert existing_networks.yours(stack.cloud_state) == theirs
    left = [each for each in stack.cloud_state.resources() if not is_yours(each.urn)]
    assert [each.type for each in left if each.type == RECORD] == []
