"""Golden images on AWS: a builder in a network of its own, and the images that are made of builders."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions
from pulumi_aws import _utilities

from components.aws.identity import ASSUME
from components.aws.images import newest, zones
from components.aws.machines import METADATA_OPTIONS, NESTED
from components.aws.offerings import Offers, offers
from components.aws.policy import document
from components.aws.storage import closed_to_public
from components.machine.service_urls import service_url
from components.rollout.provider_calls import ProviderCalls
from components.wiring.baking import FOUND, OF_STACK, BakedImage, Baking
from components.wiring.bundle_files import asset

NETWORK = IPv4Network("10.0.0.0/28")
"""Range of the builder's VPC and of its only subnet: the smallest that AWS takes ("Subnet CIDR blocks")."""
PAUSE = 15.0
"""Seconds between two looks at a builder that is not simulated."""
STOPPED, GONE = "stopped", frozenset({"shutting-down", "terminated"})
"""States of an instance (EC2 user guide, "Amazon EC2 instance state changes")."""


def register(stack: str, baking: Baking | None, kept: Sequence[BakedImage]) -> None:
    """Register the images that exist, and a builder and its image if there is one to bake.

    Export which images of the stack the account has: a killed run may have made one that no state has.
    """
    ours = aws.ec2.GetAmiIdsFilterArgs(name=f"tag:{OF_STACK}", values=[stack])
    pulumi.export(FOUND, aws.ec2.get_ami_ids_output(owners=["self"], filters=[ours]).ids)
    for each in kept:
        _image(each.name, each.source, each.tags)
    if baking is None:
        return
    _image(baking.image, Builder(baking).stopped, baking.image_tags())


def _image(name: str, source: pulumi.Input[str], tags: Mapping[str, str]) -> aws.ec2.AmiFromInstance:
    # the first snapshot of a large disk takes longer than the provider's 40 minutes
    slow = ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="90m"))
    return aws.ec2.AmiFromInstance(name, name=name, source_instance_id=source, tags=tags, opts=slow)


