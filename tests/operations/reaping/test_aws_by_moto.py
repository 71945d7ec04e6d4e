"""Inventory and deletion on AWS, judged by moto: another implementation of AWS's APIs than the sandbox's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from operations.reaping import sweep
from operations.reaping.aws import Aws
from operations.reaping.aws_requests import Keys, Requests
from operations.reaping.things import clusters
from tests.operations.reaping.clocks import passing

REGION = "eu-west-1"
KEYS = Keys("AKIATESTTESTTESTTEST", "secret")
Client = Callable[[str], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def client(server: str) -> Client:
    made: dict[str, Any] = {}

    def of(service: str) -> Any:
        keys = {"aws_access_key_id": KEYS.key_id, "aws_secret_access_key": KEYS.secret}
        made.setdefault(service, boto3.client(service, region_name=REGION, endpoint_url=server, **keys))
        return made[service]

    return of


@pytest.fixture
def account(server: str) -> Iterator[Aws]:
    account = Aws(Requests(KEYS, server), [REGION])
    yield account
    account.close()


def tags(cluster: str, **more: str) -> list[dict[str, str]]:
    own = {"mullion:cluster": cluster, "mullion:owner": "qa", "mullion:expires": "2026-01-01T00:00:00Z", **more}
    return [{"Key": key, "Value": value} for key, value in own.items()]


def specified(kind: str, cluster: str, **more: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": tags(cluster, **more)}]


def owned(cluster: str) -> list[dict[str, str]]:
    return [{"Key": f"kubernetes.io/cluster/{cluster}", "Value": "owned"}]


def network(client: Client, cluster: str) -> dict[str, str]:
    """Create a cluster's network, machine, NAT gateway and groups that name each other; return their ids."""
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=specified("vpc", cluster))["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(
            VpcId=vpc,
            CidrBlock=f"10.0.{number}.0/24",
            AvailabilityZone=f"{REGION}{'ab'[number]}",
            TagSpecifications=specified("subnet", cluster),
        )["Subnet"]["SubnetId"]
        for number in range(2)
    ]
    gateway = ec2.create_internet_gateway(TagSpecifications=specified("internet-gateway", cluster))
    gateway = gateway["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=specified("route-table", cluster))
    table = table["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnets[0])
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=specified("elastic-ip", cluster))["AllocationId"]
    ec2.create_nat_gateway(
        SubnetId=subnets[0], AllocationId=address, TagSpecifications=specified("natgateway", cluster)
    )
    ec2.create_vpc_endpoint(
        VpcId=vpc,
        VpcEndpointType="Gateway",
        ServiceName=f"com.amazonaws.{REGION}.s3",
        RouteTableIds=[table],
        TagSpecifications=specified("vpc-endpoint", cluster),
    )
    groups = [
        ec2.create_security_group(
            GroupName=f"{cluster}-{name}",
            Description=name,
            VpcId=vpc,
            TagSpecifications=specified("security-group", cluster),
        )["GroupId"]
        for name in ("one", "two")
    ]
    for group, other in (groups, groups[::-1]):
        pair = [{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "UserIdGroupPairs": [{"GroupId": other}]}]
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=pair)
    image = ec2.describe_images()["Images"][0]["ImageId"]
    ec2.run_instances(
        ImageId=image,
        MinCount=1,
        MaxCount=1,
        SubnetId=subnets[1],
        SecurityGroupIds=groups,
        TagSpecifications=specified("instance", cluster),
    )
    return {"vpc": vpc, "subnet": subnets[0], "other": subnets[1], "group": groups[0]}


