"""A simulated machine writes its status record if role, routes, firewall and bundle allow it."""

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from components.machine import user_data
from sandbox.aws.policies import refused
from sandbox.simulated_boot import BOOTED
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import AMI, TRUST

STORE = "https://bundles.s3.eu-west-1.amazonaws.com"
BUNDLE = "a bundle"
SHA256 = hashlib.sha256(BUNDLE.encode()).hexdigest()
KEY = f"bundles/web/{SHA256}.zip"
ROLE = "AROA0123456789ABCDEFG"


def _policy(effect: str, action: str, resource: str, **more: Any) -> str:
    statement = {"Effect": effect, "Action": action, "Resource": f"arn:aws:s3:::{resource}", **more}
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def _user_data(family: Any = "linux", sha256: str = SHA256, role: str = ROLE, **machine: str) -> str:
    facts = {"bundle_store": STORE, "status_url": f"{STORE}/status/{role}%3A"}
    document = user_data.document(f"{STORE}/{KEY}", sha256, {"name": "web-0", **machine}, facts)
    return user_data.user_data(family, document, "aws")


Resources = dict[str, Thing]
PLAIN_HTTP = {"Condition": {"Bool": {"aws:SecureTransport": "false"}}, "Principal": "*"}


@pytest.fixture
def resources(account: Account) -> Resources:
    """All resources that a machine with a public address needs."""
    made: Resources = {}

    def make(name: str, short: str, /, **inputs: Any) -> str:
        made[name] = account.create(short, name, **inputs)
        return made[name].id

    vpc = make("vpc", "Vpc", cidrBlock="10.20.0.0/16")
    subnet = make("subnet", "Subnet", vpcId=vpc, cidrBlock="10.20.0.0/24", availabilityZone="eu-west-1a")
    gateway, table = make("gateway", "InternetGateway", vpcId=vpc), make("table", "RouteTable", vpcId=vpc)
    make("association", "RouteTableAssociation", subnetId=subnet, routeTableId=table)
    make("route", "Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", gatewayId=gateway)
    group = make("group", "SecurityGroup", vpcId=vpc)
    out = {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "0.0.0.0/0"}
    make("out", "SecurityGroupEgressRule", securityGroupId=group, **out)
    bucket = make("bucket", "Bucket", bucket="bundles")
    make("bundle", "BucketObjectv2", bucket=bucket, key=KEY, content=BUNDLE)
    make("tls", "BucketPolicy", bucket=bucket, policy=_policy("Deny", "s3:*", "bundles/*", **PLAIN_HTTP))
    role = make("role", "Role", name="node", assumeRolePolicy=TRUST)
    make("read", "RolePolicy", role=role, policy=_policy("Allow", "s3:Get*", "bundles/bundles/*"))
    make("write", "RolePolicy", role=role, policy=_policy("Allow", "s3:PutObject", "bundles/status/${aws:userid}.json"))
    make("profile", "InstanceProfile", name="node", role=role)
    return made


def _machine(account: Account, resources: Resources, /, **inputs: Any) -> Thing:
    plain = {
        "ami": AMI,
        "instanceType": "m6i.large",
        "subnetId": resources["subnet"].id,
        "vpcSecurityGroupIds": [resources["group"].id],
        "iamInstanceProfile": "node",
        "associatePublicIpAddress": True,
        "userData": _user_data(role=resources["role"].outputs["uniqueId"]),
    }
    return account.create("Instance", "web-0", **(plain | inputs))


def _key(resources: Resources, machine: Thing) -> str:
    return f"status/{resources['role'].outputs['uniqueId']}:{machine.id}.json"


def _records(account: Account) -> list[str]:
    return [key for key in account.cloud_state.objects("bundles") if key.startswith("status/")]


@pytest.mark.parametrize("family", ["linux", "windows"])
@pytest.mark.parametrize("encoded", [False, True])
def test_a_machine_without_obstacles_writes_its_status(account, resources, family, encoded) -> None:
    text = _user_data(family, role=resources["role"].outputs["uniqueId"])
    given = {"userDataBase64": base64.b64encode(text.encode()).decode(), "userData": None} if encoded else {}
    machine = _machine(account, resources, **({"userData": text} | given))
    status = json.loads(account.cloud_state.objects("bundles")[_key(resources, machine)].content)
    assert status.pop("time").endswith("Z")
    known = {"machine": "web-0", "state": "ready", "bundle": SHA256, "instance": machine.id, "kubernetes": None}
    assert {name: status[name] for name in known} == known
    assert set(status) - set(known) == {"phase", "step", "code", "name", "message", "seconds"}
    [boot] = account.cloud_state.boots()
    assert (boot.instance, boot.machine, boot.state, boot.reason) == (machine.id, "web-0", "ready", "")


