"""Spot machines in each cloud, recorded without an engine."""

from typing import Any

import pytest

from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.clouds import cloud_tables
from operations.clouds.account_limits import account_limits
from operations.recorder.recorder import record
from tests.components.recorded_wiring import of

PLACES = {"aws:region": "eu-west-1", "azure-native:location": "westeurope", "gcp:region": "europe-west1"}
INPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "aws": (
        "instanceMarketOptions",
        {
            "instanceMarketOptions": {
                "marketType": "spot",
                "spotOptions": {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"},
            }
        },
    ),
    "azure": (
        "priority evictionPolicy billingProfile",
        {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1}},
    ),
    "gcp": (
        "scheduling",
        {
            "scheduling": {
                "provisioningModel": "SPOT",
                "preemptible": True,
                "automaticRestart": False,
                "onHostMaintenance": "TERMINATE",
                "instanceTerminationAction": "DELETE",
            }
        },
    ),
}


def config(cloud: str) -> dict[str, Any]:
    """Return a stack with a spot pool and another one."""
    pools = {"batch": {"os": "windows-2022", "spot": True}, "web": {"os": "windows-2022"}}
    stack = {key: value for key, value in PLACES.items() if key.startswith(cloud)}
    project = {"gcp:project": "example"} if cloud == "gcp" else {}
    return {**stack, **project, CLUSTER: {"cloud": cloud, "kubernetes": "1.36.4", "pools": pools}}


def planned(cloud: str) -> ClusterPlan:
    return plan_cluster("small", read_stack("small", config(cloud)).spec)


@pytest.mark.parametrize("cloud", INPUTS)
def test_only_machines_of_spot_pools_ask_for_spot_capacity(cloud: str) -> None:
    machines = of(record("small", config(cloud), preview=True), cloud_tables.CLOUDS[cloud].machine)
    names, wanted = INPUTS[cloud]
    asked = {
        name: {key: each.inputs[key] for key in names.split() if each.inputs.get(key) is not None}
        for name, each in machines.items()
    }
    assert asked == {"small-control-plane-0": {}, "small-web-0": {}, "small-batch-0": wanted}


@pytest.mark.parametrize("cloud", INPUTS)
def test_spot_machines_do_not_count_to_the_limit_of_others(cloud: str) -> None:
    [cores] = [row for row in account_limits(planned(cloud)) if row["what"] == "vCPU"]
    assert cores["needed"] == 2 + 4, "the control plane and web"
