"""`egress: none` on AWS: no gateway and no route, but an interface endpoint for each service that machines ask."""

from typing import Any

import pytest

from components.aws import endpoint_policies
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, read_stack
from components.topology.private_endpoints import PrivateEndpoint
from operations.recorder.recorder import Recording, record
from sandbox.aws.policies import refused
from tests.components.aws.samples import changed, instances
from tests.components.recorded_wiring import config, of

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
PROXY = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
VPC = "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-1"
ROLE, FOREIGN = "arn:aws:iam::123456789012:role/dev-workers", "arn:aws:iam::999999999999:role/thief"
OWN, OTHER = {"aws:ResourceAccount": "123456789012"}, {"aws:ResourceAccount": "999999999999"}
MIRRORED = {"containerd": {"mirrors": {"*": ["https://images.example.com"]}}}


def without_egress(stack: str = "aws-prod", **fields: Any) -> Recording:
    network = {**config(stack)[CLUSTER].get("network", {}), "egress": "none", "nat_gateways": "single"}
    found = record(stack, changed(stack, **{"proxy": PROXY, "network": network, "api": {}, **fields}))
    assert found.errors == []
    return found


def services(found: Recording) -> set[str]:
    return {each.name.removeprefix("aws-prod-") for each in of(found, ENDPOINT).values()}


def test_no_machine_has_a_way_to_the_internet() -> None:
    found = without_egress()
    gone = ("ec2/internetGateway:InternetGateway", "ec2/natGateway:NatGateway", "ec2/eip:Eip", "ec2/route:Route")
    assert not {each.type.removeprefix("aws:") for each in found.resources.values()} & {*gone}
    assert not any(each.inputs["associatePublicIpAddress"] for each in instances(found).values())


def test_endpoints_are_in_every_zone_behind_a_group_that_admits_machines_to_https() -> None:
    found = without_egress()
    [group] = [each for name, each in of(found, "aws:ec2/securityGroup:SecurityGroup").items() if "endpoints" in name]
    inside = [each for each in of(found, ENDPOINT).values() if each.inputs["vpcEndpointType"] == "Interface"]
    assert {each.name for each in inside} == {"aws-prod-ec2", "aws-prod-secretsmanager"}
    for endpoint in inside:
        assert endpoint.inputs["privateDnsEnabled"] and len(endpoint.inputs["subnetIds"]) == 3
        assert endpoint.dependencies >= {group.urn}
        assert endpoint.inputs["serviceName"].startswith("com.amazonaws.eu-west-1.")
    rules = of(found, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule").values()
    ports = [(each.inputs["fromPort"], each.inputs["toPort"]) for each in rules if group.urn in each.dependencies]
    assert ports == [(443, 443)] * 2


def test_machines_wait_for_the_endpoints_and_for_their_rules() -> None:
    found = without_egress()
    ways = {each.urn for each in of(found, ENDPOINT).values()}
    ways |= {each.urn for each in found.resources.values() if "endpoints-https-from" in each.name}
    assert len(ways) == 5
    assert instances(found)["aws-prod-control-plane-0"].dependencies >= ways


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"registry_credentials": ["ecr"]}, {"ecr-api", "ecr-dkr"}),
        ({"cloud_controller": "external"}, {"elasticloadbalancing"}),
        ({"access": "session"}, {"ssm", "ssmmessages"}),
    ],
    ids=["ECR", "cloud controller", "sessions"],
)
def test_options_add_the_endpoints_of_their_services(fields: dict[str, Any], more: set[str]) -> None:
    fields = dict(fields)
    if "access" in fields:  # SSM Agent would not use the proxy
        cluster = config("aws-prod")[CLUSTER]
        pools = {name: {**pool, **MIRRORED} for name, pool in cluster["pools"].items()}
        mirror = {**cluster.get("artifacts", {}), "mirror": "https://files.example.com"}
        plane = {**cluster["control_plane"], **MIRRORED}
        known = {**cluster.get("acknowledge", {}), "images-from-elsewhere": "our registry team"}
        fields |= {"proxy": None, "artifacts": mirror, "pools": pools, "control_plane": plane, "acknowledge": known}
    assert services(without_egress(**fields)) == {"s3", "ec2", "secretsmanager", *more}


