"""Refusals of networks and machines: the code, and that the refused call changes nothing (Account.refused looks)."""

import base64
from typing import Any

import pytest

from tests.sandbox.aws.account import AMI, REGION, TRUST


@pytest.mark.parametrize(("size", "fits"), [(16384, True), (16385, False)])
@pytest.mark.parametrize("encoded", [False, True])
def test_user_data_has_at_most_16384_bytes_before_base64(account, machine, size, fits, encoded) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    data = {"userDataBase64": base64.b64encode(text.encode()).decode()} if encoded else {"userData": text}
    if fits:
        assert machine(**data).id.startswith("i-")
    else:
        refusal = account.refused(lambda: machine(**data))
        assert refusal.code == "InvalidParameterValue"
        assert "limited to 16384 bytes" in refusal.message


def test_a_machine_without_tags_in_its_metadata_may_have_any_tag_key(machine) -> None:
    tags = {"kubernetes.io/cluster/dev": "shared", "cost center": "1"}
    assert machine(tags=tags, metadataOptions={"instanceMetadataTags": "disabled"}).id.startswith("i-")


SUBNETS = [
    ("10.21.0.0/24", "InvalidSubnet.Range"),
    ("10.20.0.128/25", "InvalidSubnet.Conflict"),
    ("10.20.0.0/23", "InvalidSubnet.Conflict"),
    ("10.20.1.0/29", "InvalidSubnet.Range"),
    ("10.20.1.1/24", "InvalidParameterValue"),
]


@pytest.mark.parametrize(("cidr", "code"), SUBNETS)
def test_a_subnet_is_in_its_vpc_and_overlaps_no_other(account, network, cidr, code) -> None:
    assert account.refused(lambda: account.create("Subnet", "b", vpcId=network.vpc.id, cidrBlock=cidr)).code == code


@pytest.mark.parametrize(("cidr", "code"), [("10.0.0.0/8", "InvalidVpc.Range"), ("x", "InvalidParameterValue")])
def test_a_vpc_has_16_to_28_bits(account, cidr, code) -> None:
    assert account.refused(lambda: account.create("Vpc", "v", cidrBlock=cidr)).code == code


RULE = {"ipProtocol": "tcp", "fromPort": 6443, "toPort": 6443, "cidrIpv4": "10.0.0.0/8"}
DUPLICATES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"ipProtocol": "6", "description": "another text"}, True),
    ({"toPort": 6444}, False),
    ({"cidrIpv4": "10.0.0.0/9"}, False),
    ({"ipProtocol": "udp"}, False),
]


@pytest.mark.parametrize(("change", "same"), DUPLICATES)
def test_a_duplicate_rule_of_a_security_group_is_refused(account, network, change, same) -> None:
    rule = RULE | {"securityGroupId": network.group.id}
    account.create("SecurityGroupIngressRule", "one", **rule)
    account.create("SecurityGroupEgressRule", "other way", **rule)
    again = lambda: account.create("SecurityGroupIngressRule", "two", **(rule | change))  # noqa: E731
    if same:
        assert account.refused(again).code == "InvalidPermission.Duplicate"
    else:
        assert again().id.startswith("sgr-")


def test_an_update_to_a_duplicate_rule_is_refused(account, network) -> None:
    rule = RULE | {"securityGroupId": network.group.id}
    account.create("SecurityGroupIngressRule", "one", **rule)
    other = account.create("SecurityGroupIngressRule", "two", **(rule | {"toPort": 7000}))
    assert account.refused(lambda: account.update(other, toPort=6443)).code == "InvalidPermission.Duplicate"
    assert account.update(other, toPort=7001).outputs["toPort"] == 7001, "the refused update kept its claim"


@pytest.mark.parametrize("ports", [{}, {"fromPort": 1}, {"fromPort": 9, "toPort": 1}, {"fromPort": 1, "toPort": 70000}])
def test_a_tcp_rule_has_a_range_of_ports(account, network, ports) -> None:
    rule = {"securityGroupId": network.group.id, "ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0"}
    refusal = account.refused(lambda: account.create("SecurityGroupIngressRule", "r", **rule, **ports))
    assert refusal.code == "InvalidParameterValue"


