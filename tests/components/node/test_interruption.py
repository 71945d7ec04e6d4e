"""Spot machines: the service that drains them, the kubelet's shutdown, label and downloads."""

from typing import Any

import pytest

from components.node.plan import NodePlan
from components.plan import plan_cluster
from components.spec.models import Cloud
from components.stack_files.stack import CLUSTER, read_stack
from tools.golden.samples import content, one, plan

SHUTDOWN = {"shutdownGracePeriod": "25s", "shutdownGracePeriodCriticalPods": "5s"}
REGIONS = {"aws:region": "eu-west-1", "azure-native:location": "westeurope", "gcp:region": "europe-west1"}


def of_cloud(cloud: Cloud, os: str) -> NodePlan:
    """Return the plan of a spot pool on a cloud."""
    pools = {"batch": {"os": os, "spot": True}}
    stack = {**REGIONS, "gcp:project": "p", CLUSTER: {"cloud": cloud.value, "kubernetes": "1.36.4", "pools": pools}}
    return plan_cluster("small", read_stack("small", stack).spec).pools[0].node_plan


def shutdown(os: str, kubernetes: str, pool: dict[str, Any]) -> dict[str, Any]:
    """Return the kubelet's fields about shutdowns."""
    document = content(plan(os, pool, kubernetes=kubernetes), "kubelet-config" if "windows" in os else "kubelet-patch")
    return {key: value for key, value in document.items() if key.startswith("shutdown")}


@pytest.mark.parametrize(
    ("cloud", "seconds", "grace"), [(Cloud.AWS, "115", "-1"), (Cloud.AZURE, "25", "20"), (Cloud.GCP, "25", "20")]
)
def test_the_drain_fits_into_the_clouds_notice(cloud: Cloud, seconds: str, grace: str) -> None:
    linux = one(of_cloud(cloud, "ubuntu-24.04"), "interruption").fields
    assert linux["command"][3:7] == ["--seconds", seconds, "--grace", grace]
    windows = one(of_cloud(cloud, "windows-2022"), "interruption").fields
    assert f"-Seconds {seconds} -Grace {grace} " in windows["command"][-1]
    assert windows["wrapper"].endswith("nssm.exe")


@pytest.mark.parametrize("os", ["ubuntu-24.04", "windows-2022"])
def test_only_spot_nodes_have_the_service_and_the_label(os: str) -> None:
    spot, usual = plan(os, {"spot": True}), plan(os)
    assert "mullion.dev/spot=true" in spot.registration["labels"]
    assert "spot" not in usual.registration["labels"]
    assert [phase.name for phase in spot.phases if phase.name not in {each.name for each in usual.phases}] == [
        "interruption"
    ]


@pytest.mark.parametrize(
    ("os", "kubernetes", "ends"),
    [
        ("ubuntu-24.04", "1.36.4", True),
        ("windows-2022", "1.36.4", True),
        ("windows-2022", "1.33.5", False),
    ],
)
def test_kubelets_of_spot_nodes_end_pods_at_a_shutdown_where_they_can(os: str, kubernetes: str, ends: bool) -> None:
    assert shutdown(os, kubernetes, {"spot": True}) == (SHUTDOWN if ends else {})
    assert shutdown(os, kubernetes, {}) == {}


def test_the_users_field_about_shutdowns_replaces_all_of_ours() -> None:
    own = {"shutdownGracePeriod": "3s"}
    assert shutdown("ubuntu-24.04", "1.36.4", {"spot": True, "kubelet": {"config": own}}) == own


def test_spot_pools_without_flannel_download_the_service_wrapper_too() -> None:
    routed = {"mode": "l2bridge", "pods": "10.244.0.0/14", "nodes": "10.20.0.0/22"}
    names = {each.name for phase in plan("windows-2022", {"spot": True}, network=routed).phases for each in phase.steps}
    assert "download-nssm" in names
