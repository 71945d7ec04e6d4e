"""Machines of pools with Hyper-V isolation ask for nested virtualization where the cloud wants to be asked (SEC-06)."""

from typing import Any

import pytest

from components.stack_files.stack import CLUSTER
from operations.clouds import cloud_tables
from operations.recorder.recorder import record
from tests.components.recorded_wiring import of

PLACES = {"aws": {"aws:region": "eu-west-1"}, "azure": {"azure-native:location": "westeurope"}}
SIZES = {"aws": "m8i.xlarge", "azure": "Standard_D4s_v5"}
ASKED: dict[str, dict[str, Any]] = {"aws": {"nestedVirtualization": "enabled"}, "azure": {}}


@pytest.mark.parametrize("cloud", ASKED)
def test_only_machines_of_the_pool_ask_for_it_and_on_azure_none_has_to(cloud: str) -> None:
    web = {"os": "windows-2022", "size": SIZES[cloud]}
    pools = {"isolated": {**web, "isolation": "hyperv"}, "web": web}
    stack = {**PLACES[cloud], CLUSTER: {"cloud": cloud, "kubernetes": "1.36.4", "pools": pools}}
    machines = of(record("small", stack, preview=True), cloud_tables.CLOUDS[cloud].machine)
    asked = {name: each.inputs.get("cpuOptions") or {} for name, each in machines.items()}
    assert asked == {"small-control-plane-0": {}, "small-web-0": {}, "small-isolated-0": ASKED[cloud]}