def _holding(account: Any, network: Any, machine: Any) -> dict[str, tuple[Any, str]]:
    """Create resources in use; return them with the code of the refusal to delete them."""
    machine()
    other = account.create("SecurityGroup", "other", vpcId=network.vpc.id)
    peer = {"referencedSecurityGroupId": other.id, "ipProtocol": "-1"}
    account.create("SecurityGroupIngressRule", "from", securityGroupId=network.group.id, **peer)
    table = account.create("RouteTable", "table", vpcId=network.vpc.id)
    account.create("RouteTableAssociation", "x", routeTableId=table.id, subnetId=network.subnet.id)
    account.create("InternetGateway", "igw", vpcId=network.vpc.id)
    eip = account.create("Eip", "eip")
    account.create("NatGateway", "nat", allocationId=eip.id, subnetId=network.subnet.id)
    role = account.create("Role", "role", assumeRolePolicy=TRUST)
    account.create("InstanceProfile", "profile", role=role.id)
    targets = account.create("TargetGroup", "tg", port=6443, protocol="TCP", vpcId=network.vpc.id)
    network_type = {"loadBalancerType": "network", "subnets": [network.subnet.id]}
    balancer = account.create("LoadBalancer", "nlb", **network_type)
    action = {"type": "forward", "targetGroupArn": targets.id}
    account.create("Listener", "l", loadBalancerArn=balancer.id, port=6443, protocol="TCP", defaultActions=[action])
    zone = account.create("Zone", "zone", name="c.internal", vpcs=[{"vpcId": network.vpc.id}])
    account.create("Record", "api", zoneId=zone.id, name="api", type="A", ttl=60, records=["10.20.0.9"])
    return {
        "vpc": (network.vpc, "DependencyViolation"),
        "subnet": (network.subnet, "DependencyViolation"),
        "group of a machine": (network.group, "DependencyViolation"),
        "group named by a rule": (other, "DependencyViolation"),
        "route table": (table, "DependencyViolation"),
        "elastic address": (eip, "InvalidIPAddress.InUse"),
        "role": (role, "DeleteConflict"),
        "target group": (targets, "ResourceInUse"),
        "zone": (zone, "HostedZoneNotEmpty"),
    }


HELD = ("vpc", "subnet", "group of a machine", "group named by a rule", "route table", "elastic address")


@pytest.mark.parametrize("what", [*HELD, "role", "target group", "zone"])
def test_a_resource_in_use_is_not_deleted(account, network, machine, what) -> None:
    thing, code = _holding(account, network, machine)[what]
    assert account.refused(lambda: account.delete(thing)).code == code


def test_a_gateway_stays_while_machines_have_public_addresses(account, network, machine) -> None:
    gateway = account.create("InternetGateway", "igw", vpcId=network.vpc.id)
    public = machine(associatePublicIpAddress=True)
    refusal = account.refused(lambda: account.delete(gateway))
    assert refusal.code == "DependencyViolation"
    assert "mapped public address" in refusal.message
    account.delete(public)
    account.delete(gateway)


def test_an_empty_vpc_is_deleted(account, network) -> None:
    for thing in (network.group, network.subnet, network.vpc):
        account.delete(thing)
    assert account.cloud_state.resources() == []


def test_duplicate_names_in_a_vpc_and_on_a_balancer_are_refused(account, network) -> None:
    def again(short: str, /, **inputs: Any) -> str:
        account.create(short, "one", **inputs)
        return account.refused(lambda: account.create(short, "two", **inputs)).code

    balancer = {"name": "nlb", "loadBalancerType": "network", "subnets": [network.subnet.id]}
    assert again("SecurityGroup", name="same", vpcId=network.vpc.id) == "InvalidGroup.Duplicate"
    assert again("InternetGateway", vpcId=network.vpc.id) == "Resource.AlreadyAssociated"
    assert again("LoadBalancer", **balancer) == "DuplicateLoadBalancerName"
    table = account.create("RouteTable", "t", vpcId=network.vpc.id)
    route = {"routeTableId": table.id, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "local"}
    assert again("Route", **route) == "RouteAlreadyExists"
    association = {"routeTableId": table.id, "subnetId": network.subnet.id}
    assert again("RouteTableAssociation", **association) == "Resource.AlreadyAssociated"
    zone = {"name": "c.internal", "vpcs": [{"vpcId": network.vpc.id}]}
    assert again("Zone", **zone) == "ConflictingDomainExists"


