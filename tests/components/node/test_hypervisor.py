"""Hyper-V isolation: what machines that offer it have more than others, and the classes of their pods (SEC-06)."""

from typing import Any

import pytest

from components import releases
from components.node.plan import NodePlan, Scope
from tools.golden.samples import content, one, phase, plan, position

tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")

HYPERV = {"isolation": "hyperv", "size": "m8i.xlarge"}
MINORS = {"1.29.15": 2, "1.33.10": 2, "1.37.1": 4}
"""Kubernetes version -> version of config.toml of its containerd."""


def _handlers(node_plan: NodePlan) -> dict[str, Any]:
    """Return the runtimes table of config.toml, read back from its text."""
    plugins = tomllib.loads(content(node_plan, "containerd-config"))["plugins"]
    cri = plugins.get("io.containerd.cri.v1.runtime") or plugins["io.containerd.grpc.v1.cri"]
    return cri["containerd"]


@pytest.mark.parametrize("os", releases.windows_for("1.37.0"))
def test_one_restart_installs_hyper_v_with_containers_and_then_the_hypervisor_is_checked(os: str) -> None:
    node_plan = plan(os, HYPERV, kubernetes="1.37.1")
    features = [each.fields["feature"] for each in node_plan.steps if each.kind == "feature"]
    assert features == ["Containers", "Hyper-V"]
    assert len([each for each in node_plan.steps if each.kind == "reboot"]) == 1
    order = ["containers", "hyper-v", "reboot", "hypervisor", "containerd"]
    assert [position(node_plan, each) for each in order] == sorted(position(node_plan, each) for each in order)


def test_an_image_has_hyper_v_and_each_machine_checks_that_it_runs() -> None:
    scopes = {each.name: part.scope for part in plan("windows-2022", HYPERV).phases for each in part.steps}
    assert (scopes["hyper-v"], scopes["hypervisor"]) == (Scope.IMAGE, Scope.NODE)


@pytest.mark.parametrize("kubernetes", MINORS)
def test_containerd_has_a_handler_for_hyper_v_beside_the_default_one(kubernetes: str) -> None:
    table = _handlers(plan("windows-2022", HYPERV, kubernetes=kubernetes))
    assert table["default_runtime_name"] == "runhcs-wcow-process"
    process, isolated = table["runtimes"]["runhcs-wcow-process"], table["runtimes"]["runhcs-wcow-hypervisor"]
    assert isolated["runtime_type"] == process["runtime_type"] == "io.containerd.runhcs.v1"
    assert isolated["options"] == {"SandboxIsolation": 1, "ScaleCpuLimitsToSandbox": True, "ScrubLogs": True}
    assert isolated["pod_annotations"] == ["io.microsoft.virtualmachine.*"]
    assert "SandboxIsolation" not in process["options"]


def test_the_user_sets_the_memory_of_virtual_machines_in_the_handler() -> None:
    own = {"containerd": {"runtimes": {"runhcs-wcow-hypervisor": {"options": {"VmMemorySizeInMb": 2048}}}}}
    config = {"config": {"plugins": {"io.containerd.cri.v1.runtime": own}}}
    node_plan = plan("windows-2022", {**HYPERV, "containerd": config}, kubernetes="1.37.1")
    options = _handlers(node_plan)["runtimes"]["runhcs-wcow-hypervisor"]["options"]
    assert options == {
        "SandboxIsolation": 1,
        "ScaleCpuLimitsToSandbox": True,
        "ScrubLogs": True,
        "VmMemorySizeInMb": 2048,
    }


def test_without_the_option_nothing_of_it_is_planned() -> None:
    plain = plan("windows-2022", {"size": "m8i.xlarge"})
    assert not [each.name for each in plain.steps if each.name in ("hyper-v", "hypervisor")]
    assert list(_handlers(plain)["runtimes"]) == ["runhcs-wcow-process"]
    assert "mullion.dev/hyperv" not in plain.registration["labels"]
    assert plain.replace_digest != plan("windows-2022", HYPERV).replace_digest, "the option replaces the machines"


def _classes(**pools: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the RuntimeClasses of a cluster with these pools, by name."""
    node_plan = plan(None, pools=pools, kubernetes="1.37.1")
    return {each["metadata"]["name"]: each for each in content(node_plan, "addon-runtime-classes")["items"]}


def test_a_build_has_a_class_for_isolated_pods_that_only_nodes_with_hyper_v_take() -> None:
    other = {"os": "windows-2022", "taints": ["os=windows:NoSchedule", "own=yes:NoSchedule"]}
    old = {"os": "windows-2025"}
    classes = _classes(a=other, b={"os": "windows-2022", **HYPERV}, c=old)
    assert list(classes) == ["windows-2022", "windows-2025", "windows-2022-hyperv"]
    plain, isolated = classes["windows-2022"], classes["windows-2022-hyperv"]
    assert (plain["handler"], isolated["handler"]) == ("runhcs-wcow-process", "runhcs-wcow-hypervisor")
    assert isolated["overhead"] == {"podFixed": {"memory": "1Gi", "cpu": "100m"}}
    assert "overhead" not in plain
    selected = isolated["scheduling"]["nodeSelector"]
    assert selected == {**plain["scheduling"]["nodeSelector"], "mullion.dev/hyperv": "true"}
    assert [each["key"] for each in isolated["scheduling"]["tolerations"]] == ["os"], "taints of its pools alone"


def test_nodes_with_hyper_v_register_with_the_label_that_the_class_selects() -> None:
    labels = plan("windows-2022", HYPERV).registration["labels"].split(",")
    assert labels == ["mullion.dev/hyperv=true", "mullion.dev/pool=pool"]


def test_the_pause_image_from_which_the_virtual_machine_boots_has_a_manifest_for_the_build() -> None:
    image = one(plan("windows-2025", HYPERV, kubernetes="1.37.1"), "pause-image").fields["image"]
    assert image.partition("@")[0] == "registry.k8s.io/pause:3.10.2", "3.10 and 3.10.1 have none for 26100"
    assert phase(plan("windows-2025", HYPERV, kubernetes="1.37.1"), "hypervisor")
