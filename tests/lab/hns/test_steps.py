"""The plans' own steps in PowerShell ask HNS by its C API: networks set, held, and mended after events."""

import json
from collections.abc import Iterator, Mapping

import pytest

from lab.hns import server
from lab.hns.endpoints import HOST, holders
from lab.hns.errors import Code
from lab.hns.networks import management_address
from lab.hns.service import policies
from tests.lab.hns.machine import ADAPTER, NO_ID, NODE, Machine
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab

HELD, MENDED = ["hns-network True True"], ["hns-network False True"]


@pytest.fixture
def clean(bare: Machine) -> Iterator[Machine]:
    yield bare
    for kind in ("LoadBalancer", "Network"):
        for each in bare.service.all(kind):
            bare.call(f"Delete{kind}", each["ID"])


def balanced(machine: Machine, endpoint: str) -> None:
    """Create a load balancer as kube-proxy does."""
    ports = [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]
    document = {"HostComputeEndpoints": [endpoint], "FrontendVIPs": ["10.96.0.10"], "PortMappings": ports}
    machine.call("CreateLoadBalancer", "", NO_ID, json.dumps(document))


def test_the_bridge_is_set_once_and_its_endpoint_again_after_events(
    clean: Machine, plans: Mapping[str, Rendered]
) -> None:
    plan, service = plans["l2bridge"], clean.service

    assert clean.steps(plan, "hns-network", "hns-network") == MENDED + HELD
    (network,) = service.all("Network")
    assert network["Ipams"][0]["Subnets"][0]["IpAddressPrefix"] == "10.244.4.0/24"
    for event in (service.reboot, service.restart):
        event()
        assert service.all("Endpoint") == []
        # the step's forwarding of adapters is a stand-in that forgets between runs
        assert clean.steps(plan, "hns-network", "hns-network") == MENDED + HELD
        (endpoint,) = service.all("Endpoint")
        assert holders(service, endpoint) == [HOST]
    assert [each["ID"] for each in service.all("Network")] == [network["ID"]]
    assert service.refusals == []


def test_the_bridge_is_on_the_adapter_with_the_default_route(
    clean: Machine, plans: Mapping[str, Rendered], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean.service, "adapters", {"other": "192.0.2.4", ADAPTER: NODE})
    assert clean.steps(plans["l2bridge"], "hns-network") == MENDED
    (network,) = clean.service.all("Network")
    assert management_address(network) == NODE, "without a name HNS takes another adapter"


def test_a_boot_moves_the_bridge_to_the_adapter_that_the_machine_has_then(
    clean: Machine, plans: Mapping[str, Rendered], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, service = plans["l2bridge"], clean.service
    monkeypatch.setattr(service, "adapters", service.adapters)
    clean.steps(plan, "stale-network", "hns-network")
    (first,) = service.all("Network")
    balanced(clean, service.all("Endpoint")[0]["ID"])

    service.reboot({"Ethernet 2": NODE})
    done = clean.run(["reg.exe", "add", r"HKLM\SOFTWARE\mullion-boot", "/v", "Id", "/t", "REG_DWORD", "/d", "7", "/f"])
    assert done.code == 0, done.text

    assert clean.steps(plan, "stale-network", "hns-network") == ["stale-network False True", *MENDED]
    (second,) = service.all("Network")
    assert second["ID"] != first["ID"]
    assert policies(second, "NetAdapterName") == [{"NetworkAdapterName": "Ethernet 2"}]
    assert clean.steps(plan, "stale-network")[-1] == "stale-network True True"
    assert [each["ID"] for each in service.all("Network")] == [second["ID"]], "one boot, one network"


def test_hns_refuses_the_adapter_of_a_virtual_switch(clean: Machine) -> None:
    subnet = {"AddressPrefix": "10.244.4.0/24", "GatewayAddress": "10.244.4.1"}
    request = {"Name": "cbr0", "Type": "L2Bridge", "Subnets": [subnet], "NetworkAdapterName": f"vEthernet ({ADAPTER})"}
    _, said, _ = server.handle(clean.service, ("HNSCall", "POST", "/networks", json.dumps(request)))
    assert json.loads(said)["Success"] is False
    assert clean.service.refusals[-1].startswith(Code.PARAMETER.name)
    clean.service.refusals.clear()


def test_another_range_replaces_the_bridge_although_load_balancers_keep_it(
    clean: Machine, plans: Mapping[str, Rendered]
) -> None:
    plan, service = plans["l2bridge"], clean.service
    clean.steps(plan, "hns-network")
    (network,), (endpoint,) = service.all("Network"), service.all("Endpoint")
    balanced(clean, endpoint["ID"])
    assert clean.refused("DeleteNetwork", network["ID"]) == Code.HAS_REFERENCES.value[0]

    said = clean.steps(plan, "stale-network", "hns-network", machine_pod_cidr="10.244.7.0/24")

    assert said == ["stale-network False True", *MENDED]
    (replaced,) = service.all("Network")
    assert replaced["Ipams"][0]["Subnets"][0]["IpAddressPrefix"] == "10.244.7.0/24"
    assert service.all("LoadBalancer") == []


def test_the_nat_network_of_docker_is_removed_and_the_overlay_of_the_range_stays(
    clean: Machine, plans: Mapping[str, Rendered]
) -> None:
    service = clean.service
    nat = {"AddressPrefix": "172.29.144.0/20", "GatewayAddress": "172.29.144.1"}
    clean.hns("POST", "/networks", {"Name": "nat", "Type": "NAT", "Subnets": [nat]})
    pods = {
        "AddressPrefix": "10.244.1.0/24",
        "GatewayAddress": "10.244.1.1",
        "Policies": [{"Type": "VSID", "VSID": 4096}],
    }
    clean.hns("POST", "/networks", {"Name": "flannel.4096", "Type": "Overlay", "Subnets": [pods]})

    assert clean.steps(plans["docker"], "stale-network", "stale-network") == [
        "stale-network False True",
        "stale-network True True",
    ]
    assert [each["Name"] for each in service.all("Network")] == ["flannel.4096"]


def test_a_step_fails_with_the_refusal_of_hns(clean: Machine, plans: Mapping[str, Rendered]) -> None:
    wrong = {"AddressPrefix": "10.244.0.0/16", "GatewayAddress": "10.244.0.1"}
    clean.hns("POST", "/networks", {"Name": "other", "Type": "L2Bridge", "Subnets": [wrong]})

    with pytest.raises(
        AssertionError, match=r"(?s)HNS refuses POST /networks with 0x00000000: .*network already exists"
    ):
        clean.steps(plans["l2bridge"], "hns-network")
