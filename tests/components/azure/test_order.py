"""How a virtual network is written: its parts in order, because Azure refuses concurrent changes, and itself once."""

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import config, of, recording

STACK = "azure-prod"


def test_interfaces_and_load_balancers_wait_for_all_subnets() -> None:
    inside = {"pools": ["web"], "ports": [{"port": 443, "node_port": 30443}], "internal": True, "allow": ["10.0.0.0/8"]}
    spec = {**config(STACK)[CLUSTER], "ingress": {"load_balancers": {"inside": inside}}}
    found = record(STACK, {**config(STACK), CLUSTER: spec})
    assert found.errors == []
    subnets = {each.urn for each in of(found, "azure-native:network:Subnet").values()}
    assert len(subnets) == 3
    balancers = of(found, "azure-native:network:LoadBalancer")
    assert set(balancers) == {f"{STACK}-api-internal", f"{STACK}-internal-ingress-inside"}
    interfaces = of(found, "azure-native:network:NetworkInterface")
    assert interfaces
    for each in (*balancers.values(), *interfaces.values()):
        assert subnets <= each.dependencies, each.name


def test_a_change_of_tags_takes_nothing_from_a_network_that_others_configured() -> None:
    """The provider sends the whole network, without DNS servers and plans that the program does not know."""
    [network] = of(recording(STACK), "azure-native:network:VirtualNetwork").values()
    assert network.ignore_changes == ["tags"]
