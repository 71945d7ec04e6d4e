"""Machines without a route to the internet reach the services of AWS that have VPC endpoints, and no others."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.aws import boot_obstacles, private_ways
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import AMI, REGION

FOUND = {"facts": {"compute_service": "https://ec2.eu-west-1.amazonaws.com"}, "machine": {}}
HTTPS = {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443}
Resources = dict[str, Thing]


def host(service: str) -> str:
    return f"bundles.{service}.{REGION}.amazonaws.com"


@pytest.fixture
def resources(account: Account) -> Resources:
    """A machine in a subnet without routes, and the endpoints that a control plane needs."""
    made: Resources = {}

    def make(name: str, short: str, /, **inputs: Any) -> str:
        made[name] = account.create(short, name, **inputs)
        return made[name].id

    vpc = make("vpc", "Vpc", cidrBlock="10.20.0.0/16", enableDnsSupport=True, enableDnsHostnames=True)
    subnet = make("subnet", "Subnet", vpcId=vpc, cidrBlock="10.20.0.0/24", availabilityZone="eu-west-1a")
    table = make("table", "RouteTable", vpcId=vpc)
    make("association", "RouteTableAssociation", subnetId=subnet, routeTableId=table)
    nodes, endpoints = make("nodes", "SecurityGroup", vpcId=vpc), make("endpoints", "SecurityGroup", vpcId=vpc)
    make("in", "SecurityGroupIngressRule", securityGroupId=endpoints, referencedSecurityGroupId=nodes, **HTTPS)
    make("s3", "VpcEndpoint", vpcId=vpc, serviceName=f"com.amazonaws.{REGION}.s3", routeTableIds=[table])
    inside = {"vpcEndpointType": "Interface", "subnetIds": [subnet], "securityGroupIds": [endpoints]}
    for service in ("secretsmanager", "ec2"):
        name = f"com.amazonaws.{REGION}.{service}"
        make(service, "VpcEndpoint", vpcId=vpc, serviceName=name, privateDnsEnabled=True, **inside)
    make("machine", "Instance", ami=AMI, instanceType="m6i.large", subnetId=subnet, vpcSecurityGroupIds=[nodes])
    return made


def obstacle(account: Account, resources: Resources, found: Any = FOUND) -> str:
    machine = account.cloud_state.find(boot_obstacles.INSTANCE, resources["machine"].id)
    assert machine
    return boot_obstacles.MACHINES.obstacles[0](account.cloud_state, machine, found)


def test_a_machine_with_all_endpoints_has_a_way_to_each_service(account: Account, resources: Resources) -> None:
    assert obstacle(account, resources) == ""
    assert all(private_ways.is_reached(account.cloud_state, host(each)) for each in ("s3", "secretsmanager", "ec2"))


def test_requests_by_an_endpoint_carry_its_vpc_and_others_none(account: Account, resources: Resources) -> None:
    def keys(action: str) -> dict[str, str]:
        machine = account.cloud_state.find(boot_obstacles.INSTANCE, resources["machine"].id)
        assert machine
        return private_ways.source(account.cloud_state, machine, action)

    inside = {"aws:SourceVpc": resources["vpc"].id}
    assert keys("s3:GetObject") == keys("secretsmanager:GetSecretValue") == inside
    assert keys("ecr:GetAuthorizationToken") == {}
    account.delete(resources["association"])
    assert keys("s3:GetObject") == {}, "another route table leads past the gateway endpoint"


def _without(name: str) -> Callable[[Account, Resources], None]:
    return lambda account, resources: account.delete(resources[name])


def _without_private_dns(account: Account, resources: Resources) -> None:
    account.update(resources["ec2"], privateDnsEnabled=False)


def _other_port(account: Account, resources: Resources) -> None:
    account.update(resources["in"], fromPort=80, toPort=80)


OBSTACLES = {
    "no endpoint of the store": (_without("s3"), "s3", "no endpoint of s3"),
    "no table for the store": (_without("association"), "s3", "no endpoint of s3"),
    "no endpoint of secrets": (_without("secretsmanager"), "secretsmanager", "no endpoint of secretsmanager"),
    "no endpoint of EC2": (_without("ec2"), "ec2", "no endpoint of ec2"),
    "no private DNS": (_without_private_dns, "ec2", "no endpoint of ec2"),
    "no rule of the firewall": (_without("in"), "secretsmanager", "lets it in"),
    "a rule for another port": (_other_port, "secretsmanager", "lets it in"),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_a_service_without_a_usable_endpoint_is_out_of_reach(account: Account, resources: Resources, case: str) -> None:
    change, service, reason = OBSTACLES[case]
    change(account, resources)
    assert reason in obstacle(account, resources) and "no route to the internet" in obstacle(account, resources)
    assert not private_ways.is_reached(account.cloud_state, host(service))


def test_a_worker_needs_no_endpoint_of_ec2(account: Account, resources: Resources) -> None:
    account.delete(resources["ec2"])
    assert obstacle(account, resources, {"facts": {}, "machine": {}}) == ""


def test_a_default_route_reaches_every_service(account: Account, resources: Resources) -> None:
    account.delete(resources["ec2"])
    gateway = account.create("InternetGateway", "gateway", vpcId=resources["vpc"].id)
    to = {"destinationCidrBlock": "0.0.0.0/0", "gatewayId": gateway.id}
    account.create("Route", "route", routeTableId=resources["table"].id, **to)
    assert private_ways.is_reached(account.cloud_state, host("ec2"))


def test_two_endpoints_of_a_service_cannot_both_have_its_names(account: Account, resources: Resources) -> None:
    inputs = {"vpcEndpointType": "Interface", "privateDnsEnabled": True, "subnetIds": [resources["subnet"].id]}
    given = {"vpcId": resources["vpc"].id, "serviceName": f"com.amazonaws.{REGION}.ec2", **inputs}
    refusal = account.refused(lambda: account.create("VpcEndpoint", "again", **given))
    assert refusal.code == "InvalidParameter" and "conflicting DNS domain" in str(refusal)


ROLE, OTHERS = "arn:aws:iam::123456789012:role/dev", "arn:aws:iam::999999999999:role/dev"
OBJECT = "arn:aws:s3:::bundles/ca.crt"


def bounded(key: str) -> str:
    """A policy that admits what belongs to this account: resources or callers, by the condition's key."""
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    known = {"StringEquals": {key: "123456789012"}}
    return json.dumps({"Version": "2012-10-17", "Statement": [{**everybody, "Condition": known}]})


