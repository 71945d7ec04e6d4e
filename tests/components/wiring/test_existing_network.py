"""Lookups of an existing network, answered by the sandbox: what is wrong with it is refused, with path and fix."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws.existing import look as look_aws
from components.azure.existing import look as look_azure
from components.gcp.existing import look as look_gcp
from components.rollout.provider_calls import ProviderError
from components.spec.models import ClusterSpec
from components.wiring.existing_network import Lookups
from sandbox import clouds
from sandbox.azure.regions import SUBSCRIPTION
from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from tests import existing_networks
from tests.existing_networks import stack

ZONES = {"aws": ["eu-west-1a", "eu-west-1b", "eu-west-1c"], "azure": ["1", "2", "3"], "gcp": []}
LOOKS: dict[str, Callable[[Lookups], Any]] = {
    "aws": lambda lookups: look_aws(lookups, "aws-existing"),
    "azure": lambda lookups: look_azure(lookups, SUBSCRIPTION, "West Europe", ZONES["azure"]),
    "gcp": look_gcp,
}


class Asked(Lookups):
    """Lookups in a sandbox instead of an engine's provider."""

    def __init__(self, provider: Provider, spec: ClusterSpec) -> None:
        self.spec, self._problems, self.warnings = spec, list[str](), list[str]()
        self._calls: Any = self
        self._provider = provider

    async def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._provider.invoke(token, arguments)
        except Refusal as refusal:
            raise ProviderError(str(refusal)) from refusal

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def asked(cloud: str, folder: Path, drift: Callable[[CloudState], None] | None = None, **network: Any) -> Asked:
    """Return the lookups of a stack. The sandbox has the network of the unchanged stack file, but for `drift`."""
    settings, _, region = stack(cloud)
    cloud_state = existing_networks.create(folder / "world.db", f"{cloud}-existing", settings)
    if drift:
        with cloud_state.transaction():
            drift(cloud_state)
    provider = Provider(clouds.of(cloud), cloud_state)
    provider.configure({provider.cloud.region: region})
    return Asked(provider, stack(cloud, **network)[1])


def changed(short: str, **values: Any) -> Callable[[CloudState], None]:
    """Return a change by hand of every resource of the user's network with this class name."""

    def change(cloud_state: CloudState) -> None:
        for part in existing_networks.yours(cloud_state):
            if part.type.endswith(f":{short}"):
                part.inputs.update(values)
                part.outputs.update(values)
                cloud_state.put(part)

    return change


def removed(short: str) -> Callable[[CloudState], None]:
    """Return the removal by hand of every resource of the user's network with this class name."""

    def remove(cloud_state: CloudState) -> None:
        for part in existing_networks.yours(cloud_state):
            if part.type.endswith(f":{short}"):
                cloud_state.remove(part.sequence)

    return remove


@pytest.mark.parametrize("cloud", LOOKS)
def test_a_network_as_the_stack_file_says_is_accepted_with_its_zones(cloud: str, tmp_path: Path) -> None:
    lookups = asked(cloud, tmp_path)
    assert asyncio.run(LOOKS[cloud](lookups)) == ZONES[cloud]
    lookups.finish()
    assert lookups.warnings == []


def _subnets(cloud: str, **first: Any) -> dict[str, Any]:
    """Return a change of the first subnet of the stack file."""
    existing = deepcopy(existing_networks.EXISTING[cloud])
    existing["subnets"][0].update(first)
    return {"existing": existing}


def _network(cloud: str, **values: Any) -> dict[str, Any]:
    return {"existing": {**deepcopy(existing_networks.EXISTING[cloud]), **values}}