def test_each_instance_has_its_own_record_which_stays(account, resources) -> None:
    first, second = _machine(account, resources), None
    account.delete(first)
    second = _machine(account, resources)
    account.delete(second)
    assert {_key(resources, first), _key(resources, second)} <= set(account.cloud_state.objects("bundles"))
    assert [boot.state for boot in account.cloud_state.boots()] == ["ready", "ready"]


def test_the_sandbox_simulates_nothing_while_machines_are_booted(account, resources) -> None:
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(BOOTED, "yes")
    _machine(account, resources)
    assert _records(account) == []
    assert [boot.state for boot in account.cloud_state.boots()] == ["waiting"]


def _without(name: str) -> Callable[[Account, Resources], dict[str, Any]]:
    def change(account: Account, resources: Resources) -> dict[str, Any]:
        account.delete(resources[name])
        return {}

    return change


def _policy_of(name: str, text: str) -> Callable[[Account, Resources], dict[str, Any]]:
    def change(account: Account, resources: Resources) -> dict[str, Any]:
        account.update(resources[name], policy=text)
        return {}

    return change


def _given(**inputs: Any) -> Callable[[Account, Resources], dict[str, Any]]:
    return lambda account, resources: inputs


def _other_port(account: Account, resources: Resources) -> dict[str, Any]:
    account.update(resources["out"], fromPort=80, toPort=80)
    return {}


def _other_trust(account: Account, resources: Resources) -> dict[str, Any]:
    account.update(resources["role"], assumeRolePolicy=TRUST.replace("ec2.", "lambda."))
    return {}


