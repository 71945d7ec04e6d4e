"""Documents that users may extend: the fields that Mullion sets, and that the user's fields win."""

from typing import Any

import pytest

from components import releases
from components.node import kubelet, runtime
from components.node.plan import NodePlan
from components.node.role import role
from tools.golden.samples import PATCHES, content, one, plan, spec

FULL_KUBELET = {
    "kube_reserved": {"cpu": "100m"},
    "system_reserved": {"cpu": "1"},
    "eviction_hard": {"memory.available": "1Gi"},
}


def _init(node_plan: NodePlan, kind: str) -> dict[str, Any]:
    return next(each for each in content(node_plan, "init-config") if each["kind"] == kind)


def _set_by_plans(kubernetes: str) -> dict[str, set[str]]:
    """Return the top-level fields that plans set, over all relevant options."""
    by_document: dict[str, set[str]] = {}
    for runtime_name in ("containerd", "docker"):
        pool = {"kubelet": FULL_KUBELET, "kube_proxy": {"dsr": True}}
        windows = plan("windows-2022", {**pool, "runtime": runtime_name}, kubernetes=kubernetes)
        control_plane = plan(None, kubernetes=kubernetes)
        documents = {
            "kubelet-windows": content(windows, "kubelet-config"),
            "kubelet-linux": kubelet.configuration(
                role("dev", spec("ubuntu-22.04", pool, kubernetes=kubernetes), "pool")
            ),
            "kube-proxy-windows": content(windows, "kube-proxy-config"),
            "kube-proxy-linux": _init(control_plane, "KubeProxyConfiguration"),
            "ClusterConfiguration": _init(control_plane, "ClusterConfiguration"),
            "InitConfiguration": _init(control_plane, "InitConfiguration"),
            "JoinConfiguration": one(control_plane, "kubeadm-join").fields["input"],
        }
        for name, document in documents.items():
            by_document.setdefault(name, set()).update(document)
        tables = runtime.configuration(role("dev", spec("windows-2022", kubernetes=kubernetes), "pool"))
        by_document.setdefault("containerd", set()).update(tables)
    return {name: fields - {"apiVersion", "kind"} for name, fields in by_document.items()}


@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_documented_fields_of_mullion_are_exactly_those_that_plans_set(kubernetes: str) -> None:
    fields = _set_by_plans(kubernetes)
    assert fields == {name: set(releases.set_by_us(name, kubernetes)) for name in fields}


@pytest.mark.parametrize(
    ("os", "step"), [("windows-2019", "kubelet-config"), ("ubuntu-22.04", "kubelet-patch")], ids=["windows", "linux"]
)
def test_a_users_kubelet_fields_win_and_leave_the_rest(os: str, step: str) -> None:
    added = {"maxPods": 42, "imageGCHighThresholdPercent": 70, "systemReserved": {"memory": "5Gi"}}
    ours, theirs = content(plan(os), step), content(plan(os, {"kubelet": {"config": added}}), step)
    assert (theirs["maxPods"], theirs["imageGCHighThresholdPercent"]) == (42, 70)
    assert theirs["systemReserved"]["memory"] == "5Gi"
    assert theirs["systemReserved"].get("cpu") == ours.get("systemReserved", {}).get("cpu"), "merged, not replaced"
    assert {k: v for k, v in theirs.items() if k not in added} == {k: v for k, v in ours.items() if k not in added}


def test_a_users_kube_proxy_fields_win_on_both_systems() -> None:
    windows = plan("windows-2019", {"kube_proxy": {"config": {"winkernel": {"forwardHealthCheckVip": True}}}})
    winkernel = content(windows, "kube-proxy-config")["winkernel"]
    assert (winkernel["forwardHealthCheckVip"], winkernel["networkName"]) == (True, "flannel.4096")
    linux = plan(None, control_plane={"kube_proxy": {"config": {"mode": "nftables"}}})
    assert _init(linux, "KubeProxyConfiguration")["mode"] == "nftables"


def test_a_users_kubeadm_fields_win() -> None:
    config = {
        "ClusterConfiguration": {"networking": {"dnsDomain": "other.local"}},
        "InitConfiguration": {"skipPhases": ["addon/kube-proxy"]},
        "JoinConfiguration": {"skipPhases": ["preflight"]},
    }
    node_plan = plan(None, kubeadm={"config": config})
    networking = _init(node_plan, "ClusterConfiguration")["networking"]
    assert (networking["dnsDomain"], networking["podSubnet"]) == ("other.local", "10.244.0.0/16")
    assert _init(node_plan, "InitConfiguration")["skipPhases"] == ["addon/kube-proxy"]
    assert one(node_plan, "kubeadm-join").fields["input"]["skipPhases"] == ["preflight"]


def test_a_users_containerd_tables_win() -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")
    added = {"plugins": {"io.containerd.cri.v1.images": {"max_concurrent_downloads": 9}}, "oom_score": -5}
    config = tomllib.loads(content(plan("windows-2022", {"containerd": {"config": added}}), "containerd-config"))
    images = config["plugins"]["io.containerd.cri.v1.images"]
    assert (images["max_concurrent_downloads"], config["oom_score"]) == (9, -5)
    assert images["pinned_images"]["sandbox"].startswith("registry.k8s.io/pause:")