def test_a_second_create_makes_a_second_resource(account) -> None:
    first, second = (account.create("Vpc", "same", cidrBlock="10.0.0.0/16") for _ in range(2))
    assert first.id != second.id
    assert len(account.cloud_state.resources("aws:ec2/vpc:Vpc")) == 2


ADDRESSES = [
    ("10.20.0.3", "InvalidParameterValue"),
    ("10.20.0.0", "InvalidParameterValue"),
    ("10.20.0.255", "InvalidParameterValue"),
    ("10.20.1.9", "InvalidParameterValue"),
    ("ten", "InvalidParameterValue"),
    ("10.20.0.10", "InvalidIPAddress.InUse"),
]


@pytest.mark.parametrize(("address", "code"), ADDRESSES)
def test_a_private_address_is_free_and_not_reserved(account, machine, address, code) -> None:
    machine("first", privateIp="10.20.0.10")
    assert account.refused(lambda: machine("second", privateIp=address)).code == code


def test_an_updated_machine_keeps_its_address_and_a_deleted_one_frees_it(account, machine) -> None:
    first = account.update(machine("first", privateIp="10.20.0.10"), tags={"a": "b"})
    assert account.refused(lambda: machine("second", privateIp="10.20.0.10")).code == "InvalidIPAddress.InUse"
    account.delete(first)
    assert machine("second", privateIp="10.20.0.10").outputs["privateIp"] == "10.20.0.10"


MISSING: list[tuple[dict[str, Any], str]] = [
    ({"subnetId": "subnet-0"}, "InvalidSubnetID.NotFound"),
    ({"vpcSecurityGroupIds": ["sg-0"]}, "InvalidGroup.NotFound"),
    ({"ami": "ami-00000000000000000"}, "InvalidAMIID.NotFound"),
    ({"ami": "ubuntu"}, "InvalidAMIID.Malformed"),
    ({"iamInstanceProfile": "nobody"}, "InvalidParameterValue"),
    ({"rootBlockDevice": {"volumeSize": 4}}, "InvalidBlockDeviceMapping"),
    ({"availabilityZone": f"{REGION}b"}, "InvalidParameterValue"),
]


@pytest.mark.parametrize(("change", "code"), MISSING)
def test_a_machine_with_an_invalid_reference_is_refused(account, machine, change, code) -> None:
    assert account.refused(lambda: machine(**change)).code == code


def test_a_machine_with_a_group_of_another_vpc_is_refused(account, machine) -> None:
    elsewhere = account.create("Vpc", "elsewhere", cidrBlock="10.30.0.0/16")
    group = account.create("SecurityGroup", "far", vpcId=elsewhere.id)
    assert account.refused(lambda: machine(vpcSecurityGroupIds=[group.id])).code == "InvalidParameter"


def test_a_balancer_has_one_subnet_per_zone(account, network) -> None:
    second = account.create(
        "Subnet", "b", vpcId=network.vpc.id, cidrBlock="10.20.1.0/24", availabilityZone="eu-west-1a"
    )
    subnets = [network.subnet.id, second.id]
    refusal = account.refused(lambda: account.create("LoadBalancer", "n", loadBalancerType="network", subnets=subnets))
    assert refusal.code == "InvalidConfigurationRequest"
    refusal = account.refused(lambda: account.create("LoadBalancer", "a", subnets=[second.id]))
    assert refusal.code == "ValidationError", "an application load balancer needs two zones"


def test_deleting_a_missing_resource_is_no_error(account, network) -> None:
    account.delete(network.group)
    account.delete(network.group)


def test_updating_a_missing_resource_is_refused(account, network) -> None:
    account.delete(network.group)
    assert account.refused(lambda: account.update(network.group, tags={"a": "b"})).code == "NotFound"


def test_the_image_of_another_region_is_not_found(account, machine) -> None:
    assert machine(ami=AMI).outputs["ami"] == AMI
    account.provider.configure({"region": "us-east-1"})
    assert (
        account.refused(lambda: machine("m1", subnetId=None, vpcSecurityGroupIds=None)).code == "InvalidAMIID.NotFound"
    )