def made_by_kubernetes(client: Client, cluster: str, places: dict[str, str]) -> None:
    """Create what a cloud controller and a storage driver create: balancers, their group, a volume."""
    ec2 = client("ec2")
    group = ec2.create_security_group(GroupName=f"k8s-elb-{cluster}", Description="-", VpcId=places["vpc"])["GroupId"]
    ec2.create_tags(Resources=[group], Tags=owned(cluster))
    rule = [{"IpProtocol": "tcp", "FromPort": 3, "ToPort": 4, "UserIdGroupPairs": [{"GroupId": group}]}]
    ec2.authorize_security_group_ingress(GroupId=places["group"], IpPermissions=rule)
    newer = client("elbv2").create_load_balancer(
        Name=f"{cluster}-net", Subnets=[places["subnet"], places["other"]], Type="network", Tags=owned(cluster)
    )
    targets = client("elbv2").create_target_group(
        Name=f"{cluster}-targets", Protocol="TCP", Port=80, VpcId=places["vpc"], Tags=owned(cluster)
    )
    client("elbv2").create_listener(
        LoadBalancerArn=newer["LoadBalancers"][0]["LoadBalancerArn"],
        Protocol="TCP",
        Port=80,
        DefaultActions=[{"Type": "forward", "TargetGroupArn": targets["TargetGroups"][0]["TargetGroupArn"]}],
    )
    client("elb").create_load_balancer(
        LoadBalancerName=f"{cluster}-classic",
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 80}],
        Subnets=[places["subnet"]],
        SecurityGroups=[group],
        Tags=owned(cluster),
    )
    for tags in (owned(cluster), [*owned(cluster), {"Key": "mullion-keep", "Value": ""}]):
        specified = [{"ResourceType": "volume", "Tags": tags}]
        volume = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=specified)["VolumeId"]
        specified = [{"ResourceType": "snapshot", "Tags": tags}]
        ec2.create_snapshot(VolumeId=volume, TagSpecifications=specified)


def policy(client: Client) -> str:
    """Return the ARN of a managed policy of the account; it is no cluster's."""
    listed = client("iam").list_policies(Scope="Local")["Policies"]
    rights = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
    found = listed or [client("iam").create_policy(PolicyName="ours", PolicyDocument=json.dumps(rights))["Policy"]]
    return found[0]["Arn"]


def others(client: Client, cluster: str) -> None:
    """Create a role with its profile, secrets, buckets with versions, and a zone with a record."""
    allowed = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    rights = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    assumed = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [assumed]})
    name = f"{cluster}-workers-0123abc"
    iam = client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust, Tags=tags(cluster))
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=rights)
    iam.create_instance_profile(InstanceProfileName=name, Tags=tags(cluster))
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
    pods = f"{cluster}-pods-shop-uploads-01234567-0123abc"
    issuer = f"https://{cluster}-issuer-bcdfgh-123456789012-{REGION}-an.s3.{REGION}.amazonaws.com"
    iam.create_open_id_connect_provider(Url=issuer, ClientIDList=["sts.amazonaws.com"], Tags=tags(cluster))
    iam.create_role(RoleName=pods, AssumeRolePolicyDocument=trust, Tags=tags(cluster))
    iam.attach_role_policy(RoleName=pods, PolicyArn=policy(client))
    client("secretsmanager").create_secret(Name=f"{cluster}-pki", SecretString="x", Tags=tags(cluster))
    for kind in ("bundles", "snapshots"):
        bucket = f"{cluster}-{kind}-0123abc"
        s3 = client("s3")
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags(cluster, Name=f"{cluster}-{kind}")})
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        for key in ("a b+c/é.json", "a b+c/é.json", "other"):
            s3.put_object(Bucket=bucket, Key=key, Body=b"x")
        s3.delete_object(Bucket=bucket, Key="other")
    dns = client("route53")
    zone = dns.create_hosted_zone(Name=f"{cluster}.internal", CallerReference=cluster)["HostedZone"]["Id"]
    dns.change_tags_for_resource(ResourceType="hostedzone", ResourceId=zone.rpartition("/")[2], AddTags=tags(cluster))
    record = {"Name": f"api.{cluster}.internal", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "10.0.0.1"}]}
    batch = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
    dns.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)


def guarded(client: Client, vpc: str, subnet: str) -> tuple[str, str]:
    """Create what GuardDuty's Runtime Monitoring makes in a VPC; return the ids of endpoint and group."""
    ec2, mark = client("ec2"), [{"Key": "GuardDutyManaged", "Value": "true"}]
    group = ec2.create_security_group(
        GroupName=f"GuardDutyManagedSecurityGroup-{vpc}",
        Description="Associated with VPC endpoint",
        VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": mark}],
    )["GroupId"]
    endpoint = ec2.create_vpc_endpoint(
        VpcId=vpc,
        VpcEndpointType="Interface",
        ServiceName=f"com.amazonaws.{REGION}.guardduty-data",
        SubnetIds=[subnet],
        SecurityGroupIds=[group],
        TagSpecifications=[{"ResourceType": "vpc-endpoint", "Tags": mark}],
    )["VpcEndpoint"]["VpcEndpointId"]
    return endpoint, group


