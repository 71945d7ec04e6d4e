"""`egress: none` in a network of the user on Azure and GCP: its private zones and subnets are looked up."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.stack_files.stack import read_stack
from operations.recorder.recorder import Recording, record
from sandbox import clouds
from sandbox.azure.names import LINK
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider
from tests import existing_networks
from tests.components.recorded_wiring import of
from tests.components.wiring.test_existing_network import ELSEWHERE, LOOKS, Asked, changed, removed
from tests.existing_networks import EXISTING, SERVICE_ZONES, closed_in_existing

Drift = Callable[[CloudState], None]
NET = "azure-native:network:"
CLOSED = ("azure", "gcp")


def asked(cloud: str, folder: Path, drift: Drift | None = None, settings: dict[str, Any] | None = None) -> Asked:
    """Return the finished look-ups of a stack. The sandbox has the unchanged stack file's network, but for `drift`."""
    name, project = f"{cloud}-existing", {"gcp:project": "our-project"}
    cloud_state = existing_networks.create(folder / "world.db", name, closed_in_existing(cloud))
    if drift:
        with cloud_state.transaction():
            drift(cloud_state)
    found = read_stack(name, {**project, **(settings or closed_in_existing(cloud))})
    provider = Provider(clouds.of(cloud), cloud_state)
    provider.configure({provider.cloud.region: found.region})
    lookups = Asked(provider, found.spec)
    asyncio.run(LOOKS[cloud](lookups))
    return lookups


@pytest.mark.parametrize("cloud", CLOSED)
def test_a_network_with_private_zones_and_no_way_out_is_accepted(cloud: str, tmp_path: Path) -> None:
    lookups = asked(cloud, tmp_path)
    lookups.finish()
    assert lookups.warnings == []


def _record(name: str, **values: Any) -> Drift:
    """Return a change of the record with this name."""

    def change(cloud_state: CloudState) -> None:
        for each in cloud_state.resources("gcp:dns/recordSet:RecordSet"):
            if each.inputs["name"] == name:
                each.inputs.update(values)
                cloud_state.put(each)

    return change


RESTRICTED = [f"199.36.153.{number}" for number in range(4, 8)]


@pytest.mark.parametrize(
    ("cloud", "drift"),
    [
        ("azure", changed("Subnet", serviceEndpoints=[])),
        ("azure", changed("Subnet", defaultOutboundAccess=None, routeTable={"id": "/subscriptions/x/routeTables/own"})),
        ("gcp", _record("private.googleapis.com.", rrdatas=RESTRICTED)),
        ("gcp", _record("*.googleapis.com.", type="A", rrdatas=RESTRICTED)),
    ],
    ids=["no service endpoints", "route table", "restricted", "addresses of the wildcard"],
)
def test_other_networks_without_a_way_out_are_accepted(cloud: str, drift: Drift, tmp_path: Path) -> None:
    lookups = asked(cloud, tmp_path, drift)
    lookups.finish()
    assert lookups.warnings == []


def _zones_removed(cloud_state: CloudState) -> None:
    for each in ("VirtualNetworkLink", "PrivateZone"):
        removed(each)(cloud_state)


VNET = EXISTING["azure"]["network"]
REFUSED: dict[str, tuple[str, Drift, str, str]] = {
    "no link": (
        *("azure", removed("VirtualNetworkLink"), "service_zones.0"),
        f"az network private-dns link vnet create -g dns -z privatelink.blob.core.windows.net -n shared -v {VNET}",
    ),
    "no zone": (
        *("azure", _zones_removed, "service_zones.1"),
        "az network private-dns zone create -g dns -n privatelink.vaultcore.azure.net",
    ),
    "link to another network": (
        *("azure", changed("VirtualNetworkLink", virtualNetwork={"id": f"{VNET}-other"}), "service_zones.1"),
        f"leads to {VNET}-other, not to {VNET}",
    ),
    "link that is not ready": (
        *("azure", changed("VirtualNetworkLink", virtualNetworkLinkState="InProgress"), "service_zones.0"),
        "az network private-dns link vnet wait",
    ),
    "NAT gateway": (
        *("azure", changed("Subnet", natGateway={"id": "/subscriptions/x/natGateways/nat"}), "subnets.0.id"),
        "az network vnet subnet update -g net --vnet-name shared -n nodes --remove natGateway",
    ),
    "default outbound access": (
        *("azure", changed("Subnet", defaultOutboundAccess=None), "subnets.0.id"),
        "az network vnet subnet update -g net --vnet-name shared -n nodes --default-outbound-access false",
    ),
    "no Private Google Access": (
        *("gcp", changed("Subnetwork", privateIpGoogleAccess=False), "subnets.0.id"),
        "subnets update nodes --project host-project --region europe-west1 --enable-private-ip-google-access",
    ),
    "no zone of Google": (
        *(
            "gcp",
            removed("ManagedZone"),
            "service_zones.0",
            "projects/dns-project/managedZones/googleapis does not exist",
        ),
    ),
    "public zone of Google": (
        "gcp",
        changed("ManagedZone", visibility="public"),
        "service_zones.0",
        "is a public zone",
    ),
    "zone of another domain": (
        *("gcp", changed("ManagedZone", dnsName="corp.example."), "service_zones"),
        "gcloud dns managed-zones create googleapis-com --project host-project --dns-name googleapis.com.",
    ),
    "no records": (
        *("gcp", removed("RecordSet"), "service_zones.0"),
        'gcloud dns record-sets create "*.googleapis.com." --project dns-project --zone googleapis --type CNAME',
    ),
    "record of public addresses": (
        *("gcp", _record("private.googleapis.com.", rrdatas=["142.250.1.95"]), "service_zones.0"),
        "gives compute.googleapis.com 142.250.1.95",
    ),
    "name of another zone": (
        *("gcp", _record("*.googleapis.com.", rrdatas=["private.corp.example."]), "service_zones.0"),
        "gives compute.googleapis.com no address",
    ),
}
"""By what is wrong: cloud, drift of the network, path and text of the refusal."""


