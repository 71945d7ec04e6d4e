"""Refusals of refusals.py, and those that need a second resource, a quota, an update or a deletion."""

from pathlib import Path
from typing import Any

import pytest

from components.catalogue import instance_sizes
from sandbox.aws import offerings
from sandbox.aws.quotas import QUOTAS, VCPUS
from sandbox.aws.regions import REGIONS, UBUNTU, image, zones
from sandbox.faults import KINDS
from tests.sandbox.account import Account
from tests.sandbox.aws.account import AMI, POLICY, TRUST
from tests.sandbox.aws.refusals import FORWARD, LISTENER, NLB, ROWS, TARGETS
from tests.sandbox.scenes import Scene, filled, maker

SCENES: dict[str, tuple[str, dict[str, Any]]] = {
    "vpc": ("Vpc", {"cidrBlock": "10.20.0.0/16"}),
    "subnet": ("Subnet", {"vpcId": "$vpc", "cidrBlock": "10.20.0.0/24", "availabilityZone": "eu-west-1a"}),
    "beside": ("Subnet", {"vpcId": "$vpc", "cidrBlock": "10.20.1.0/24", "availabilityZone": "eu-west-1a"}),
    "group": ("SecurityGroup", {"vpcId": "$vpc"}),
    "table": ("RouteTable", {"vpcId": "$vpc"}),
    "gateway": ("InternetGateway", {"vpcId": "$vpc"}),
    "eip": ("Eip", {}),
    "far vpc": ("Vpc", {"cidrBlock": "10.30.0.0/16"}),
    "far subnet": ("Subnet", {"vpcId": "$far vpc", "cidrBlock": "10.30.0.0/24", "availabilityZone": "eu-west-1b"}),
    "far group": ("SecurityGroup", {"vpcId": "$far vpc"}),
    "far gateway": ("InternetGateway", {"vpcId": "$far vpc"}),
    "machine": ("Instance", {"ami": AMI, "instanceType": "m6i.large", "subnetId": "$subnet"}),
    "far machine": ("Instance", {"ami": AMI, "instanceType": "m6i.large", "subnetId": "$far subnet"}),
    "nlb": ("LoadBalancer", NLB | {"internal": True}),
    "other nlb": ("LoadBalancer", NLB | {"internal": True}),
    "targets": ("TargetGroup", TARGETS),
    "listener": ("Listener", LISTENER | FORWARD),
    "zone": ("Zone", {"name": "c.internal"}),
    "record": ("Record", {"zoneId": "$zone", "name": "api", "type": "A", "ttl": 60, "records": ["10.20.0.9"]}),
    "role": ("Role", {"assumeRolePolicy": TRUST}),
    "bucket": ("Bucket", {}),
    "block": ("BucketPublicAccessBlock", {"bucket": "$bucket", "blockPublicPolicy": True}),
    "secret": ("Secret", {}),
}
BEFORE = {
    "CNAME beside another record": "record",
    "public policy on a closed bucket": "block",
    "fixed address of a public balancer": "gateway",
    "taken address of a balancer": "machine",
}
"""Resources that a row needs to be refused."""


@pytest.fixture
def scene(account: Account) -> Scene:
    return maker(account, SCENES)


def _inputs(short: str, inputs: dict[str, Any], scene: Scene) -> dict[str, Any]:
    plain = SCENES["machine"][1] if short == "Instance" else {}
    return filled(plain | inputs, scene)


@pytest.mark.parametrize("case", ROWS)
def test_a_call_that_aws_refuses_is_refused_with_its_code(account, scene, case) -> None:
    short, inputs, code, words = ROWS[case]
    if case in BEFORE:
        scene(BEFORE[case])
    given = _inputs(short, inputs, scene)
    refusal = account.refused(lambda: account.create(short, "refused", **given))
    assert (refusal.code, words in refusal.message) == (code, True), str(refusal)


def test_the_table_has_at_least_forty_refusals() -> None:
    assert len(ROWS) >= 40
    assert len({(code, words) for _, _, code, words in ROWS.values()}) >= 40


