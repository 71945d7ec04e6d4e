"""The resources of aws-dev as a flat program: without components, spec, plan and meaningful tags.

`tools/bench` measures against it: the same resources of the same classes, with inputs of the same size and the same
references, written one after the other.
"""

import json
import runpy
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.sdk.registration import urn_dependency

TAGS = {"mullion:cluster": "flat", "mullion:owner": "platform-team", "mullion:urn": "u" * 120, "Name": "flat"}
RULES = 21
"""Number of rules of both security groups."""

ALLOW = {"Effect": "Allow", "Action": ["s3:GetObject"]}
EC2 = {"Service": "ec2.amazonaws.com"}


def document(*statements: dict[str, Any]) -> str:
    """Return a policy document."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def secret(name: str, value: Any) -> Output[Any]:
    """Register a Stash with a secret, and return the secret."""
    hidden = ["input", "output"]
    options = ResourceOptions(ignore_changes=["input"], additional_secret_outputs=hidden)
    return pulumi.Stash(name, input=Output.secret(value), opts=options).output


def looked_up(name: str, parameter: str) -> Output[str]:
    """Register a Stash with an image id, and return the id."""
    found = aws.ssm.get_parameter_output(name=parameter).insecure_value
    return pulumi.Stash(name, input=found, opts=ResourceOptions(ignore_changes=["input"])).output


def network() -> tuple[Output[str], Output[str], list[pulumi.Resource]]:
    """Register the network; return the VPC id, the machines' subnet, and their routes."""
    zones = aws.get_availability_zones_output(state="available").names
    zone = pulumi.Stash("zones", input=zones, opts=ResourceOptions(ignore_changes=["input"])).output[0]
    vpc = aws.ec2.Vpc("vpc", cidr_block="10.20.0.0/16", enable_dns_support=True, enable_dns_hostnames=True, tags=TAGS)
    internet = aws.ec2.InternetGateway("internet", vpc_id=vpc.id, tags=TAGS)
    edge = aws.ec2.Subnet("edge", vpc_id=vpc.id, cidr_block="10.20.0.0/20", availability_zone=zone, tags=TAGS)
    inner = aws.ec2.Subnet("inner", vpc_id=vpc.id, cidr_block="10.20.64.0/18", availability_zone=zone, tags=TAGS)
    address = aws.ec2.Eip("nat", domain="vpc", tags=TAGS)
    nat = aws.ec2.NatGateway("nat", allocation_id=address.allocation_id, subnet_id=edge.id, tags=TAGS)
    made: list[pulumi.Resource] = []
    routes: list[tuple[str, aws.ec2.Subnet, dict[str, Any]]] = [
        ("edge", edge, {"gateway_id": internet.id}),
        ("inner", inner, {"nat_gateway_id": nat.id}),
    ]
    for name, subnet, target in routes:
        table = aws.ec2.RouteTable(name, vpc_id=vpc.id, tags=TAGS)
        made.append(aws.ec2.Route(name, route_table_id=table.id, destination_cidr_block="0.0.0.0/0", **target))
        made.append(aws.ec2.RouteTableAssociation(name, route_table_id=table.id, subnet_id=subnet.id))
        if subnet is inner:
            aws.ec2.VpcEndpoint(
                "s3",
                vpc_id=vpc.id,
                vpc_endpoint_type="Gateway",
                service_name="com.amazonaws.eu-west-1.s3",
                route_table_ids=[table.id],
                tags=TAGS,
            )
    return vpc.id, inner.id, made