DENIED = _policy("Deny", "s3:PutObject", "bundles/*", Principal="*")
FAILURES: dict[str, tuple[Callable[[Account, Resources], dict[str, Any]], str]] = {
    "no route": (_without("route"), "has no route to the internet"),
    "no route table": (_without("association"), "has no route to the internet"),
    "no public address": (_given(associatePublicIpAddress=False), "it has no public address"),
    "no rule out": (_without("out"), "lets tcp 443 out"),
    "a rule for another port": (_other_port, "lets tcp 443 out"),
    "no profile": (_given(iamInstanceProfile=None), "no credentials"),
    "a role for another service": (_other_trust, "does not let ec2.amazonaws.com assume it"),
    "may not read": (_without("read"), "may not s3:GetObject on arn:aws:s3:::bundles/bundles/web/"),
    "may read elsewhere": (
        _policy_of("read", _policy("Allow", "s3:GetObject", "bundles/other/*")),
        "may not s3:GetObject",
    ),
    "may not write": (
        _without("write"),
        "may not s3:PutObject on arn:aws:s3:::bundles/status/AROA",
    ),
    "may list only": (_policy_of("write", _policy("Allow", "s3:List*", "bundles/status/*")), "may not s3:PutObject"),
    "a record of another role's": (_given(userData=_user_data()), f"bundles/status/{ROLE}:i-0"),
    "a record of any other's": (
        _policy_of("write", _policy("Allow", "s3:PutObject", "bundles/status/${aws:username}.json")),
        "may not s3:PutObject",
    ),
    "the bucket denies": (_policy_of("tls", DENIED), "a statement denies it"),
    "no bundle": (_without("bundle"), "there is no object bundles/web/"),
    "another bundle": (_given(userData=_user_data(sha256="0" * 64)), f"has sha256 {SHA256}, not 000"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_machine_with_an_obstacle_waits_with_the_reason(account, resources, case) -> None:
    change, reason = FAILURES[case]
    _machine(account, resources, **change(account, resources))
    [boot] = account.cloud_state.boots()
    assert (boot.state, reason in boot.reason) == ("waiting", True), boot
    assert not _records(account)


@pytest.mark.parametrize("data", ["#!/bin/sh", base64.b64encode(_user_data().encode()).decode()])
def test_user_data_without_a_loader_boots_nothing(account, resources, data) -> None:
    """Also user-data that was encoded twice: the metadata service decodes once."""
    _machine(account, resources, userData=None, userDataBase64=base64.b64encode(data.encode()).decode())
    [boot] = account.cloud_state.boots()
    assert (boot.state, "no document of Mullion" in boot.reason) == ("dead", True)


def test_a_waiting_machine_boots_once_the_obstacle_is_gone(account, resources) -> None:
    account.delete(resources["route"])
    _machine(account, resources)
    route = {
        "routeTableId": resources["table"].id,
        "destinationCidrBlock": "0.0.0.0/0",
        "gatewayId": resources["gateway"].id,
    }
    account.create("Route", "again", **route)
    assert [boot.state for boot in account.cloud_state.boots()] == ["ready"]
    assert len(_records(account)) == 1


def test_a_deleted_waiting_machine_is_dead(account, resources) -> None:
    account.delete(resources["route"])
    account.delete(_machine(account, resources))
    [boot] = account.cloud_state.boots()
    assert boot.state == "dead"
    assert boot.reason.startswith("it was terminated; before: ")


def test_net_05_a_machine_whose_pods_would_be_dropped_never_gets_ready(account, resources) -> None:
    routed = {"userData": _user_data(role=resources["role"].outputs["uniqueId"], pod_cidr="10.244.3.0/24")}
    checked = _machine(account, resources, **routed)
    [boot] = account.cloud_state.boots()
    assert (boot.state, "source/destination check" in boot.reason) == ("waiting", True)
    account.delete(checked)
    _machine(account, resources, **routed, sourceDestCheck=False)
    assert {boot.state for boot in account.cloud_state.boots()} == {"dead", "ready"}


def test_net_05_a_route_of_pods_names_the_interface_of_a_machine_and_a_table_is_full_at_its_quota(
    account, resources
) -> None:
    account.cloud_state.set_setting("quota/routes per route table", "3")
    interface = _machine(account, resources).outputs["primaryNetworkInterfaceId"]
    pods = {"routeTableId": resources["table"].id, "networkInterfaceId": interface}
    account.create("Route", "pods", **pods, destinationCidrBlock="10.244.3.0/24")
    refused = account.refused(lambda: account.create("Route", "more", **pods, destinationCidrBlock="10.244.4.0/24"))
    assert refused.code == "RouteLimitExceeded", "the local route, the default route, and one of pods"


def test_a_private_machine_boots_through_a_nat_gateway_with_a_route(account, resources) -> None:
    account.delete(resources["route"])
    inside, edge, table = (
        resources["subnet"].id,
        {"vpcId": resources["vpc"].id, "cidrBlock": "10.20.9.0/24"},
        resources["table"].id,
    )
    edge_id = account.create("Subnet", "edge", **edge).id
    nat = account.create("NatGateway", "nat", subnetId=edge_id, allocationId=account.create("Eip", "eip").id)
    account.create("Route", "nat", routeTableId=table, destinationCidrBlock="0.0.0.0/0", natGatewayId=nat.id)
    _machine(account, resources, subnetId=inside, associatePublicIpAddress=False)
    [boot] = account.cloud_state.boots()
    assert f"{nat.id} is in a subnet without a route to an internet gateway" in boot.reason
    way = account.create("RouteTable", "edge", vpcId=resources["vpc"].id).id
    account.create("RouteTableAssociation", "edge", subnetId=edge_id, routeTableId=way)
    out = {"destinationCidrBlock": "0.0.0.0/0", "gatewayId": resources["gateway"].id}
    account.create("Route", "edge", routeTableId=way, **out)
    assert [boot.state for boot in account.cloud_state.boots()] == ["ready"]


ME = "arn:aws:iam::000000000000:role/node"
ALLOW = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
STATEMENTS: list[tuple[list[dict[str, Any]], bool]] = [
    ([], False),
    ([ALLOW], True),
    ([ALLOW | {"Action": ["ec2:*", "S3:GETOBJECT"]}], True),
    ([ALLOW | {"Action": "s3:GetObjectVersion"}], False),
    ([ALLOW | {"Resource": "arn:aws:s3:::b/?"}], True),
    ([ALLOW | {"Resource": "arn:aws:s3:::B/k"}], False),
    ([{"Effect": "Allow", "NotAction": "ec2:*", "NotResource": "arn:aws:s3:::c/*"}], True),
    ([{"Effect": "Allow", "NotAction": "s3:Get*", "Resource": "*"}], False),
    ([ALLOW, ALLOW | {"Effect": "Deny"}], False),
    ([ALLOW, ALLOW | {"Effect": "Deny", "Resource": "arn:aws:s3:::b/other"}], True),
    ([ALLOW | {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}], True),
    ([ALLOW | {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}], False),
    ([ALLOW, ALLOW | {"Effect": "Deny", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}], False),
    ([ALLOW | {"Principal": {"AWS": "arn:aws:iam::000000000000:root"}}], True),
    ([ALLOW | {"Principal": {"AWS": "arn:aws:iam::000000000000:role/other"}}], False),
]


@pytest.mark.parametrize(("statements", "allowed"), STATEMENTS)
def test_policies_are_evaluated_as_by_iam(statements, allowed) -> None:
    reason = refused([{"Statement": statements}], "s3:GetObject", "arn:aws:s3:::b/k", ME)
    assert (reason == "") is allowed, reason
