"""`egress: none` on GCP: routes to Google's services alone, and private names of its APIs."""

from ipaddress import IPv4Address, IPv4Network
from typing import Any

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, record
from tests.components.recorded_wiring import config, of

PROXY = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}


def without_egress(**fields: Any) -> Recording:
    cluster = config("gcp-prod")[CLUSTER]
    network = {**cluster.get("network", {}), "egress": "none"}
    settings = {**config("gcp-prod"), CLUSTER: {**cluster, "network": network, "proxy": PROXY, "api": {}, **fields}}
    found = record("gcp-prod", settings)
    assert found.errors == []
    return found


def test_routes_lead_to_googles_services_alone_and_there_is_no_nat() -> None:
    found = without_egress()
    routes = of(found, "gcp:compute/route:Route").values()
    assert {each.inputs["destRange"] for each in routes} == {"199.36.153.8/30", "35.190.247.13/32"}
    assert {each.inputs["nextHopGateway"] for each in routes} == {"default-internet-gateway"}
    assert not of(found, "gcp:compute/routerNat:RouterNat") and not of(found, "gcp:compute/router:Router")
    faces = [each.inputs["networkInterfaces"] for each in of(found, "gcp:compute/instance:Instance").values()]
    assert not any(face["accessConfigs"] for [face] in faces)
    assert all(each.inputs["privateIpGoogleAccess"] for each in of(found, "gcp:compute/subnetwork:Subnetwork").values())


def test_all_names_of_the_apis_have_the_private_addresses() -> None:
    found = without_egress()
    zone = of(found, "gcp:dns/managedZone:ManagedZone")["gcp-prod-googleapis-com"]
    assert (zone.inputs["dnsName"], zone.inputs["visibility"]) == ("googleapis.com.", "private")
    records = {each.inputs["name"]: each.inputs for each in of(found, "gcp:dns/recordSet:RecordSet").values()}
    assert records["*.googleapis.com."]["rrdatas"] == ["private.googleapis.com."]
    addresses = records["private.googleapis.com."]["rrdatas"]
    assert [IPv4Address(each) for each in addresses] == list(IPv4Network("199.36.153.8/30"))


def test_artifact_registry_has_private_names_if_kubelets_pull_from_it() -> None:
    found = without_egress(registry_credentials=["gar"])
    zones = of(found, "gcp:dns/managedZone:ManagedZone").values()
    assert {each.inputs["dnsName"] for each in zones} > {"googleapis.com.", "gcr.io.", "pkg.dev."}
    records = {each.inputs["name"]: each.inputs for each in of(found, "gcp:dns/recordSet:RecordSet").values()}
    assert records["*.pkg.dev."]["rrdatas"] == ["pkg.dev."] and len(records["pkg.dev."]["rrdatas"]) == 4


def test_machines_wait_for_routes_and_names() -> None:
    found = without_egress()
    ways = {each.urn for name, each in of(found, "gcp:compute/route:Route").items() if "google" in name}
    ways |= {each.urn for name, each in of(found, "gcp:dns/recordSet:RecordSet").items() if "googleapis" in name}
    assert len(ways) == 4
    first = of(found, "gcp:compute/instance:Instance")["gcp-prod-control-plane-0"]
    assert first.dependencies >= ways
