"""kube-proxy: its configuration on both systems, and its service on Windows."""

from typing import Any

from components.merge import merge
from components.node import cni
from components.node.kinds import ref, step
from components.node.layout import WINDOWS, WINDOWS_NODE_KUBECONFIG
from components.node.logs import logged
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.spec.models import NetworkMode

_CONFIG = r"C:\k\kube-proxy.json"


def configuration(role: Role) -> dict[str, Any]:
    """KubeProxyConfiguration, the user's merged last; on Linux kubeadm's DaemonSet takes it."""
    ours: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clusterCIDR": str(role.spec.network.pods),
        "mode": "kernelspace" if role.os.is_windows else "iptables",
    }
    if role.os.is_windows:
        dsr = role.kube_proxy.dsr
        ours |= {
            "clientConnection": {"kubeconfig": WINDOWS_NODE_KUBECONFIG},
            "hostnameOverride": ref("machine.name"),
            "winkernel": {"networkName": cni.name(role.spec.network), **_source_vip(role), "enableDSR": dsr},
        }
        if dsr and role.release.dsr_gates:
            ours["featureGates"] = dict.fromkeys(role.release.dsr_gates, True)
    return merge(ours, role.kube_proxy.config)


def _source_vip(role: Role) -> dict[str, Any]:
    overlay = role.spec.network.mode is NetworkMode.OVERLAY
    return {"sourceVip": ref("node.source_vip")} if overlay else {}


def windows_phase(role: Role) -> Phase:
    """kube-proxy as a native service, with the node's own certificate."""
    # with --config it takes no other flag, but reads this one before the file (cmd/kube-proxy/app/server.go)
    program = [WINDOWS.program("kube-proxy"), "--windows-service", "--config", _CONFIG]
    return Phase(
        "proxy",
        Scope.NODE,
        (
            step("file", "kube-proxy-config", path=_CONFIG, format="json", content=configuration(role)),
            *logged(role, "kube-proxy", program, _CONFIG, depends=["kubelet", "flanneld"]),
        ),
    )