OVER: dict[str, tuple[str, dict[str, Any]]] = {
    "VPCs per region": ("Vpc", {"cidrBlock": "10.9.0.0/16"}),
    "internet gateways per region": ("InternetGateway", {}),
    "Elastic IP addresses per region": ("Eip", {}),
    "subnets per VPC": ("Subnet", {"vpcId": "$vpc", "cidrBlock": "10.20.9.0/24"}),
    "route tables per VPC": ("RouteTable", {"vpcId": "$vpc"}),
    "routes per route table": (
        "Route",
        {"routeTableId": "$table", "destinationCidrBlock": "10.9.8.0/24", "gatewayId": "local"},
    ),
    "gateway endpoints per region": ("VpcEndpoint", {"vpcId": "$vpc", "serviceName": "com.amazonaws.eu-west-1.s3"}),
    "interface endpoints per VPC": (
        "VpcEndpoint",
        {"vpcId": "$vpc", "serviceName": "com.amazonaws.eu-west-1.ec2", "vpcEndpointType": "Interface"},
    ),
    "NAT gateways per zone": ("NatGateway", {"subnetId": "$subnet", "allocationId": "$eip"}),
    "rules per security group": (
        "SecurityGroupIngressRule",
        {"securityGroupId": "$group", "ipProtocol": "-1", "cidrIpv4": "10.0.0.0/8"},
    ),
    "security groups per interface": ("Instance", {"vpcSecurityGroupIds": ["$group"]}),
    "security groups per region": ("SecurityGroup", {"vpcId": "$vpc"}),
    "network load balancers per region": ("LoadBalancer", NLB | {"internal": True}),
    "target groups per region": ("TargetGroup", TARGETS),
    "listeners per load balancer": ("Listener", LISTENER | FORWARD),
    "targets per load balancer": ("TargetGroupAttachment", {"targetGroupArn": "$targets", "targetId": "$machine"}),
    "roles per account": ("Role", {"assumeRolePolicy": TRUST}),
    "instance profiles per account": ("InstanceProfile", {}),
    "OIDC providers per account": (
        "OpenIdConnectProvider",
        {"url": "https://issuer.example.com", "clientIdLists": ["sts.amazonaws.com"]},
    ),
    "managed policies per role": (
        "RolePolicyAttachment",
        {"role": "$role", "policyArn": "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"},
    ),
    "buckets per account": ("Bucket", {}),
    "hosted zones per account": ("Zone", {"name": "one.internal"}),
    VCPUS: ("Instance", {"instanceType": "m6i.xlarge"}),
}


@pytest.mark.parametrize("name", QUOTAS.rows)
def test_a_resource_beyond_the_quota_is_refused(account, scene, name) -> None:
    short, inputs = OVER[name]
    given = _inputs(short, inputs, scene)
    if short == "NatGateway":
        scene("gateway")
    if short == "TargetGroupAttachment":
        scene("listener")
    account.cloud_state.set_setting(f"quota/{name}", "0")
    assert account.refused(lambda: account.create(short, "more", **given)).code == QUOTAS.rows[name].code
    account.cloud_state.set_setting(f"quota/{name}", "4")
    account.create(short, "more", **given)


def test_unchanged_quotas_are_the_defaults_of_aws(account) -> None:
    for number in range(QUOTAS.limit(account.cloud_state, "VPCs per region")):
        account.create("Vpc", f"v{number}", cidrBlock="10.0.0.0/16")
    refusal = account.refused(lambda: account.create("Vpc", "sixth", cidrBlock="10.0.0.0/16"))
    assert refusal.code == "VpcLimitExceeded"
    account.provider.configure({"region": "us-east-1"})
    account.create("Vpc", "elsewhere", cidrBlock="10.0.0.0/16")


def test_a_resized_machine_counts_to_the_quota_with_its_new_size(account, scene) -> None:
    account.cloud_state.set_setting(f"quota/{VCPUS}", "6")
    machine = scene("machine")
    scene("far machine")
    refusal = account.refused(lambda: account.update(machine, instanceType="m6i.2xlarge"))
    assert refusal.code == "VcpuLimitExceeded"
    assert "current vCPU limit of 6" in refusal.message
    account.update(machine, instanceType="m6i.xlarge")


def test_the_sandbox_and_the_catalogue_read_instance_types_alike() -> None:
    for name, size in instance_sizes.AWS.items():
        architecture = {"amd64": "x86_64"}.get(size.architecture, size.architecture)
        assert offerings.exists(name) and offerings.is_standard(name), name
        assert (offerings.vcpus(name), offerings.architecture(name)) == (size.vcpu, architecture), name


def test_a_zone_without_the_type_refuses_it_and_names_those_that_have_it(account) -> None:
    account.provider.configure({"region": "us-east-1"})
    vpc = account.create("Vpc", "v", cidrBlock="10.0.0.0/16")
    subnet = account.create("Subnet", "e", vpcId=vpc.id, cidrBlock="10.0.0.0/24", availabilityZone="us-east-1e")
    machine = {
        "ami": image("us-east-1", UBUNTU.format(release="22.04", arch="amd64", volume="ebs-gp2")),
        "instanceType": "m6i.large",
        "subnetId": subnet.id,
    }
    refusal = account.refused(lambda: account.create("Instance", "m", **machine))
    assert refusal.code == "Unsupported"
    assert "(us-east-1e). Please retry" in refusal.message
    assert "us-east-1a, us-east-1b, us-east-1c, us-east-1d, us-east-1f" in refusal.message


