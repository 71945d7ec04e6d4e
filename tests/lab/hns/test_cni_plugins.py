"""The real win-bridge.exe and win-overlay.exe add and delete pods with the plans' CNI files."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from lab.hns import server
from lab.hns.service import policies
from tests.lab.hns.machine import Machine, plugin
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab

BRIDGED = "10.244.4.0/24"
"""Pod range of the machine in tests/lab/rendered.py: planned, and as flannel leases it."""
LEASED = "10.244.1.0/24"


@pytest.fixture
def clean(bare: Machine) -> Iterator[Machine]:
    """The machine without networks and leases."""
    yield bare
    for network in bare.service.all("Network"):
        bare.call("DeleteNetwork", network["ID"])
    bare.service.containers.clear()
    for lease in bare.windows.path(r"C:\var\lib\cni\networks\x").parent.glob("*/*"):
        lease.unlink()


def bridge(machine: Machine) -> None:
    """Create the network of kind hns-network (cloud-init/windows/kinds/hns.ps1)."""
    subnet = {"AddressPrefix": BRIDGED, "GatewayAddress": "10.244.4.1"}
    machine.hns("POST", "/networks", {"Name": "cbr0", "Type": "L2Bridge", "Subnets": [subnet]})


def overlay(machine: Machine) -> None:
    """Create the network of flanneld (flannel pkg/backend/vxlan/device_windows.go)."""
    subnet = {
        "IpAddressPrefix": LEASED,
        "Routes": [{"NextHop": "10.244.1.1", "DestinationPrefix": "0.0.0.0/0"}],
        "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
    }
    document = {"Name": "flannel.4096", "Type": "Overlay", "Ipams": [{"Type": "Static", "Subnets": [subnet]}]}
    machine.call("CreateNetwork", "", "", json.dumps(document))


CASES = {
    "l2bridge": (bridge, "10.244.4.3"),
    "l2bridge-docker": (bridge, "10.244.4.3"),
    "defaults": (overlay, "10.244.1.2"),
    "docker": (overlay, "10.244.1.2"),
}
"""Variant of the plan -> its network, and the first pod's address."""


def _plugin(plans: Mapping[str, Rendered], variant: str) -> dict[str, Any]:
    written = {"FLANNEL_NETWORK": "10.244.0.0/16", "FLANNEL_SUBNET": "10.244.1.1/24", "FLANNEL_IPMASQ": "false"}
    return plugin(plans[variant].content("cni-config"), written)


@dataclass(frozen=True)
class Pod:
    """A pod's sandbox, before ADD. address: the first one that host-local gives; conf: the plug-in's configuration."""

    address: str
    conf: dict[str, Any]
    space: str


@pytest.fixture(params=CASES)
def pod(request: pytest.FixtureRequest, clean: Machine, plans: Mapping[str, Rendered]) -> Pod:
    """Create the variant's network and the sandbox of a pod."""
    network, address = CASES[request.param]
    network(clean)
    conf = _plugin(plans, request.param)
    return Pod(address, conf, clean.sandbox(conf, "pod"))


def test_the_real_plugins_add_and_delete_pods_with_the_plans_cni_file(clean: Machine, pod: Pod) -> None:
    said = clean.added(pod.conf, "pod", pod.space)

    (endpoint,) = clean.service.all("Endpoint")
    assert said["ips"][0]["address"] == f"{pod.address}/24"
    assert endpoint["IpConfigurations"] == [{"IpAddress": pod.address}]
    assert {"Direction", "Action"} <= set(policies(endpoint, "ACL")[0])
    assert clean.service.refusals == []

    done, _ = clean.cni("DEL", pod.conf, "pod", pod.space)

    assert done.code == 0, done.text
    assert clean.service.all("Endpoint") == []
    clean.added(pod.conf, "next", clean.sandbox(pod.conf, "next"))


def test_a_lease_names_its_sandbox_and_the_real_plugins_release_it_after_hns_lost_the_endpoint(
    clean: Machine, pod: Pod
) -> None:
    clean.added(pod.conf, "pod", pod.space)
    lease = clean.windows.path(rf"C:\var\lib\cni\networks\{pod.conf['name']}\{pod.address}")
    assert lease.read_text().split() == ["pod", "eth0"], "watch-network.ps1 stops the sandbox of this id"

    clean.service.restart()

    done, _ = clean.cni("DEL", pod.conf, "pod", pod.space)
    assert done.code == 0, done.text
    assert not lease.exists()


def test_a_plugin_fails_with_the_services_error_if_hns_does_not_know_the_network(
    clean: Machine, plans: Mapping[str, Rendered]
) -> None:
    conf = _plugin(plans, "l2bridge")

    done, said = clean.cni("ADD", conf, "pod", clean.sandbox(conf, "pod"))

    assert done.code != 0
    assert 'Network name "cbr0" not found' in json.loads(said)["msg"]


def test_a_plugin_gives_back_the_address_if_hns_refuses_the_endpoint(
    clean: Machine, plans: Mapping[str, Rendered]
) -> None:
    bridge(clean)
    conf = _plugin(plans, "l2bridge")
    conf["policies"][0]["value"] = {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.20.0.4"}}

    done, said = clean.cni("ADD", conf, "pod", clean.sandbox(conf, "pod"))

    assert done.code != 0
    assert "0x803b000e" in json.loads(said)["msg"]
    assert not list(clean.windows.path(r"C:\var\lib\cni\networks\x").parent.glob("cbr0/10.*"))


def test_a_plugin_fails_while_the_service_is_stopped(clean: Machine, plans: Mapping[str, Rendered]) -> None:
    bridge(clean)
    conf = _plugin(plans, "l2bridge")
    space, port = clean.sandbox(conf, "pod"), clean.windows.folder / server.PORT_FILE
    kept = port.read_text()
    port.unlink()

    done, said = clean.cni("ADD", conf, "pod", space)

    port.write_text(kept)
    assert done.code != 0
    assert "(0x6b5)" in json.loads(said)["msg"]
