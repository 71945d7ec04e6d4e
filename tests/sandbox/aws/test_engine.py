"""The real Pulumi engine on the sandbox, with a small program."""

from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import automation as auto

from tests.sandbox.aws.account import POLICY, TRUST
from tests.sandbox.running import Runner, Small

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]

UBUNTU = "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id"
VALUE = "engine-secret-0451"


def small_cloud(settings: dict[str, Any]) -> None:
    """A network with machines, roles, stores, a secret, a private zone and a balancer."""
    import pulumi_aws as aws

    vpc = aws.ec2.Vpc("vpc", cidr_block="10.20.0.0/16", tags={"owner": settings["owner"]})
    zones = aws.get_availability_zones(state="available")
    subnet = aws.ec2.Subnet("a", vpc_id=vpc.id, cidr_block="10.20.0.0/24", availability_zone=zones.names[0])
    group = aws.ec2.SecurityGroup("nodes", vpc_id=vpc.id)
    inside = {"referenced_security_group_id": group.id, "ip_protocol": "-1"}
    aws.vpc.SecurityGroupIngressRule("inside", security_group_id=group.id, **inside)
    role = aws.iam.Role("node", assume_role_policy=TRUST)
    aws.iam.RolePolicy("node", role=role.id, policy=POLICY)
    profile = aws.iam.InstanceProfile("node", role=role.name)
    bucket = aws.s3.Bucket("bundles", force_destroy=True)
    aws.s3.BucketObjectv2("bundle", bucket=bucket.id, key="a/b", source=pulumi.StringAsset(settings["bundle"]))
    secret = aws.secretsmanager.Secret("pki", name="pki", recovery_window_in_days=0)
    aws.secretsmanager.SecretVersion("pki", secret_id=secret.id, secret_string=pulumi.Output.secret(VALUE))
    zone = aws.route53.Zone("zone", name="c.mullion.internal", vpcs=[{"vpc_id": vpc.id}])
    balancer = aws.lb.LoadBalancer(
        "api", load_balancer_type="network", internal=True, subnets=[subnet.id], security_groups=[group.id]
    )
    alias = aws.route53.RecordAliasArgs(name=balancer.dns_name, zone_id=balancer.zone_id, evaluate_target_health=True)
    aws.route53.Record("api", zone_id=zone.id, name="api.c.mullion.internal", type="A", aliases=[alias])
    for number in range(settings["machines"]):
        aws.ec2.Instance(
            f"m{number}",
            ami=aws.ssm.get_parameter(name=UBUNTU).value,
            instance_type=settings["size"],
            subnet_id=subnet.id,
            private_ip=f"10.20.0.{10 + number}",
            vpc_security_group_ids=[group.id],
            iam_instance_profile=profile.name,
            root_block_device={"encrypted": settings["encrypted"], "volume_size": 50, "volume_type": "gp3"},
            metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
            opts=pulumi.ResourceOptions(delete_before_replace=True),
        )
    pulumi.export("dns", balancer.dns_name)
    pulumi.export("role", role.arn)


INSTANCES = "aws:ec2/instance:Instance"


SMALL = Small(small_cloud)


def test_up_change_replace_destroy_and_up_again(runner: Runner, tmp_path: Path) -> None:
    """Life of a stack; each preview_and_up also asserts that preview and up are equal."""
    outputs = runner.first_up()
    [balancer] = runner.cloud_state.resources("aws:lb/loadBalancer:LoadBalancer")
    assert outputs["dns"] == balancer.outputs["dnsName"]
    assert outputs["role"].startswith("arn:aws:iam::000000000000:role/node-")

    changed = runner.preview_and_up(owner="them", bundle="v2", size="m6i.xlarge", machines=3)
    assert changed == {
        "Vpc vpc": ("update", ("tags",)),
        "BucketObjectv2 bundle": ("update", ("source",)),
        "Instance m0": ("update", ("instanceType",)),
        "Instance m1": ("update", ("instanceType",)),
        "Instance m2": ("create", ()),
    }, "changes are in place, with their properties"

    before = {record.name: record.id for record in runner.cloud_state.resources(INSTANCES)}
    replaced = runner.preview_and_up(encrypted=False)
    assert {name: diffs for name, (_, diffs) in replaced.items()} == {
        f"Instance m{number}": ("rootBlockDevice",) for number in range(3)
    }
    after = {record.name: record.id for record in runner.cloud_state.resources(INSTANCES)}
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values()), "an encrypted disk is a new machine"

    runner.stack.destroy()
    assert runner.cloud_state.resources() == []
    assert {operation for operation, _ in runner.run(runner.stack.up).values()} == {"create"}, "again, same names"
    runner.stack.destroy()
    assert runner.cloud_state.resources() == []
    assert not [operation for operation in runner.cloud_state.operations() if operation.error]
    _no_secret_outside(tmp_path)


def _no_secret_outside(folder: Path) -> None:
    """All files but the secrets file: state, checkpoints, history, cloud state, plugin home."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "world.secrets"]
    assert not [file for file in files if VALUE.encode() in file.read_bytes()]


def test_the_engine_shows_the_refusal_to_the_user(runner: Runner) -> None:
    """The engine's error has AWS's code and the resource's name without stack trace; created resources stay."""
    runner.settings |= {"machines": 1, "bundle": "x"}
    program = small_cloud

    def too_much() -> None:
        import pulumi_aws as aws

        program(runner.settings)
        vpc = aws.ec2.Vpc("second", cidr_block="10.30.0.0/16")
        aws.ec2.Subnet("outside", vpc_id=vpc.id, cidr_block="10.20.0.0/24")

    runner.stack.workspace.program = too_much
    with pytest.raises(auto.errors.CommandError) as caught:
        runner.stack.up()
    text = str(caught.value)
    assert "creating Subnet outside: InvalidSubnet.Range: The CIDR '10.20.0.0/24' is invalid." in text
    assert "Traceback" not in text
    assert "File " not in text
    errors = [operation for operation in runner.cloud_state.operations() if operation.error]
    assert [operation.urn.rsplit("::", 1)[-1] for operation in errors] == ["outside"]


def test_an_invalid_input_stops_the_preview_with_its_path(runner: Runner) -> None:
    def wrong() -> None:
        import pulumi_aws as aws

        tags: Any = {"ok": 1}
        aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", tags=tags)

    runner.stack.workspace.program = wrong
    with pytest.raises(auto.errors.CommandError, match=r"property tags\.ok .*must be a string"):
        runner.stack.preview()