def firewall(vpc: Output[str]) -> list[Output[str]]:
    """Register the security groups, and return their ids."""
    groups = [aws.ec2.SecurityGroup(name, vpc_id=vpc, description=name, tags=TAGS) for name in ("control", "work")]
    for number in range(RULES - 2):
        aws.vpc.SecurityGroupIngressRule(
            f"rule-{number}",
            security_group_id=groups[number % 2].id,
            referenced_security_group_id=groups[number // 2 % 2].id,
            ip_protocol="tcp",
            from_port=1000 + number,
            to_port=1000 + number,
            description="one rule of many",
            tags=TAGS,
        )
    for name, group in zip(("control-out", "work-out"), groups, strict=True):
        aws.vpc.SecurityGroupEgressRule(
            name, security_group_id=group.id, cidr_ipv4="0.0.0.0/0", ip_protocol="-1", description="out", tags=TAGS
        )
    return [group.id for group in groups]


def storage(keys: Output[Any]) -> tuple[Output[dict[str, str]], Output[dict[str, str]]]:
    """Register the stores; return facts for user-data, and ARNs for policies."""
    names: dict[str, Any] = {}
    arns: dict[str, Any] = {}
    for purpose in ("bundles", "snapshots"):
        bucket = aws.s3.Bucket(purpose, force_destroy=True, tags=TAGS)
        names[purpose], arns[purpose] = bucket.bucket_regional_domain_name, bucket.arn
        closed = aws.s3.BucketPublicAccessBlock(
            purpose, bucket=bucket.id, block_public_acls=True, block_public_policy=True
        )
        rule: Any = {"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}
        aws.s3.BucketServerSideEncryptionConfiguration(purpose, bucket=bucket.id, rules=[rule])
        policy = bucket.arn.apply(lambda arn: document({**ALLOW, "Principal": "*", "Effect": "Deny", "Resource": arn}))
        aws.s3.BucketPolicy(purpose, bucket=bucket.id, policy=policy, opts=ResourceOptions(depends_on=[closed]))
        if purpose == "snapshots":
            aws.s3.BucketVersioning(purpose, bucket=bucket.id, versioning_configuration={"status": "Enabled"})
            old: Any = {"id": "old", "status": "Enabled", "filter": {}}
            old["noncurrent_version_expiration"] = {"noncurrent_days": 30}
            aws.s3.BucketLifecycleConfiguration(purpose, bucket=bucket.id, rules=[old])
            continue
        for key in ("control", "linux", "web", "ca", "pointer", "members"):
            stored = aws.s3.BucketObjectv2(key, bucket=bucket.id, key=key, content="x" * 1000, tags=TAGS)
            names[key] = stored.key
    for purpose in ("pki", "desired", "join"):
        entry = aws.secretsmanager.Secret(purpose, description=purpose, tags=TAGS)
        names[f"{purpose}_secret"], arns[f"{purpose}_secret"] = entry.name, entry.arn
        if purpose != "join":
            aws.secretsmanager.SecretVersion(purpose, secret_id=entry.id, secret_string=keys.apply(json.dumps))
    return Output.all(**names), Output.all(**arns)


def identity(arns: Output[dict[str, str]]) -> list[Output[str]]:
    """Register the roles, and return the names of the instance profiles."""
    profiles: list[Output[str]] = []
    for name in ("control", "work"):
        trust = document({"Effect": "Allow", "Principal": EC2, "Action": "sts:AssumeRole"})
        role = aws.iam.Role(name, assume_role_policy=trust, tags=TAGS)
        policy = arns.apply(lambda known: document(*({**ALLOW, "Resource": each} for each in known.values())))
        aws.iam.RolePolicy(name, role=role.name, policy=policy)
        profiles.append(aws.iam.InstanceProfile(name, role=role.name, tags=TAGS).name)
    return profiles


def flat(workers: int) -> None:
    """Run the program as the engine does: one control plane, one Linux worker, and `workers` Windows workers."""
    runpy.run_path(__file__, {"WORKERS": workers})


def build(workers: int) -> None:
    """Register all resources."""
    authorities = [secret(name, {"certificate": "c" * 700, "key": "k" * 250}) for name in ("a", "b", "c")]
    others = [secret(name, "s" * 40) for name in ("service-account", "encryption", "desired", "administrator")]
    for name in ("suffix", "serial", "members", "network", "number"):
        pulumi.Stash(name, input=name, opts=ResourceOptions(ignore_changes=["input"]))
    base = "/aws/service/canonical/ubuntu/server"
    images = {
        "control": looked_up("ubuntu-24.04", f"{base}/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
        "linux": looked_up("ubuntu-22.04", f"{base}/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"),
        "web": looked_up(
            "windows", "/aws/service/ami-windows-latest/EC2LaunchV2-Windows_Server-2019-English-Core-Base"
        ),
    }
    vpc, subnet, routes = network()
    groups = firewall(vpc)
    facts, arns = storage(Output.all(*authorities, *others))
    profiles = identity(arns)
    zone = aws.route53.Zone("zone", name="flat.internal", vpcs=[{"vpc_id": vpc}], tags=TAGS)
    aws.route53.Record("api", zone_id=zone.zone_id, name="api.flat.internal", type="A", ttl=60, records=["10.20.64.10"])
    aws.get_region_output()
    aws.get_service_output(service_id="secretsmanager")
    number = 0
    for pool, count in (("control", 1), ("linux", 1), ("web", workers)):
        before: list[Any] = routes
        for index in range(count):
            number += 1
            tags = {**TAGS, "mullion:pool": pool, "mullion:digest": "d" * 16, "Name": f"{pool}-{index}"}
            made = aws.ec2.Instance(
                f"{pool}-{index}",
                ami=images[pool],
                instance_type="m6i.large",
                subnet_id=subnet,
                private_ip=f"10.20.{64 + (number + 9) // 250}.{(number + 9) % 250 + 4}",
                vpc_security_group_ids=[groups[pool != "control"]],
                iam_instance_profile=profiles[pool != "control"],
                associate_public_ip_address=False,
                source_dest_check=True,
                metadata_options={
                    "http_endpoint": "enabled",
                    "http_tokens": "required",
                    "http_put_response_hop_limit": 1,
                },
                root_block_device={"volume_type": "gp3", "volume_size": 50, "encrypted": True, "tags": tags},
                user_data=facts.apply(lambda known, i=index: "x" * 6500 + json.dumps({**known, "index": i})),
                tags=tags,
                opts=ResourceOptions(
                    depends_on=before,
                    delete_before_replace=True,
                    ignore_changes=["userData", "userDataBase64"],
                    replacement_trigger="digest",
                ),
            )
            before = [urn_dependency(made)]


if "WORKERS" in globals():
    build(globals()["WORKERS"])