def test_stacks_with_nat_have_no_interface_endpoint() -> None:
    assert services(record("aws-prod", config("aws-prod"))) == {"s3"}


def test_the_cloud_controller_puts_no_balancer_into_the_endpoints_subnets() -> None:
    """Of two subnets of a zone it takes the one with the role's tag, and between equals the smaller id."""
    subnets = of(without_egress(cloud_controller="external"), "aws:ec2/subnet:Subnet")
    tagged = {name for name, each in subnets.items() if any("kubernetes.io/" in key for key in each.inputs["tags"])}
    assert tagged == {f"aws-prod-machines-{zone}" for zone in range(3)}
    assert tagged | {f"aws-prod-endpoints-{zone}" for zone in range(3)} == {*subnets}


def spec(**fields: Any) -> ClusterSpec:
    return read_stack("aws-prod", changed("aws-prod", **fields)).spec


def lets(policy: str, action: str, thing: str, principal: str = ROLE, **context: str) -> bool:
    account = {"aws:PrincipalAccount": principal.split(":")[4]}
    return not refused([policy], action, thing, principal, {**account, **context})


def test_stores_of_other_accounts_are_out_of_reach() -> None:
    policy = endpoint_policies.of_stores(VPC, spec())
    assert lets(policy, "s3:PutObject", "arn:aws:s3:::own/status", **OWN)
    assert not lets(policy, "s3:PutObject", "arn:aws:s3:::foreign/etcd", **OTHER)
    assert not lets(policy, "s3:PutObject", "arn:aws:s3:::foreign/etcd", FOREIGN, **OTHER)


@pytest.mark.parametrize(
    ("fields", "bucket"),
    [
        ({"registry_credentials": ["ecr"]}, "prod-eu-west-1-starport-layer-bucket"),
        ({"artifacts": {"mirror": "https://files.s3.eu-west-1.amazonaws.com/kubernetes"}}, "files"),
        ({"artifacts": {"mirror": "https://a.b.s3.dualstack.eu-west-1.amazonaws.com"}}, "a.b"),
        ({"artifacts": {"mirror": "https://s3.eu-west-1.amazonaws.com/files/kubernetes"}}, "files"),
    ],
    ids=["layers of ECR", "mirror", "mirror by IPv6 too", "mirror in the path"],
)
def test_buckets_of_others_that_the_spec_needs_can_be_read(fields: dict[str, Any], bucket: str) -> None:
    policy, thing = endpoint_policies.of_stores(VPC, spec(**fields)), f"arn:aws:s3:::{bucket}/file"
    assert lets(policy, "s3:GetObject", thing, **OTHER) and not lets(policy, "s3:PutObject", thing, **OTHER)
    assert not lets(endpoint_policies.of_stores(VPC, spec()), "s3:GetObject", thing, **OTHER)


def test_services_answer_callers_of_the_clusters_account_only() -> None:
    policy = endpoint_policies.of_service(VPC, PrivateEndpoint("secretsmanager"))
    assert policy and lets(policy, "secretsmanager:GetSecretValue", "*")
    assert not lets(policy, "secretsmanager:PutSecretValue", "*", FOREIGN)
    assert endpoint_policies.of_service(VPC, PrivateEndpoint("ecr.dkr")) is None, "its requests have no signature"


def test_every_endpoint_has_its_policy_only_without_a_way_to_the_internet() -> None:
    found = {each.name: each.inputs.get("policy") for each in of(without_egress(), ENDPOINT).values()}
    assert {*found} == {"aws-prod-s3", "aws-prod-ec2", "aws-prod-secretsmanager"} and all(found.values())
    [stores] = of(record("aws-prod", config("aws-prod")), ENDPOINT).values()
    assert "policy" not in stores.inputs