def test_what_guardduty_made_in_a_clusters_network_goes_and_that_elsewhere_stays(client: Client, account: Aws) -> None:
    places = network(client, "watched")
    guarded(client, places["vpc"], places["subnet"])
    another = client("ec2").create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    subnet = client("ec2").create_subnet(VpcId=another, CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]
    endpoint, group = guarded(client, another, subnet)
    outcome = sweep.removed(account, "watched", lambda _: "", clock=passing())
    assert outcome.left == []
    found = client("ec2").describe_vpc_endpoints(Filters=[{"Name": "tag:GuardDutyManaged", "Values": ["true"]}])
    assert [each["VpcEndpointId"] for each in found["VpcEndpoints"] if each["State"] != "deleted"] == [endpoint]
    groups = client("ec2").describe_security_groups(Filters=[{"Name": "tag:GuardDutyManaged", "Values": ["true"]}])
    assert [each["GroupId"] for each in groups["SecurityGroups"]] == [group]
    assert places["vpc"] not in [each["VpcId"] for each in client("ec2").describe_vpcs()["Vpcs"]]


def test_all_of_a_cluster_goes_and_all_of_another_stays(client: Client, account: Aws) -> None:
    for cluster in ("gone", "stays"):
        made_by_kubernetes(client, cluster, network(client, cluster))
        others(client, cluster)
    kinds = {each.kind for each in account.inventory() if each.cluster == "gone"}
    assert kinds == {
        *("instance", "vpc", "subnet", "internet-gateway", "route-table", "elastic-ip", "natgateway", "vpc-endpoint"),
        *("security-group", "load-balancer", "target-group", "classic-load-balancer", "volume", "snapshot"),
        *("role", "instance-profile", "oidc-provider", "secret", "bucket", "hosted-zone"),
    }
    before = {each.key for each in account.inventory() if each.cluster == "stays"}
    clock = passing()
    outcome = sweep.removed(account, "gone", lambda _: "", clock=clock)
    assert (outcome.left, outcome.kept) == ([], "")
    left = [(each.kind, each.kept) for each in account.inventory() if each.cluster == "gone"]
    assert left == [("bucket", True)], "the snapshot store stays"
    filters = [{"Name": "tag:kubernetes.io/cluster/gone", "Values": ["owned"]}]
    stored = client("ec2").describe_volumes(Filters=filters)["Volumes"]
    stored += client("ec2").describe_snapshots(Filters=filters)["Snapshots"]
    tags = [{each["Key"] for each in one["Tags"]} for one in stored]
    assert tags == [{"kubernetes.io/cluster/gone", "mullion-keep"}] * 2
    assert sweep.removed(account, "gone", lambda _: "", snapshots=True, clock=clock).left == []
    assert {each.key for each in account.inventory()} == before
    assert [each.cluster for each in clusters(account.inventory())] == ["stays"]
    assert client("iam").get_policy(PolicyArn=policy(client))["Policy"]["AttachmentCount"] == 1


def test_a_cluster_of_the_same_name_in_another_network_stays(client: Client, account: Aws) -> None:
    """A cluster of EKS sets the controller's tag too, and volumes have no network by which they could be told apart."""
    ours = network(client, "twin")
    made_by_kubernetes(client, "twin", ours)
    elsewhere = client("ec2").create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    group = client("ec2").create_security_group(GroupName="eks", Description="-", VpcId=elsewhere)["GroupId"]
    client("ec2").create_tags(Resources=[group], Tags=owned("twin"))
    outcome = sweep.removed(account, "twin", lambda _: "", clock=passing())
    assert client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"]
    assert {each.thing.kind for each in outcome.left} >= {"volume", "snapshot"}
    assert any("another network has a cluster of this name" in each.why for each in outcome.left)