class Builder(pulumi.ComponentResource):
    """A machine that bakes itself and stops: the pool's size, disk and stock image, its own VPC, store and role.

    It has a public address and no open port, may send everything, as workers may, and reads its bundle alone in the
    account. Windows fetches root certificates that it lacks by http (docs/networks.md).
    """

    stopped: Output[str]
    """Id of the instance; resolves once it has stopped, as sysprep does at the end of image/bake.ps1."""

    def __init__(self, baking: Baking) -> None:
        super().__init__("mullion:aws:Builder", baking.name, {"pool": baking.group.name})
        self._name, self._tags = baking.name, baking.tags
        self._child = ResourceOptions(parent=self)
        self._calls = ProviderCalls(self, _utilities.get_version())
        subnet, group, ways = self._network(self._zone(baking))
        url, profile = self._store(baking)
        machine = aws.ec2.Instance(
            self._name,
            ami=newest(baking.group.os.value),
            instance_type=baking.group.size,
            cpu_options=NESTED if baking.group.nested_virtualisation else None,
            subnet_id=subnet,
            vpc_security_group_ids=[group],
            iam_instance_profile=profile,
            associate_public_ip_address=True,
            instance_initiated_shutdown_behavior="stop",
            metadata_options=METADATA_OPTIONS,
            user_data=url.apply(baking.user_data),
            root_block_device={
                "volume_type": "gp3",
                "volume_size": baking.disk_gb,
                "encrypted": True,
                "kms_key_id": baking.plan.spec.encryption_key,
                "tags": self._tagged(),
            },
            tags=self._tagged(),
            opts=ResourceOptions(parent=self, depends_on=ways),
        )
        self.stopped = machine.id.apply(lambda id_: self._until_stopped(id_, baking.seconds))
        self.register_outputs({})

    def _tagged(self) -> dict[str, str]:
        return {**self._tags, "Name": self._name}

    def _zone(self, baking: Baking) -> Output[str]:
        """Return a zone that offers the pool's size."""
        own = InvokeOptions(parent=self)
        offered = offers(baking.plan, own)
        return Output.all(zones(baking.plan, offered, own), offered).apply(
            lambda known: _offering(baking.group.size, *known)
        )

    def _network(self, zone: Output[str]) -> tuple[Output[str], Output[str], list[pulumi.Resource]]:
        """Return subnet, security group, and what must exist before a machine reaches the internet."""
        name, child, tags = self._name, self._child, self._tagged()
        vpc = aws.ec2.Vpc(name, cidr_block=str(NETWORK), enable_dns_support=True, tags=tags, opts=child)
        subnet = aws.ec2.Subnet(
            name, vpc_id=vpc.id, cidr_block=str(NETWORK), availability_zone=zone, tags=tags, opts=child
        )
        gateway = aws.ec2.InternetGateway(name, vpc_id=vpc.id, tags=tags, opts=child)
        table = aws.ec2.RouteTable(name, vpc_id=vpc.id, tags=tags, opts=child)
        route = aws.ec2.Route(
            name, route_table_id=table.id, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.id, opts=child
        )
        joined = aws.ec2.RouteTableAssociation(name, route_table_id=table.id, subnet_id=subnet.id, opts=child)
        group = aws.ec2.SecurityGroup(name, description="Bakes an image", vpc_id=vpc.id, tags=tags, opts=child)
        out = aws.vpc.SecurityGroupEgressRule(
            name, security_group_id=group.id, ip_protocol="-1", cidr_ipv4="0.0.0.0/0", tags=tags, opts=child
        )
        return subnet.id, group.id, [route, joined, out]

    def _store(self, baking: Baking) -> tuple[Output[str], Output[str]]:
        """Return the bundle's URL, and the name of an instance profile that may read the bundle and nothing else.

        Names of bucket and role have the form of a cluster's, which the policies of docs/permissions.md allow.
        """
        child, tags, bundle = self._child, self._tagged(), baking.bundle
        bucket = aws.s3.Bucket(f"{self._name}-bundles", force_destroy=True, tags=tags, opts=child)
        closed_to_public(f"{self._name}-bundles", bucket, child)
        stored = aws.s3.BucketObjectv2(
            f"{self._name}-bundle",
            bucket=bucket.id,
            key=bundle.key,
            source=asset(bundle),
            content_type="application/zip",
            opts=child,
        )
        role = aws.iam.Role(
            f"{self._name}-workers", assume_role_policy=ASSUME, force_detach_policies=True, tags=tags, opts=child
        )
        policy = aws.iam.RolePolicy(
            f"{self._name}-workers",
            role=role.name,
            policy=Output.concat(bucket.arn, "/", bundle.key).apply(_may_read),
            opts=child,
        )
        profile = aws.iam.InstanceProfile(
            f"{self._name}-workers",
            role=role.name,
            tags=tags,
            opts=ResourceOptions(parent=self, depends_on=[policy]),
        )
        host = bucket.bucket_regional_domain_name.apply(lambda name: service_url("bundle_store", name, baking.target))
        return Output.concat(host, "/", stored.key), profile.name

    async def _until_stopped(self, instance: str, seconds: float) -> str:
        """Return the instance's id once it has stopped. Raises RunError if it is deleted, or runs for too long."""
        ends = time.monotonic() + seconds
        while True:
            found = await self._calls.invoke("aws:ec2/getInstance:getInstance", {"instanceId": instance})
            state = found.get("instanceState")
            if state == STOPPED:
                return instance
            if state in GONE:
                raise pulumi.RunError(f"the builder {instance} was deleted before it had stopped")
            if time.monotonic() > ends:
                raise pulumi.RunError(
                    f"the builder {instance} is {state} after {seconds:.0f} s, so its set-up or sysprep failed: "
                    "bake by hand to see the logs (docs/images.md)"
                )
            await asyncio.sleep(min(PAUSE, seconds / 10))


def _offering(size: str, zones: Sequence[str], offered: Offers) -> str:
    """Return the first zone that offers a size. Raises RunError if none does."""
    found = next((zone for zone in zones if size in offered.get(zone, ())), None)
    if found is None:
        raise pulumi.RunError(f"no zone of the region offers {size} to this account: change the size of the pool")
    return found


def _may_read(arn: str) -> str:
    return document([{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [arn]}])