@pytest.mark.parametrize("region", REGIONS)
def test_every_type_has_two_zones_in_every_region(region: str) -> None:
    for name in instance_sizes.AWS:
        assert len(offerings.offering(region, name)) >= min(2, len(zones(region)) - 1), (region, name)


def test_a_balancer_created_without_security_groups_accepts_none_later(account, scene) -> None:
    balancer, group = scene("nlb"), scene("group").id
    refusal = account.refused(lambda: account.update(balancer, securityGroups=[group]))
    assert refusal.code == "InvalidConfigurationRequest"
    assert "created without security groups" in refusal.message


def test_targets_are_in_the_vpc_and_target_groups_at_one_balancer(account, scene) -> None:
    target = {"targetGroupArn": scene("targets").id, "targetId": scene("far machine").id}
    refusal = account.refused(lambda: account.create("TargetGroupAttachment", "t", **target))
    assert (refusal.code, "not in the target group VPC" in refusal.message) == ("InvalidTarget", True)
    account.create("Listener", "one", **_inputs("Listener", LISTENER | FORWARD, scene))
    other = _inputs("Listener", LISTENER | FORWARD | {"loadBalancerArn": "$other nlb"}, scene)
    refusal = account.refused(lambda: account.create("Listener", "two", **other))
    assert refusal.code == "TargetGroupAssociationLimit"


def test_a_resource_with_deletion_protection_is_not_deleted(account, scene) -> None:
    balancer = account.update(scene("nlb"), enableDeletionProtection=True)
    machine = account.update(scene("machine"), disableApiTermination=True)
    for thing in (balancer, machine):
        assert account.refused(lambda thing=thing: account.delete(thing)).code == "OperationNotPermitted"


def test_all_inline_policies_of_a_role_count_together(account, scene) -> None:
    role, long = scene("role").id, POLICY.replace('"*"', '["arn:aws:s3:::' + "x" * 6000 + '"]')
    account.create("RolePolicy", "one", role=role, policy=long)
    refusal = account.refused(lambda: account.create("RolePolicy", "two", role=role, policy=long))
    assert refusal.code == "LimitExceeded"


VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "tokens": ("Instance", {"metadataOptions": {"httpTokens": "yes"}}, "metadataOptions.httpTokens"),
    "hops": (
        "Instance",
        {"metadataOptions": {"httpPutResponseHopLimit": 65}},
        "metadataOptions.httpPutResponseHopLimit",
    ),
    "disk": ("Instance", {"rootBlockDevice": {"volumeType": "gp9"}}, "rootBlockDevice.volumeType"),
    "interval": ("TargetGroup", TARGETS | {"healthCheck": {"interval": 1}}, "healthCheck.interval"),
    "threshold": ("TargetGroup", TARGETS | {"healthCheck": {"healthyThreshold": 1}}, "healthCheck.healthyThreshold"),
    "check": ("TargetGroup", TARGETS | {"healthCheck": {"protocol": "UDP"}}, "healthCheck.protocol"),
    "target port": ("TargetGroup", TARGETS | {"port": 0}, "port"),
    "target type": ("TargetGroup", TARGETS | {"targetType": "address"}, "targetType"),
    "listener port": ("Listener", LISTENER | FORWARD | {"port": 70000}, "port"),
    "tenancy": ("Vpc", {"cidrBlock": "10.0.0.0/16", "instanceTenancy": "shared"}, "instanceTenancy"),
    "versioning": (
        "BucketVersioning",
        {"bucket": "b", "versioningConfiguration": {"status": "On"}},
        "versioningConfiguration.status",
    ),
    "session": ("Role", {"assumeRolePolicy": TRUST, "maxSessionDuration": 60}, "maxSessionDuration"),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_the_provider_refuses_stops_the_preview(account, case) -> None:
    short, inputs, path = VALUES[case]
    plain = {"ami": AMI, "instanceType": "m6i.large"} if short == "Instance" else {}
    assert list(account.failures(short, **(plain | inputs))) == [path]


def test_the_page_of_the_sandbox_has_every_fault() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "sandbox.md").read_text()
    assert not [kind for kind in KINDS if f"`{kind}`" not in page]
