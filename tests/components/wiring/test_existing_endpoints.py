"""`egress: none` in a VPC of the user: its endpoints are looked up, and those that machines lack are refused."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws.existing import look
from components.stack_files.stack import CLUSTER, read_stack
from operations.recorder.recorder import record
from sandbox import clouds
from sandbox.aws import private_ways
from sandbox.aws.cloud import AWS
from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import INSTANCE
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from tests import existing_networks
from tests.components.recorded_wiring import of
from tests.components.wiring.test_existing_network import Asked, removed
from tests.sandbox.account import Account
from tests.sandbox.aws.account import AMI, REGION

NAME = "aws-existing"
PROXY = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
EXISTING = existing_networks.EXISTING["aws"]
Drift = Callable[[CloudState], None]


def settings(**cluster: Any) -> dict[str, Any]:
    found, _, _ = existing_networks.stack("aws")
    network = {**found[CLUSTER]["network"], "egress": "none"}
    return {**found, CLUSTER: {**found[CLUSTER], "network": network, "proxy": PROXY, **cluster}}


def asked(folder: Path, drift: Drift | None = None, **cluster: Any) -> Asked:
    cloud_state = existing_networks.create(folder / "world.db", NAME, settings())
    if drift:
        with cloud_state.transaction():
            drift(cloud_state)
    found = read_stack(NAME, settings(**cluster))
    provider = Provider(clouds.of("aws"), cloud_state)
    provider.configure({provider.cloud.region: found.region})
    lookups = Asked(provider, found.spec)
    asyncio.run(look(lookups, NAME))
    return lookups


def endpoints(cloud_state: CloudState, service: str) -> list[Any]:
    found = cloud_state.resources(ENDPOINT)
    return [each for each in found if each.inputs["serviceName"].endswith(f".{service}")]


def without(service: str) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for each in endpoints(cloud_state, service):
            cloud_state.remove(each.sequence)

    return drift


def of_service(service: str, **values: Any) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for each in endpoints(cloud_state, service):
            each.inputs.update(values)
            each.outputs.update(values)
            cloud_state.put(each)

    return drift


def both(*drifts: Drift) -> Drift:
    def drift(cloud_state: CloudState) -> None:
        for each in drifts:
            each(cloud_state)

    return drift


INTERFACE = {"vpcEndpointType": "Interface", "routeTableIds": []}


@pytest.mark.parametrize(
    "drift",
    [None, of_service("s3", **INTERFACE, privateDnsEnabled=True)],
    ids=["gateway endpoint of S3", "interface endpoint of S3"],
)
def test_a_vpc_with_all_endpoints_and_no_default_route_is_accepted(tmp_path: Path, drift: Drift | None) -> None:
    lookups = asked(tmp_path, drift)
    lookups.finish()
    assert lookups.warnings == []


REFUSED: dict[str, tuple[Drift, dict[str, Any], str, str]] = {
    "no endpoint of S3": (without("s3"), {}, "network", "no endpoint of com.amazonaws.eu-west-1.s3"),
    "S3 for another table": (
        of_service("s3", routeTableIds=["rtb-1"]),
        {},
        "subnets.2.id",
        "--add-route-table-ids rtb-",
    ),
    "S3 without private DNS": (of_service("s3", **INTERFACE, privateDnsEnabled=False), {}, "network", "west-1.s3"),
    "no endpoint of secrets": (without("secretsmanager"), {}, "network", "no interface endpoint of com.amazonaws"),
    "no private DNS": (of_service("ec2", privateDnsEnabled=False), {}, "network", "--private-dns-enabled"),
    "an endpoint that is not ready": (of_service("ec2", state="pending"), {}, "network", "west-1.ec2, which machines"),
    "no endpoint of an option's service": (
        of_service("ec2"),
        {"registry_credentials": ["ecr"]},
        "network",
        "no interface endpoint of com.amazonaws.eu-west-1.ecr.api",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_vpc_without_an_endpoint_that_machines_need_is_refused(tmp_path: Path, case: str) -> None:
    drift, cluster, path, text = REFUSED[case]
    with pytest.raises(pulumi.RunError, match=r"nothing was changed") as refused:
        asked(tmp_path, drift, **cluster).finish()
    lines = [line for line in str(refused.value).split("\n  network.existing.")[1:] if line.startswith(f"{path}: ")]
    assert any(text in line for line in lines), str(refused.value)


@pytest.mark.parametrize(
    ("target", "refused"),
    [({"natGatewayId": "nat-1"}, True), ({"gatewayId": "igw-1"}, True), ({"transitGatewayId": "tgw-1"}, False)],
    ids=["NAT", "internet gateway", "transit gateway"],
)
def test_a_default_route_to_the_internet_contradicts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, str], refused: bool
) -> None:
    answer = Asked.invoke

    async def invoke(self: Asked, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        found = await answer(self, token, arguments)
        if token.endswith(":getRouteTable"):
            found["routes"].append({"cidrBlock": "0.0.0.0/0", **target})
        return found

    monkeypatch.setattr(Asked, "invoke", invoke)
    lookups = asked(tmp_path)
    if not refused:
        lookups.finish()
        return
    with pytest.raises(pulumi.RunError, match=r"egress: none says that there is no way out"):
        lookups.finish()


def test_several_gateway_endpoints_of_the_stores_are_a_warning(tmp_path: Path) -> None:
    def again(cloud_state: CloudState) -> None:
        [first] = endpoints(cloud_state, "s3")
        for each in endpoints(cloud_state, "ec2"):
            each.outputs.update({**first.outputs})
            cloud_state.put(each)

    lookups = asked(tmp_path, again)
    assert ["several endpoints of" in each for each in lookups.warnings] == [True]


def test_endpoints_of_a_vpc_of_another_account_cannot_be_looked_up(tmp_path: Path) -> None:
    zone = {"existing": {**EXISTING, "private_zone": "Z0123456789"}, "egress": "none"}
    lookups = asked(tmp_path, removed("VpcEndpoint"), network={**settings()[CLUSTER]["network"], **zone})
    assert ["only its owner sees its endpoints" in each for each in lookups.warnings] == [True]


def test_machines_in_the_network_that_the_sandbox_creates_reach_the_services_that_they_ask(tmp_path: Path) -> None:
    cloud_state = existing_networks.create(tmp_path / "world.db", NAME, settings())
    account, subnet = Account(cloud_state, AWS, REGION), EXISTING["subnets"][0]["id"]
    account.create("Instance", "machine", ami=AMI, instanceType="m6i.large", subnetId=subnet)
    [machine] = cloud_state.resources(INSTANCE)
    assert [private_ways.missing(cloud_state, machine, each) for each in ("s3", "secretsmanager", "ec2")] == [""] * 3
    assert private_ways.default_routes(cloud_state, subnet) == []


def test_the_cluster_builds_no_endpoint_and_no_group_for_one() -> None:
    found = record(NAME, settings())
    assert found.errors == []
    assert not of(found, "aws:ec2/vpcEndpoint:VpcEndpoint") and not of(found, "aws:ec2/natGateway:NatGateway")
    assert not any("endpoints" in name for name in of(found, "aws:ec2/securityGroup:SecurityGroup"))
