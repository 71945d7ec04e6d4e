"""Computed outputs have the form of the real provider, and a preview equals the up."""

import json
import re
from typing import Any

import pytest

from sandbox.aws.cloud import AWS
from sandbox.aws.types import TYPES
from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.values import UNKNOWN, Secret, plain
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import POLICY, REGION, TRUST

HEX = r"0[0-9a-f]{16}"


@pytest.fixture
def everything(account: Account, network: Any, machine: Any) -> dict[str, Thing]:
    """One resource of each type, by class name."""
    made = {"Vpc": network.vpc, "Subnet": network.subnet, "SecurityGroup": network.group}

    def make(short: str, **inputs: Any) -> Thing:
        made[short] = account.create(short, short.lower(), **inputs)
        return made[short]

    vpc, subnet, group = network.vpc.id, network.subnet.id, network.group.id
    gateway = make("InternetGateway", vpcId=vpc)
    table = make("RouteTable", vpcId=vpc)
    make("Route", routeTableId=table.id, destinationCidrBlock="0.0.0.0/0", gatewayId=gateway.id)
    make("RouteTableAssociation", routeTableId=table.id, subnetId=subnet)
    make("NatGateway", allocationId=make("Eip").id, subnetId=subnet)
    make("VpcEndpoint", vpcId=vpc, serviceName="com.amazonaws.eu-west-1.s3", routeTableIds=[table.id])
    peer = {"securityGroupId": group, "ipProtocol": "tcp", "fromPort": 1, "toPort": 2}
    make("SecurityGroupIngressRule", referencedSecurityGroupId=group, **peer)
    make("SecurityGroupEgressRule", cidrIpv4="0.0.0.0/0", **peer)
    role = make("Role", assumeRolePolicy=TRUST)
    make("RolePolicy", role=role.id, policy=POLICY)
    make("RolePolicyAttachment", role=role.id, policyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
    make("OpenIdConnectProvider", url="https://issuer.example.com/a", clientIdLists=["sts.amazonaws.com"])
    profile = make("InstanceProfile", role=role.outputs["name"])
    made["Instance"] = machine(iamInstanceProfile=profile.outputs["name"], associatePublicIpAddress=True)
    make("AmiFromInstance", sourceInstanceId=made["Instance"].id)
    volume = make("Volume", availabilityZone="eu-west-1a", size=20, type="gp3", encrypted=True)
    make("Snapshot", volumeId=volume.id)
    balancer = make("LoadBalancer", loadBalancerType="network", internal=True, subnets=[subnet], securityGroups=[group])
    targets = make("TargetGroup", port=6443, protocol="TCP", vpcId=vpc)
    make("TargetGroupAttachment", targetGroupArn=targets.id, targetId=made["Instance"].id)
    action = {"type": "forward", "targetGroupArn": targets.id}
    make("Listener", loadBalancerArn=balancer.id, port=6443, protocol="TCP", defaultActions=[action])
    zone = make("Zone", name="c.mullion.internal", vpcs=[{"vpcId": vpc}])
    make("Record", zoneId=zone.id, name="api", type="A", ttl=60, records=["10.20.0.9"])
    _make_stores(make)
    return made


def _make_stores(make: Any) -> None:
    bucket = make("Bucket", bucket="bundles").id
    make("BucketVersioning", bucket=bucket, versioningConfiguration={"status": "Enabled"})
    block = {"blockPublicAcls": True, "blockPublicPolicy": True}
    make("BucketPublicAccessBlock", bucket=bucket, **block)
    default = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    make("BucketServerSideEncryptionConfiguration", bucket=bucket, rules=[default])
    make(
        "BucketPolicy", bucket=bucket, policy=POLICY.replace('"Effect": "Allow"', '"Principal": "*", "Effect": "Deny"')
    )
    rule = {"id": "old", "status": "Enabled", "expiration": {"days": 30}, "filter": {"prefix": "x/"}}
    make("BucketLifecycleConfiguration", bucket=bucket, rules=[rule])
    make("BucketObjectv2", bucket=bucket, key="a/b", content="hello")
    make("SecretVersion", secretId=make("Secret", name="pki").id, secretString="value")


IDS = {
    "Vpc": f"vpc-{HEX}",
    "Subnet": f"subnet-{HEX}",
    "InternetGateway": f"igw-{HEX}",
    "RouteTable": f"rtb-{HEX}",
    "Route": f"r-rtb-{HEX}[0-9a-f]+",
    "RouteTableAssociation": f"rtbassoc-{HEX}",
    "Eip": f"eipalloc-{HEX}",
    "NatGateway": f"nat-{HEX}",
    "VpcEndpoint": f"vpce-{HEX}",
    "SecurityGroup": f"sg-{HEX}",
    "SecurityGroupIngressRule": f"sgr-{HEX}",
    "SecurityGroupEgressRule": f"sgr-{HEX}",
    "Instance": f"i-{HEX}",
    "AmiFromInstance": f"ami-{HEX}",
    "Volume": f"vol-{HEX}",
    "Snapshot": f"snap-{HEX}",
    "Role": "role-[0-9a-f]{7}",
    "RolePolicy": "role-[0-9a-f]{7}:rolepolicy-[0-9a-f]{7}",
    "RolePolicyAttachment": "role-[0-9a-f]{7}/arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess",
    "OpenIdConnectProvider": "arn:aws:iam::0{12}:oidc-provider/issuer.example.com/a",
    "InstanceProfile": "instanceprofile-[0-9a-f]{7}",
    "LoadBalancer": r"arn:aws:elasticloadbalancing:eu-west-1:0{12}:loadbalancer/net/loadbalancer-\w{7}/[0-9a-f]{16}",
    "TargetGroup": r"arn:aws:elasticloadbalancing:eu-west-1:0{12}:targetgroup/targetgroup-\w{7}/[0-9a-f]{16}",
    "TargetGroupAttachment": r"arn:aws:elasticloadbalancing:.*-[0-9a-f]{26}",
    "Listener": r"arn:aws:elasticloadbalancing:eu-west-1:0{12}:listener/net/loadbalancer-\w{7}/\w{16}/[0-9a-f]{16}",
    "Zone": "Z[0-9A-F]{20}",
    "Record": "Z[0-9A-F]{20}_api_A",
    "Bucket": "bundles",
    "BucketObjectv2": "bundles/a/b",
    "Secret": r"arn:aws:secretsmanager:eu-west-1:0{12}:secret:pki-\w{6}",
    "SecretVersion": r"arn:aws:secretsmanager:.*:secret:pki-\w{6}\|[0-9a-f]{8}-[0-9a-f-]{27}",
}

OUTPUTS = {
    "Vpc": {"arn": rf"arn:aws:ec2:eu-west-1:0{{12}}:vpc/vpc-{HEX}", "mainRouteTableId": f"rtb-{HEX}"},
    "Subnet": {"availabilityZone": "eu-west-1a", "availabilityZoneId": "euw1-az1"},
    "Instance": {
        "privateIp": r"10\.20\.0\.\d+",
        "privateDns": r"ip-10-20-0-\d+\.eu-west-1\.compute\.internal",
        "publicDns": r"ec2-.*\.eu-west-1\.compute\.amazonaws\.com",
        "primaryNetworkInterfaceId": f"eni-{HEX}",
        "instanceState": "running",
    },
    "LoadBalancer": {
        "dnsName": r"loadbalancer-\w{7}-[0-9a-f]{16}\.elb\.eu-west-1\.amazonaws\.com",
        "zoneId": "Z2IFOLAFXWLO4F",
        "arnSuffix": r"net/loadbalancer-\w{7}/[0-9a-f]{16}",
        "vpcId": f"vpc-{HEX}",
    },
    "TargetGroup": {"arnSuffix": r"targetgroup/targetgroup-\w{7}/[0-9a-f]{16}"},
    "Bucket": {
        "bucketDomainName": r"bundles\.s3\.amazonaws\.com",
        "bucketRegionalDomainName": r"bundles\.s3\.eu-west-1\.amazonaws\.com",
        "arn": "arn:aws:s3:::bundles",
    },
    "BucketObjectv2": {"etag": "5d41402abc4b2a76b9719d911017c592", "versionId": "[0-9a-f]{32}"},
    "Role": {"arn": r"arn:aws:iam::0{12}:role/role-\w{7}", "uniqueId": "AROA[0-9a-f]{17}"},
    "OpenIdConnectProvider": {"arn": "arn:aws:iam::0{12}:oidc-provider/issuer.example.com/a"},
    "InstanceProfile": {"arn": r"arn:aws:iam::0{12}:instance-profile/instanceprofile-\w{7}"},
    "Record": {"fqdn": r"api\.c\.mullion\.internal"},
    "Zone": {"zoneId": "Z[0-9A-F]{20}"},
    "Eip": {"allocationId": f"eipalloc-{HEX}", "publicIp": r"(203\.0\.113|198\.51\.100)\.\d+"},
    "NatGateway": {"publicIp": r"(203\.0\.113|198\.51\.100)\.\d+", "networkInterfaceId": f"eni-{HEX}"},
}


def test_every_type_can_be_created_with_an_id_in_the_form_of_aws(everything) -> None:
    assert set(everything) == {token.rsplit(":", 1)[-1] for token in TYPES}
    for short, pattern in IDS.items():
        assert re.fullmatch(pattern, everything[short].id), (short, everything[short].id)


def test_computed_outputs_have_the_form_of_aws(everything) -> None:
    for short, patterns in OUTPUTS.items():
        for name, pattern in patterns.items():
            assert re.fullmatch(pattern, everything[short].outputs[name]), (
                short,
                name,
                everything[short].outputs[name],
            )


def test_a_preview_returns_the_values_of_the_up_or_unknown(account, everything) -> None:
    for short, thing in everything.items():
        id, promised = account.provider.create(thing.urn, thing.inputs, preview=True)
        assert id == "", short
        for name, value in promised.items():
            if value is not UNKNOWN:
                assert thing.outputs.get(name) == value, (short, name)
        unpromised = {name for name, value in thing.outputs.items() if name not in promised and value is not None}
        assert not unpromised, (short, "an output that the preview did not announce")


def test_a_preview_changes_nothing(account) -> None:
    account.provider.create(account.urn("Vpc", "v"), {"cidrBlock": "10.0.0.0/16"}, preview=True)
    assert account.cloud_state.resources() == []
    assert account.cloud_state.operations() == []


def test_all_resources_can_be_deleted_in_reverse_order(account, everything) -> None:
    for record in reversed(account.cloud_state.resources()):
        account.delete(Thing(record.urn, record.id, record.inputs, record.outputs))
    assert account.cloud_state.resources() == []
    assert account.cloud_state.objects("bundles") == {}
    left = account.cloud_state.connection.execute("SELECT kind, until IS NULL FROM claims").fetchall()
    assert left == [("secret", 0)], "only the secret's name stays taken, for its recovery window"


def test_a_refresh_returns_the_outputs_of_up(account, everything) -> None:
    for short, thing in everything.items():
        inputs, outputs = account.provider.read(thing.urn, thing.id, thing.outputs, thing.inputs)
        assert plain(inputs) == plain(thing.inputs), short
        assert inputs["__defaults"] == thing.inputs["__defaults"], "automatic names stay automatic after a refresh"
        assert outputs == thing.outputs, short


def test_all_taggable_resources_have_the_default_tags(account, everything) -> None:
    account.provider.configure({"region": "eu-west-1", "defaultTags": '{"tags": {"owner": "us"}}'})
    vpc = account.create("Vpc", "tagged", cidrBlock="10.40.0.0/16", tags={"a": "b"})
    assert vpc.outputs["tagsAll"] == {"owner": "us", "a": "b"}
    assert "tagsAll" not in everything["Route"].outputs
    assert account.cloud_state.find(TYPE_OF["Vpc"], vpc.id).tags == {"owner": "us", "a": "b"}


def test_an_object_takes_as_many_tags_as_s3_does_with_default_tags_of_its_own(account) -> None:
    bucket = account.create("Bucket", "own", bucket="own")
    many = {f"tag-{index}": "x" for index in range(9)}
    account.provider.configure({"region": "eu-west-1", "defaultTags": json.dumps({"tags": many})})
    given = {"bucket": bucket.id, "key": "k", "content": "x", "tags": {"a": "b", "c": "d"}}
    with pytest.raises(Refusal, match="Object tags cannot be greater than 10; these are 11"):
        account.create("BucketObjectv2", "o", **given)
    alone = account.create("BucketObjectv2", "o", **given, overrideProvider={"defaultTags": {"tags": {}}})
    assert alone.outputs["tagsAll"] == given["tags"]


TYPE_OF = {token.rsplit(":", 1)[-1]: token for token in TYPES}


def test_ids_depend_on_seed_and_sequence_alone(account, tmp_path) -> None:
    twin = Account(CloudState(tmp_path / "twin", seed="test"), AWS, REGION)
    first, second = (one.create("Vpc", "v", cidrBlock="10.0.0.0/16").id for one in (account, twin))
    assert first == second
    other = Account(CloudState(tmp_path / "other", seed="other"), AWS, REGION)
    assert other.create("Vpc", "v", cidrBlock="10.0.0.0/16").id != first


def test_a_secret_value_is_always_marked_secret(account) -> None:
    secret = account.create("Secret", "s")
    version = account.create("SecretVersion", "v", secretId=secret.id, secretString="plain by mistake")
    assert version.outputs["secretString"] == Secret("plain by mistake")


def test_an_update_keeps_values_chosen_by_the_cloud(account, machine) -> None:
    first = machine()
    second = account.update(first, tags={"a": "b"}, instanceType="m6i.xlarge")
    changed = {name for name in second.outputs if second.outputs[name] != first.outputs.get(name)}
    assert changed == {"tags", "tagsAll", "instanceType"}


def test_a_new_object_version_has_another_etag(account) -> None:
    bucket = account.create("Bucket", "b")
    first = account.create("BucketObjectv2", "o", bucket=bucket.id, key="k", content="one")
    preview = account.provider.update(
        first.urn, first.id, first.outputs, first.inputs | {"content": "two"}, preview=True
    )
    assert preview["etag"] is UNKNOWN
    second = account.update(first, content="two")
    assert second.outputs["etag"] != first.outputs["etag"]
    assert account.cloud_state.objects(bucket.id)["k"].content == b"two"


def test_the_log_has_all_calls_with_simulated_times(account, everything) -> None:
    operations = account.cloud_state.operations()
    assert len(operations) == len(everything)
    assert {operation.kind for operation in operations} == {"create"}
    nat = next(operation for operation in operations if operation.type == TYPE_OF["NatGateway"])
    assert nat.simulated_seconds == AWS.seconds(nat.type, "create") > 60
    assert nat.id.startswith("nat-")
