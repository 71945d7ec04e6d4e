"""Accounts that a reaper opens with this environment's credentials."""

import botocore.session
import pytest

from operations.console.exits import Exit, Stop
from operations.reaping import accounts
from operations.reaping.aws_requests import OTHER_PARTITIONS


def partitions() -> dict[str, list[str]]:
    """Return the regions of each partition that botocore knows."""
    session = botocore.session.Session()
    return {name: session.get_available_regions("ec2", name) for name in session.get_available_partitions()}


def test_regions_of_other_partitions_are_those_with_another_beginning() -> None:
    known = {name: regions for name, regions in partitions().items() if regions}
    assert {"aws", "aws-cn", "aws-us-gov"} <= set(known)
    for name, regions in known.items():
        assert {each.startswith(OTHER_PARTITIONS) for each in regions} == {name != "aws"}, name


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1", "eusc-de-east-1"])
def test_a_region_of_another_partition_is_refused_before_any_request(
    region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signed request to the commercial hosts would be refused with a reason that names no region."""
    monkeypatch.setattr("operations.reaping.aws_requests.keys", lambda: pytest.fail("keys are read"))
    with pytest.raises(Stop, match=f"leave out {region}$") as stopped:
        accounts.real("aws", ["eu-west-1", region])
    assert stopped.value.code == Exit.USAGE
