"""Order in which parts of a virtual network are written: Azure refuses concurrent changes of one."""

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import config, of

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