def passes(account: Account, resources: Resources, action: str, resource: str = "*", principal: str = ROLE) -> bool:
    machine = account.cloud_state.find(boot_obstacles.INSTANCE, resources["machine"].id)
    assert machine
    return not private_ways.refused(account.cloud_state, machine, action, resource, principal, {})


def test_a_policy_bounds_the_buckets_behind_a_gateway_endpoint(account: Account, resources: Resources) -> None:
    assert passes(account, resources, "s3:PutObject", "arn:aws:s3:::foreign/x"), "without a policy everything passes"
    account.update(resources["s3"], policy=bounded("aws:ResourceAccount"))
    assert not passes(account, resources, "s3:GetObject", OBJECT)
    account.create("Bucket", "bundles", bucket="bundles")
    assert passes(account, resources, "s3:GetObject", OBJECT)
    assert not passes(account, resources, "s3:PutObject", "arn:aws:s3:::foreign/x")


def test_a_policy_bounds_the_callers_of_an_interface_endpoint(account: Account, resources: Resources) -> None:
    read = "secretsmanager:GetSecretValue"
    assert passes(account, resources, read, principal=OTHERS)
    account.update(resources["secretsmanager"], policy=bounded("aws:PrincipalAccount"))
    assert passes(account, resources, read) and not passes(account, resources, read, principal=OTHERS)
    assert passes(account, resources, "ec2:DescribeInstances", principal=OTHERS), "its endpoint has no policy"


@pytest.mark.parametrize("policy", ["{", '{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'])
def test_an_endpoint_refuses_a_policy_that_names_no_principal(
    account: Account, resources: Resources, policy: str
) -> None:
    refusal = account.refused(lambda: account.update(resources["s3"], policy=policy))
    assert refusal.code == "InvalidPolicyDocument"
