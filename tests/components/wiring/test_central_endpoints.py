"""`egress: none` in a VPC of the user whose services have their endpoints in a hub: zones and routes are looked up."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws.existing import look
from components.stack_files.stack import read_stack
from operations.recorder.recorder import record
from sandbox import clouds
from sandbox.aws import private_ways
from sandbox.aws.cloud import AWS
from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import INSTANCE, ROUTE
from sandbox.aws.route53 import RECORD, ZONE
from sandbox.cloud_state import CloudState, Record
from sandbox.provider import Provider
from tests import existing_networks
from tests.components.wiring.test_existing_network import Asked, removed
from tests.existing_networks import closed_in_existing
from tests.sandbox.account import Account
from tests.sandbox.aws.account import AMI, REGION

NAME = "aws-existing"
EXISTING = existing_networks.EXISTING["aws"]
VPC = EXISTING["network"]
S3, EC2, SECRETS = (f"{service}.{REGION}.amazonaws.com" for service in ("s3", "ec2", "secretsmanager"))
Drift = Callable[[CloudState], None]


def created(folder: Path, zones: list[str], drift: Drift | None = None) -> CloudState:
    """Return a sandbox with the user's VPC, and a hub with the endpoints of these zones."""
    cloud_state = existing_networks.create(folder / "world.db", NAME, closed_in_existing("aws", service_zones=zones))
    if drift:
        with cloud_state.transaction():
            drift(cloud_state)
    return cloud_state


def asked(cloud_state: CloudState, zones: list[str], **existing: Any) -> Asked:
    found = read_stack(NAME, closed_in_existing("aws", service_zones=zones, **existing))
    provider = Provider(clouds.of("aws"), cloud_state)
    provider.configure({provider.cloud.region: found.region})
    lookups = Asked(provider, found.spec)
    asyncio.run(look(lookups, NAME))
    return lookups


def of_zone(cloud_state: CloudState, name: str) -> Iterator[Record]:
    return (each for each in cloud_state.resources(ZONE) if each.inputs["name"] == name)


def seen_by_the_hub_alone(name: str) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for each in of_zone(cloud_state, name):
            each.inputs["vpcs"] = each.inputs["vpcs"][:1]
            cloud_state.put(each)

    return drift


def without_zone(name: str) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for each in of_zone(cloud_state, name):
            cloud_state.remove(each.sequence)

    return drift


def without_record(name: str) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for zone in of_zone(cloud_state, name):
            for each in cloud_state.referrers(ZONE, zone.id):
                cloud_state.remove(each.sequence)

    return drift


@pytest.mark.parametrize("zones", [[S3, EC2, SECRETS], [EC2]], ids=["all services", "one service"])
def test_services_whose_zones_the_vpc_sees_need_no_endpoint_in_it(tmp_path: Path, zones: list[str]) -> None:
    cloud_state = created(tmp_path, zones)
    inside = {each.inputs["serviceName"] for each in cloud_state.resources(ENDPOINT) if each.inputs["vpcId"] == VPC}
    assert len(inside) == 3 - len(zones)
    lookups = asked(cloud_state, zones)
    lookups.finish()
    assert lookups.warnings == []


REFUSED: dict[str, tuple[Drift | None, list[str], str, str]] = {
    "a zone that the VPC does not see": (
        *(seen_by_the_hub_alone(EC2), [S3, EC2, SECRETS], "service_zones.1"),
        f"--vpc VPCRegion={REGION},VPCId={VPC}",
    ),
    "a zone without its record": (
        *(without_record(EC2), [S3, EC2, SECRETS], "service_zones.1"),
        f"has no record {EC2}, which machines ask",
    ),
    "a zone of S3 without names of buckets": (
        *(without_record(S3), [S3, EC2, SECRETS], "service_zones.0"),
        f"has no record *.{S3}, which machines ask",
    ),
    "no route to another VPC": (
        *(removed("Route"), [S3, EC2, SECRETS], "subnets.0.id"),
        "leads to another VPC",
    ),
    "a service that is not named": (None, [S3, EC2], "network", f"write {SECRETS} in service_zones"),
    "S3, which is not named": (None, [EC2, SECRETS], "network", f"write {S3} in service_zones"),
    "a zone of another region": (
        *(None, [S3, EC2.replace(REGION, "us-east-1"), SECRETS], "network"),
        f"write {EC2} in service_zones",
    ),
}
"""By what is wrong: drift of a sandbox with all services in the hub, `service_zones`, path and text of the refusal."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_service_that_no_endpoint_is_known_to_serve_is_refused(tmp_path: Path, case: str) -> None:
    drift, zones, path, text = REFUSED[case]
    with pytest.raises(pulumi.RunError, match=r"nothing was changed") as refused:
        asked(created(tmp_path, [S3, EC2, SECRETS], drift), zones).finish()
    lines = [line for line in str(refused.value).split("\n  network.existing.")[1:] if line.startswith(f"{path}: ")]
    assert any(text in line for line in lines), str(refused.value)


def test_a_zone_of_another_account_is_a_warning_with_the_command_that_shows_it(tmp_path: Path) -> None:
    zones = [S3, EC2, SECRETS]
    lookups = asked(created(tmp_path, zones, without_zone(EC2)), zones)
    lookups.finish()
    [warning] = lookups.warnings
    assert warning.startswith("network.existing.service_zones.1: ")
    assert f"aws route53 list-hosted-zones-by-vpc --vpc-id {VPC} --vpc-region {REGION}" in warning


def test_a_vpc_of_another_account_has_a_warning_about_services_without_a_zone_alone(tmp_path: Path) -> None:
    zone = "Z0123456789"
    cloud_state = existing_networks.create(
        tmp_path / "world.db", NAME, closed_in_existing("aws", service_zones=[S3, EC2], private_zone=zone)
    )
    [warning] = asked(cloud_state, [S3, EC2], private_zone=zone).warnings
    assert warning.endswith(f"Machines need those of com.amazonaws.{REGION}.secretsmanager")


def reached(cloud_state: CloudState) -> list[str]:
    """Return the services that a machine in the user's VPC reaches."""
    subnet = EXISTING["subnets"][0]["id"]
    Account(cloud_state, AWS, REGION).create("Instance", "one", ami=AMI, instanceType="m6i.large", subnetId=subnet)
    [machine] = cloud_state.resources(INSTANCE)
    services = ("s3", "ec2", "secretsmanager")
    return [each for each in services if not private_ways.missing(cloud_state, machine, each)]


@pytest.mark.parametrize(
    ("drift", "services"),
    [
        (None, ["s3", "ec2", "secretsmanager"]),
        (seen_by_the_hub_alone(EC2), ["s3", "secretsmanager"]),
        (without_record(S3), ["ec2", "secretsmanager"]),
        (removed("Route"), []),
        (removed("SecurityGroupIngressRule"), []),
    ],
    ids=["whole", "zone not seen", "no record", "no route", "closed group"],
)
def test_machines_of_the_sandbox_reach_endpoints_in_the_hub_by_zone_route_and_group(
    tmp_path: Path, drift: Drift | None, services: list[str]
) -> None:
    assert reached(created(tmp_path, [S3, EC2, SECRETS], drift)) == services


def test_the_program_looks_the_zones_up_and_builds_no_endpoint_and_no_record_for_them() -> None:
    found = record(NAME, closed_in_existing("aws", service_zones=[S3, EC2, SECRETS]))
    assert found.errors == []
    made = {each.type for each in found.resources.values()}
    assert not made & {ENDPOINT, ROUTE}
    assert [each.name for each in found.resources.values() if each.type == RECORD] == ["aws-existing-api"]
