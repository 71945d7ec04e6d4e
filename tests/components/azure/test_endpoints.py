"""`egress: none` on Azure: no gateway and no service endpoint, but a private endpoint for each store and the vault."""

import base64
import json
from typing import Any

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, Registered, record
from tests.components.recorded_wiring import config, of

STACK = "azure-prod"
PROXY = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
NET = "azure-native:network:"


def without_egress(**fields: Any) -> Recording:
    cluster = config(STACK)[CLUSTER]
    network = {**cluster.get("network", {}), "egress": "none", "nat_gateways": "single"}
    api = {**cluster.get("api", {}), "access": "private"}
    settings = {**config(STACK), CLUSTER: {**cluster, "network": network, "proxy": PROXY, "api": api, **fields}}
    found = record(STACK, settings)
    assert found.errors == []
    return found


def one(found: Recording, type_: str, name: str) -> Registered:
    return of(found, type_)[f"{STACK}-{name}"]


def document(found: Recording, name: str) -> dict[str, Any]:
    data = of(found, "azure-native:compute:VirtualMachine")[name].inputs["osProfile"]["customData"]
    text = base64.b64decode(data).decode()
    return json.loads(next(line for line in text.splitlines() if line.strip().startswith('{"bundle"')))


def test_no_machine_has_a_way_to_the_internet() -> None:
    found = without_egress()
    assert not of(found, f"{NET}NatGateway") and not of(found, f"{NET}PublicIPAddress")
    subnets = of(found, f"{NET}Subnet").values()
    assert len(subnets) == 4 and not any(each.inputs["defaultOutboundAccess"] for each in subnets)
    assert not any("natGateway" in each.inputs or "serviceEndpoints" in each.inputs for each in subnets)


def test_each_store_and_the_vault_have_an_endpoint_in_the_subnet_of_endpoints() -> None:
    found = without_egress()
    inside = one(found, f"{NET}Subnet", "endpoints-0")
    stores = of(found, "azure-native:storage:StorageAccount")
    targets = {
        "bundles": ("blob", stores[f"{STACK}-bundles"]),
        "snapshots": ("blob", stores[f"{STACK}-snapshots"]),
        "secrets": ("vault", one(found, "azure-native:keyvault:Vault", "vault")),
    }
    endpoints = of(found, f"{NET}PrivateEndpoint")
    assert set(endpoints) == {f"{STACK}-{each}" for each in targets}
    for name, (part, target) in targets.items():
        endpoint = endpoints[f"{STACK}-{name}"]
        [connection] = endpoint.inputs["privateLinkServiceConnections"]
        assert connection["groupIds"] == [part] and {inside.urn, target.urn} <= endpoint.dependencies
        [zone] = one(found, f"{NET}PrivateDnsZoneGroup", name).inputs["privateDnsZoneConfigs"]
        assert zone["name"] == part


def test_endpoints_wait_for_the_settings_of_their_account_because_azure_refuses_concurrent_changes() -> None:
    found = without_egress()
    endpoints, kinds = (
        of(found, f"{NET}PrivateEndpoint"),
        ("BlobContainer", "BlobServiceProperties", "ManagementPolicy"),
    )
    parts = {each.urn: each for kind in kinds for each in of(found, f"azure-native:storage:{kind}").values()}
    waited = {each for endpoint in endpoints.values() for each in endpoint.dependencies}
    last = next(urn for urn, each in parts.items() if each.type.endswith("ManagementPolicy"))
    containers = {urn for urn, each in parts.items() if each.type.endswith("BlobContainer")}
    assert containers | {last} <= waited
    assert last in endpoints[f"{STACK}-snapshots"].dependencies


def test_private_zones_of_the_services_are_linked_to_the_network() -> None:
    found = without_egress()
    zones = of(found, "azure-native:privatedns:PrivateZone")
    names = {each.inputs["privateZoneName"] for each in zones.values()}
    assert names > {"privatelink.blob.core.windows.net", "privatelink.vaultcore.azure.net"}
    links = of(found, "azure-native:privatedns:VirtualNetworkLink").values()
    assert {each.inputs["privateZoneName"] for each in links} == names


def test_rules_of_the_subnet_apply_to_endpoints_and_admit_the_machines_to_https() -> None:
    found = without_egress()
    group, subnet = one(found, f"{NET}NetworkSecurityGroup", "endpoints"), one(found, f"{NET}Subnet", "endpoints-0")
    assert group.urn in subnet.dependencies
    assert subnet.inputs["privateEndpointNetworkPolicies"] == "NetworkSecurityGroupEnabled"
    *admitted, last = group.inputs["securityRules"]
    assert [(each["access"], each["protocol"], each["destinationPortRange"]) for each in admitted] == [
        ("Allow", "Tcp", "443")
    ] * 2
    assert all(len(each["sourceApplicationSecurityGroups"]) == 1 for each in admitted)
    assert (last["access"], last["destinationPortRange"]) == ("Deny", "*")


def test_stores_and_vault_admit_no_subnet_by_service_endpoints() -> None:
    found = without_egress()
    for store in of(found, "azure-native:storage:StorageAccount").values():
        rules = store.inputs["networkRuleSet"]
        assert rules["defaultAction"] == "Deny" and rules["virtualNetworkRules"] == []
    rules = one(found, "azure-native:keyvault:Vault", "vault").inputs["properties"]["networkAcls"]
    assert rules["defaultAction"] == "Deny" and rules["virtualNetworkRules"] == []


def test_machines_wait_for_the_names_of_the_endpoints_which_come_one_after_the_other() -> None:
    found = without_egress()
    groups = {each.urn for each in of(found, f"{NET}PrivateDnsZoneGroup").values()}
    links = {each.urn for each in of(found, "azure-native:privatedns:VirtualNetworkLink").values()}
    first = of(found, "azure-native:compute:VirtualMachine")[f"{STACK}-control-plane-0"]
    assert len(groups) == 3 and groups <= first.dependencies and len(links & first.dependencies) >= 2
    subnets = {each.urn for each in of(found, f"{NET}Subnet").values()}
    endpoints = of(found, f"{NET}PrivateEndpoint")
    for name, before in (("bundles", []), ("secrets", ["bundles"]), ("snapshots", ["bundles", "secrets"])):
        earlier = {endpoints[f"{STACK}-{each}"].urn for each in before}
        assert subnets | earlier <= endpoints[f"{STACK}-{name}"].dependencies


def test_only_control_planes_without_a_way_out_ask_the_compute_api_through_the_proxy() -> None:
    found = without_egress()
    assert document(found, f"{STACK}-control-plane-0")["facts"]["compute_way"] == "proxy"
    assert "compute_way" not in document(found, f"{STACK}-linux-0")["facts"]
    assert "compute_way" not in document(record(STACK, config(STACK)), f"{STACK}-control-plane-0")["facts"]


def test_sessions_keep_their_host_and_its_subnet() -> None:
    found = without_egress(access="session")
    ranges = [each.inputs["addressPrefix"] for each in of(found, f"{NET}Subnet").values()]
    assert len(ranges) == len({*ranges}) == 5
    assert [each.name for each in of(found, f"{NET}PublicIPAddress").values()] == [f"{STACK}-bastion"]


def test_names_that_azure_takes_away_from_an_endpoint_are_no_change() -> None:
    endpoints = of(without_egress(), f"{NET}PrivateEndpoint").values()
    assert len(endpoints) == 3 and all(each.ignore_changes == ["customDnsConfigs"] for each in endpoints)