STORAGE = "Microsoft.Storage.Global"
ELSEWHERE = "11111111-0000-4000-8000-000000000000"
EXISTING_AWS = existing_networks.EXISTING["aws"]
PUBLIC = {"access": "public", "allow": ["198.18.0.0/24"]}
REFUSED: dict[str, tuple[str, dict[str, Any], Callable[[CloudState], None] | None, str, str]] = {
    "no such VPC": ("aws", _network("aws", network="vpc-0fedcba987654321f"), None, "network", "does not exist"),
    "malformed VPC": ("aws", _network("aws", network="vpc-0123456789"), None, "network", "InvalidVpcID.Malformed"),
    "no such subnet": ("aws", _subnets("aws", id="subnet-0fedcba987654321f"), None, "subnets.0.id", "does not exist"),
    "other range": (
        "aws",
        _subnets("aws", range="10.30.64.0/21"),
        None,
        "subnets.0.range",
        "write range: 10.30.64.0/20",
    ),
    "pods in the VPC": ("aws", {}, changed("Vpc", cidrBlock="10.128.0.0/15"), "network", "overlaps network.pods"),
    "DNS is off": ("aws", {}, changed("Vpc", enableDnsHostnames=False), "network", "--enable-dns-hostnames"),
    "no DHCP options": ("aws", {}, changed("Vpc", dhcpOptionsId="default"), "network", "aws ec2 create-dhcp-options"),
    "VPC of another account": ("aws", {}, changed("Vpc", ownerId="111111111111"), "private_zone", "111111111111"),
    "no such zone": ("aws", _network("aws", private_zone="Z0123456789"), None, "private_zone", "does not exist"),
    "subnet of another VPC": ("aws", {}, changed("Subnet", vpcId="vpc-01234567"), "subnets.0.id", "is in vpc-01234567"),
    "zone twice": ("aws", {}, changed("Subnet", availabilityZone="eu-west-1a"), "subnets.1.id", "as is another subnet"),
    "other zone": (
        *("aws", {"zone_names": ["eu-west-1b", "eu-west-1a", "eu-west-1c"]}, None),
        *("subnets.0.id", "not in eu-west-1b"),
    ),
    "no route": ("aws", {}, removed("RouteTableAssociation"), "subnets.0.id", "no default route"),
    "private machines at an internet gateway": (
        *("aws", {}, changed("Route", natGatewayId=None, gatewayId="igw-1"), "subnets.0.id", "igw-1"),
    ),
    "public machines behind NAT": ("aws", {"egress": "public"}, None, "subnets.0.id", "not to an internet gateway"),
    "no such group": ("azure", {}, removed("ResourceGroup"), "network", "does not exist"),
    "no such network there": ("azure", {}, removed("VirtualNetwork"), "network", "does not exist"),
    "no such subnet there": ("azure", {}, removed("Subnet"), "subnets.0.id", "does not exist"),
    "other range of the subnet": (
        *("azure", _subnets("azure", range="10.30.0.0/21"), None, "subnets.0.range", "write range: 10.30.0.0/20"),
    ),
    "no service endpoints": ("azure", {}, changed("Subnet", serviceEndpoints=[]), "subnets.0.id", "Microsoft.KeyVault"),
    "delegated": (
        *("azure", {}, changed("Subnet", delegations=[{"serviceName": "Microsoft.Sql/managedInstances"}])),
        *("subnets.0.id", "Microsoft.Sql/managedInstances"),
    ),
    "other endpoints stay": (
        *("azure", {}, changed("Subnet", serviceEndpoints=[{"service": "Microsoft.Sql"}, {"service": STORAGE}])),
        *("subnets.0.id", f"--service-endpoints Microsoft.Sql {STORAGE} Microsoft.KeyVault"),
    ),
    "pods in the VNet": (
        *("azure", {}, changed("VirtualNetwork", addressSpace={"addressPrefixes": ["10.30.0.0/20", "10.128.0.0/20"]})),
        *("network", "overlaps network.pods"),
    ),
    "other location": ("azure", {}, changed("VirtualNetwork", location="westus2"), "network", "westus2"),
    "no such network": ("gcp", {}, removed("Network"), "network", "does not exist"),
    "no such subnetwork": ("gcp", {}, removed("Subnetwork"), "subnets.0.id", "does not exist"),
    "other range of the subnetwork": (
        *("gcp", _subnets("gcp", range="10.30.0.0/21"), None, "subnets.0.range", "write range: 10.30.0.0/20"),
    ),
    "subnetwork of another network": (
        *("gcp", {}, changed("Subnetwork", network="projects/host-project/global/networks/other")),
        *("subnets.0.id", "networks/other"),
    ),
    "secondary range": (
        *("gcp", {}, changed("Subnetwork", secondaryIpRanges=[{"rangeName": "x", "ipCidrRange": "10.96.0.0/24"}])),
        *("network", "overlaps network.services"),
    ),
}
"""By what is wrong: cloud, change of the stack file's network, drift of the network, path and text of the refusal."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_network_that_does_not_fit_is_refused_at_its_option(case: str, tmp_path: Path) -> None:
    cloud, fields, drift, path, text = REFUSED[case]
    lookups = asked(cloud, tmp_path, drift, **fields)
    asyncio.run(LOOKS[cloud](lookups))
    with pytest.raises(pulumi.RunError, match=r"nothing was changed") as refused:
        lookups.finish()
    lines = [line for line in str(refused.value).split("\n  network.existing.")[1:] if line.startswith(f"{path}: ")]
    assert any(text in line for line in lines), str(refused.value)


def test_azure_refuses_a_network_of_another_subscription(tmp_path: Path) -> None:
    lookups = asked("azure", tmp_path)
    asyncio.run(look_azure(lookups, ELSEWHERE, "", ZONES["azure"]))
    with pytest.raises(pulumi.RunError, match="networks of their own subscription only"):
        lookups.finish()


@pytest.mark.parametrize(
    ("cloud", "drift", "text"),
    [
        ("azure", changed("VirtualNetwork", dhcpOptions={"dnsServers": ["10.0.0.4"]}), "168.63.129.16"),
        ("azure", changed("Subnet", natGateway=None), "no route table and no default outbound access"),
        ("azure", changed("Subnet", natGateway=None, defaultOutboundAccess=None), "behind a Standard load balancer"),
        ("gcp", removed("RouterNat"), "no router in europe-west1 has Cloud NAT"),
    ],
)
def test_what_may_be_meant_is_a_warning(
    cloud: str, drift: Callable[[CloudState], None], text: str, tmp_path: Path
) -> None:
    lookups = asked(cloud, tmp_path, drift)
    asyncio.run(LOOKS[cloud](lookups))
    lookups.finish()
    assert [text in each for each in lookups.warnings] == [True]


@pytest.mark.parametrize(
    ("servers", "text"),
    [
        (["AmazonProvidedDNS"], ""),
        (["10.30.0.2"], ""),
        (["169.254.169.253"], ""),
        (["10.9.0.4", "AmazonProvidedDNS"], "servers of its own (10.9.0.4): machines find"),
        (["10.9.0.4", "10.9.0.5"], "only if these forward aws-existing.mullion.internal and the names of private"),
        (None, "these credentials cannot read the DHCP options dopt-"),
    ],
)
def test_name_servers_of_a_vpc_that_have_to_forward_are_a_warning(
    servers: list[str] | None, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Asked.invoke

    async def invoke(self: Asked, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if not token.endswith(":getVpcDhcpOptions"):
            return await answer(self, token, arguments)
        if servers is None:
            raise ProviderError("UnauthorizedOperation")
        return {**await answer(self, token, arguments), "domainNameServers": servers}

    monkeypatch.setattr(Asked, "invoke", invoke)
    lookups = asked("aws", tmp_path)
    asyncio.run(LOOKS["aws"](lookups))
    lookups.finish()
    assert [text in each for each in lookups.warnings] == ([True] if text else [])


def test_pools_of_ingress_on_azure_have_no_default_way_out(tmp_path: Path) -> None:
    lookups = asked("azure", tmp_path, changed("Subnet", natGateway=None, defaultOutboundAccess=None))
    front = {"pools": ["linux"], "ports": [{"port": 80, "node_port": 30080}], "allow": ["0.0.0.0/0"]}
    changes = {"ingress": {"load_balancers": {"front": front}}, "api": {"access": "private"}}
    alone = {**lookups.spec.control_plane.model_dump(), "count": 1}
    lookups.spec = ClusterSpec.model_validate({**lookups.spec.model_dump(), **changes, "control_plane": alone})
    asyncio.run(LOOKS["azure"](lookups))
    assert ["pools linux of ingress" in each for each in lookups.warnings] == [True]


@pytest.mark.parametrize(
    ("cloud", "drift"),
    [
        ("azure", changed("VirtualNetwork", addressSpace={"addressPrefixes": ["fd00:db8::/48", "10.30.0.0/16"]})),
        ("azure", changed("Subnet", serviceEndpoints=[{"service": STORAGE}, {"service": "Microsoft.KeyVault"}])),
        ("gcp", changed("Subnetwork", secondaryIpRanges=[{"rangeName": "six", "ipCidrRange": "fd20::/64"}])),
    ],
    ids=["dual-stack network", "storage endpoints of all regions", "secondary range of IPv6"],
)
def test_a_network_with_more_than_a_cluster_needs_is_accepted(
    cloud: str, drift: Callable[[CloudState], None], tmp_path: Path
) -> None:
    lookups = asked(cloud, tmp_path, drift)
    asyncio.run(LOOKS[cloud](lookups))
    lookups.finish()
    assert lookups.warnings == []


EDGES = [f"subnet-0fedcba987654321{index}" for index in range(3)]


@pytest.mark.parametrize(
    ("zones", "wrong"),
    [
        ("abc", ""),
        ("ab", "public_subnets: no public subnet is in eu-west-1c"),
        ("aba", f"public_subnets.2: {EDGES[2]} is in zone eu-west-1a, as is another public subnet"),
    ],
)
def test_public_subnets_are_in_distinct_zones_with_those_of_the_control_planes(
    zones: str, wrong: str, tmp_path: Path
) -> None:
    settings, _, region = stack("aws", existing={**EXISTING_AWS, "public_subnets": EDGES}, api=PUBLIC)
    cloud_state = existing_networks.create(tmp_path / "world.db", "aws-existing", settings)
    with cloud_state.transaction():
        for part in existing_networks.yours(cloud_state):
            if part.id in EDGES[: len(zones)]:
                part.outputs["availabilityZone"] = f"{region}{zones[EDGES.index(part.id)]}"
                cloud_state.put(part)
    provider = Provider(clouds.of("aws"), cloud_state)
    provider.configure({provider.cloud.region: region})
    listed = {**EXISTING_AWS, "public_subnets": EDGES[: len(zones)]}
    lookups = Asked(provider, stack("aws", existing=listed, api=PUBLIC)[1])
    asyncio.run(look_aws(lookups, "aws-existing"))
    if not wrong:
        lookups.finish()
        return
    with pytest.raises(pulumi.RunError, match=f"network.existing.{wrong}"):
        lookups.finish()