@pytest.mark.parametrize("case", REFUSED)
def test_a_network_without_what_machines_need_is_refused_with_the_command_that_makes_it(
    case: str, tmp_path: Path
) -> None:
    cloud, drift, path, text = REFUSED[case]
    with pytest.raises(pulumi.RunError, match=r"nothing was changed") as refused:
        asked(cloud, tmp_path, drift).finish()
    lines = [line for line in str(refused.value).split("\n  network.existing.")[1:] if line.startswith(f"{path}: ")]
    assert any(text in line for line in lines), str(refused.value)


def test_a_domain_of_an_option_without_a_zone_is_refused(tmp_path: Path) -> None:
    settings = closed_in_existing("gcp")
    settings["mullion:cluster"]["registry_credentials"] = ["gar"]
    with pytest.raises(pulumi.RunError, match=r"none of the zones is of gcr\.io") as refused:
        asked("gcp", tmp_path, settings=settings).finish()
    assert "create pkg-dev --project host-project" in str(refused.value)


def test_cloud_nat_of_all_subnetworks_contradicts_it(tmp_path: Path) -> None:
    open_network = existing_networks.stack("gcp")[0]
    cloud_state = existing_networks.create(tmp_path / "world.db", "gcp-existing", open_network)
    found = read_stack("gcp-existing", {"gcp:project": "our-project", **closed_in_existing("gcp")})
    provider = Provider(clouds.of("gcp"), cloud_state)
    provider.configure({provider.cloud.region: found.region})
    lookups = Asked(provider, found.spec)
    asyncio.run(LOOKS["gcp"](lookups))
    with pytest.raises(pulumi.RunError, match=r"routers nats update shared-nat --router shared-router"):
        lookups.finish()


def test_a_link_of_another_subscription_is_not_looked_up(tmp_path: Path) -> None:
    links = SERVICE_ZONES["azure"]["service_zones"]
    parts = links[0].split("/")
    there = "/".join([*parts[:2], ELSEWHERE, "resourceGroups", "hub", *parts[5:]])
    settings = closed_in_existing("azure", service_zones=[there, links[1]])
    lookups = asked("azure", tmp_path, settings=settings)
    lookups.finish()
    assert [ELSEWHERE in each for each in lookups.warnings] == [True]
    cloud_state = existing_networks.create(tmp_path / "other.db", "azure-existing", settings)
    assert {there, links[1]} == {each.id for each in cloud_state.resources(LINK.token)}


def recorded(cloud: str) -> Recording:
    found = record(f"{cloud}-existing", closed_in_existing(cloud))
    assert found.errors == []
    return found


def test_endpoints_have_fixed_addresses_in_the_first_subnet_between_balancer_and_control_planes() -> None:
    found = recorded("azure")
    endpoints = of(found, f"{NET}PrivateEndpoint")
    [subnet] = EXISTING["azure"]["subnets"]
    assert {each.inputs["subnet"]["id"] for each in endpoints.values()} == {subnet["id"]}
    fixed = {name: each.inputs["ipConfigurations"] for name, each in endpoints.items()}
    rows = [(each["groupId"], each["memberName"], each["privateIPAddress"]) for [each] in fixed.values()]
    assert rows == [("blob", "blob", "10.30.0.6"), ("vault", "default", "10.30.0.7"), ("blob", "blob", "10.30.0.8")]
    taken = [
        each["privateIPAddress"]
        for face in of(found, f"{NET}NetworkInterface").values()
        for each in face.inputs["ipConfigurations"]
    ]
    fronts = [
        front.get("privateIPAddress")
        for balancer in of(found, f"{NET}LoadBalancer").values()
        for front in balancer.inputs["frontendIPConfigurations"]
    ]
    assert taken and fronts and not {address for _, _, address in rows} & {*taken, *fronts}


def test_names_of_endpoints_are_in_the_users_zones_and_the_stores_admit_no_subnet() -> None:
    found = recorded("azure")
    zones = of(found, "azure-native:privatedns:PrivateZone").values()
    assert [each.inputs["privateZoneName"] for each in zones] == ["azure-existing.mullion.internal"]
    groups = of(found, f"{NET}PrivateDnsZoneGroup")
    links = {each.partition("/virtualNetworkLinks/")[0] for each in SERVICE_ZONES["azure"]["service_zones"]}
    assert len(groups) == 3
    used = [each["privateDnsZoneId"] for group in groups.values() for each in group.inputs["privateDnsZoneConfigs"]]
    assert {*used} == links
    stores = of(found, "azure-native:storage:StorageAccount").values()
    assert [each.inputs["networkRuleSet"]["virtualNetworkRules"] for each in stores] == [[], []]
    assert not any("endpoints" in name for name in of(found, f"{NET}NetworkSecurityGroup"))


def test_nothing_of_googles_network_is_built_in_a_users_one() -> None:
    found = recorded("gcp")
    assert not of(found, "gcp:compute/route:Route")
    zones = of(found, "gcp:dns/managedZone:ManagedZone").values()
    assert [each.inputs["dnsName"] for each in zones] == ["gcp-existing.mullion.internal."]
