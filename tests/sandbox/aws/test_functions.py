"""Functions of the provider."""

import re

import pytest

from sandbox.aws.functions import FUNCTIONS
from sandbox.aws.regions import PARAMETERS, REGIONS
from sandbox.cloud import Refusal
from sandbox.cloud_state import SERVICES


@pytest.fixture
def invoke(account):
    tokens = {token.rsplit(":", 1)[-1]: token for token in FUNCTIONS}
    return lambda short, **arguments: account.provider.invoke(tokens[short], arguments)


PUBLIC = [
    "/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-Base",
    "/aws/service/ami-windows-latest/EC2LaunchV2-Windows_Server-2019-English-Core-Base",
    "/aws/service/ami-windows-latest/Windows_Server-2022-English-Full-Base",
    "/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-Base",
    "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id",
    "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
    "/aws/service/debian/release/12/latest/amd64",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_image_has_an_id_of_its_own_in_each_region(invoke, name) -> None:
    here, there = invoke("getParameter", name=name), invoke("getParameter", name=name, region="us-east-1")
    assert re.fullmatch("ami-0[0-9a-f]{16}", here["value"])
    assert here["value"] == here["insecureValue"] == invoke("getParameter", name=name)["value"]
    assert here["value"] != there["value"]


def test_all_images_have_different_ids(invoke) -> None:
    assert len({invoke("getParameter", name=name)["value"] for name in PARAMETERS}) == len(PARAMETERS)


def test_an_unknown_parameter_is_not_found(invoke) -> None:
    with pytest.raises(Refusal, match=r"ParameterNotFound: .*'/aws/service/nothing'"):
        invoke("getParameter", name="/aws/service/nothing")


@pytest.mark.parametrize("region", REGIONS)
def test_every_region_has_zones_with_ids(invoke, region) -> None:
    zones = invoke("getAvailabilityZones", region=region, state="available")
    assert len(zones["names"]) == len(zones["zoneIds"]) >= 2
    assert all(name.startswith(region) for name in zones["names"])


def test_zones_can_be_excluded(invoke) -> None:
    zones = invoke("getAvailabilityZones", excludeNames=["eu-west-1a"], excludeZoneIds=["euw1-az2"])
    assert zones["names"] == ["eu-west-1c"]


def test_offerings_name_the_zones_of_each_type(invoke) -> None:
    types = {"name": "instance-type", "values": ["m6i.large", "m8g.large", "m8g.imaginary"]}
    asked = {"region": "us-west-2", "locationType": "availability-zone", "filters": [types]}
    found = invoke("getInstanceTypeOfferings", **asked)
    offered = set(zip(found["locations"], found["instanceTypes"], strict=True))
    assert {zone for zone, name in offered if name == "m6i.large"} == {f"us-west-2{letter}" for letter in "abcd"}
    assert {zone for zone, name in offered if name == "m8g.large"} == {f"us-west-2{letter}" for letter in "bcd"}
    assert {name for _, name in offered} == {"m6i.large", "m8g.large"}


@pytest.mark.parametrize("fewer", ["locationType", "filters"])
def test_offerings_of_regions_or_of_all_types_are_not_supported(invoke, fewer) -> None:
    types = {"name": "instance-type", "values": ["m6i.large"]}
    asked = {"locationType": "availability-zone", "filters": [types]}
    with pytest.raises(Refusal, match="offerings of zones"):
        invoke("getInstanceTypeOfferings", **{key: value for key, value in asked.items() if key != fewer})


def test_the_caller_is_a_user_of_an_account_that_does_not_exist(invoke) -> None:
    assert invoke("getCallerIdentity")["accountId"] == "000000000000"
    assert invoke("getRegion")["region"] == "eu-west-1"
    assert invoke("getPartition")["partition"] == "aws"


@pytest.mark.parametrize(("short", "arguments"), [("getRegion", {"region": "x"}), ("getRegion", {"name": "x"})])
def test_an_unknown_region_is_refused(invoke, short, arguments) -> None:
    with pytest.raises(Refusal, match="no region 'x'"):
        invoke(short, **arguments)


def test_an_unknown_function_is_refused_by_name(account) -> None:
    with pytest.raises(Refusal, match="the sandbox has no function aws:ec2/getAmi:getAmi"):
        account.provider.invoke("aws:ec2/getAmi:getAmi", {})


def test_services_are_host_names_or_urls_with_plain_http(account) -> None:
    service, region = "aws:index/getService:getService", "aws:index/getRegion:getRegion"
    bucket = {"bucket": "bundles"}

    def names() -> list[str]:
        account.provider.configure({"region": "eu-west-1"})
        made = account.create("Bucket", "b", **bucket)
        account.delete(made)
        found = account.provider.invoke(service, {"serviceId": "secretsmanager"})["dnsName"]
        return [found, account.provider.invoke(region, {})["endpoint"], made.outputs["bucketRegionalDomainName"]]

    plain = [f"{name}.eu-west-1.amazonaws.com" for name in ("secretsmanager", "ec2", "bundles.s3")]
    assert names() == plain
    with account.cloud_state.transaction():
        account.cloud_state.set_setting(SERVICES, "http")
    assert names() == [f"http://{name}" for name in plain]


@pytest.mark.parametrize("arguments", [{}, {"reverseDnsName": "com.amazonaws.eu-west-1.s3"}])
def test_a_service_is_found_by_its_id_alone(invoke, arguments) -> None:
    with pytest.raises(Refusal, match="serviceId only"):
        invoke("getService", **arguments)
