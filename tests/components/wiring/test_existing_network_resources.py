"""Resources of a cluster in an existing network: no part of the network, and rules that fit a shared one."""

import pytest

from operations.recorder.recorder import Recording, record
from tests import existing_networks
from tests.components.recorded_wiring import of, recording
from tests.existing_networks import stack

OF_A_NETWORK = (
    *("ec2/vpc:Vpc", "ec2/subnet:Subnet", "ec2/internetGateway:InternetGateway", "ec2/natGateway:NatGateway"),
    *("ec2/routeTable:RouteTable", "ec2/vpcEndpoint:VpcEndpoint", "ec2/eip:Eip"),
    *("network:VirtualNetwork", "network:Subnet", "network:NatGateway", "network:RouteTable"),
    *("compute/network:Network", "compute/subnetwork:Subnetwork", "compute/router:Router"),
    "compute/routerNat:RouterNat",
)
"""Types of resources of which a network consists."""


@pytest.mark.parametrize("cloud", existing_networks.EXISTING)
def test_no_part_of_a_network_is_created_in_an_existing_one(cloud: str) -> None:
    own, existing = recording(f"{cloud}-prod"), record(f"{cloud}-existing", stack(cloud)[0])
    assert existing.errors == []

    def parts(found: Recording) -> set[str]:
        return {each.type for each in found.resources.values() if each.type.endswith(OF_A_NETWORK)}

    assert parts(own)
    assert parts(existing) == set()


def test_the_apis_name_is_in_the_zone_of_the_stack_file_if_another_account_owns_the_vpc() -> None:
    settings = stack("aws", existing={**existing_networks.EXISTING["aws"], "private_zone": "Z0123456789ABCDEFGHIJ"})[0]
    found = record("aws-existing", settings)
    assert found.errors == []
    assert of(found, "aws:route53/zone:Zone") == {}
    [name] = of(found, "aws:route53/record:Record").values()
    assert name.inputs["zoneId"] == "Z0123456789ABCDEFGHIJ"


def test_rules_and_routes_of_a_shared_vpc_are_in_its_host_project() -> None:
    settings = stack("gcp", mode="l2bridge", pods="10.128.0.0/12", services="10.96.0.0/16")[0]
    found = record("gcp-existing", settings)
    assert found.errors == []
    for kind in ("firewall:Firewall", "route:Route"):
        made = of(found, f"gcp:compute/{kind}").values()
        assert made
        assert {each.inputs["project"] for each in made} == {"host-project"}


def test_no_tag_lets_machines_of_other_projects_in() -> None:
    """Whoever creates machines in another project of a Shared VPC sets their tags."""
    found = record("gcp-existing", stack("gcp")[0])
    rules = {each.name: each.inputs for each in of(found, "gcp:compute/firewall:Firewall").values()}
    assert [each for each in rules.values() if "sourceTags" in each] == []
    etcd = rules["gcp-existing-control-plane-etcd-from-control-plane"]["sourceRanges"]
    kubelet = rules["gcp-existing-control-plane-kubelet-from-workers"]["sourceRanges"]
    assert etcd == ["10.30.0.0/26", "10.30.4.0/26", "10.30.8.0/26"]
    assert kubelet == ["10.30.0.0/22", "10.30.4.0/22", "10.30.8.0/22"]
