"""kube-proxy: its configuration on both systems and its service on Windows."""

from typing import Any

from components import releases
from components.node import cni
from components.node.kinds import Step, ref, step
from components.node.layout import WINDOWS, WINDOWS_NODE_KUBECONFIG
from components.node.logs import logged
from components.node.merge import merge
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.spec.models import NetworkMode, PriorityClass

_CONFIG = r"C:\k\kube-proxy.json"


def configuration(role: Role) -> dict[str, Any]:
    """Return the KubeProxyConfiguration with the user's fields merged over it; on Linux kubeadm's DaemonSet uses it."""
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
            "winkernel": {"networkName": cni.name(role.spec.network), **_endpoint(role), "enableDSR": dsr},
        }
        if dsr and role.release.dsr_gates:
            ours["featureGates"] = dict.fromkeys(role.release.dsr_gates, True)
    return merge(ours, role.kube_proxy.config)


def _endpoint(role: Role) -> dict[str, Any]:
    """Return the host's address (overlay) or endpoint (l2bridge) in kube-proxy's load balancers.

    With forwardHealthCheckVip kube-proxy balances health checks to the endpoint, and drops the error if none has the
    name, which is cbr0 by default (pkg/proxy/winkernel/proxier.go). Minors before 1.24 know neither field.
    """
    if role.spec.network.mode is NetworkMode.OVERLAY:
        return {"sourceVip": ref("node.source_vip")}
    return {"rootHnsEndpointName": cni.L2BRIDGE_ENDPOINT} if releases.within(role.release.minor, "1.24", "") else {}


_PRIORITIES: dict[PriorityClass, int] = {
    PriorityClass.IDLE: 1,
    PriorityClass.BELOW_NORMAL: 5,
    PriorityClass.NORMAL: 2,
    PriorityClass.ABOVE_NORMAL: 6,
    PriorityClass.HIGH: 3,
    # the highest that Windows sets by image name
    PriorityClass.REALTIME: 3,
}
"""CpuPriorityClass of Image File Execution Options, which Windows applies when it starts a program of that name."""

_OPTIONS = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options"


def windows_phase(role: Role) -> Phase:
    """Return the phase with kube-proxy as a native service that uses the node's certificate.

    Its step starts it, once the network and the values in its configuration exist.
    """
    # with --config other flags are ignored, but --windows-service is read before the file
    # (cmd/kube-proxy/app/server.go)
    program = [WINDOWS.program("kube-proxy"), "--windows-service", "--config", _CONFIG]
    overlay = role.spec.network.mode is NetworkMode.OVERLAY
    depends = ["kubelet", *(["flanneld"] if overlay else [])]
    return Phase(
        "proxy",
        Scope.NODE,
        (
            *_priority(role),
            step("file", "kube-proxy-config", path=_CONFIG, format="json", content=configuration(role)),
            *logged(role, "kube-proxy", program, _CONFIG, depends, demand=True),
        ),
    )


def _priority(role: Role) -> tuple[Step, ...]:
    """Return the step that gives kube-proxy the kubelet's priority, so that load does not starve it.

    kube-proxy has no flag for its priority (up to 1.37).
    """
    chosen = role.kubelet.priority_class
    if chosen is None:
        return ()
    key, number = rf"{_OPTIONS}\kube-proxy.exe\PerfOptions", _PRIORITIES[chosen]
    return (step("registry", "kube-proxy-priority", key=key, value="CpuPriorityClass", type="DWord", data=number),)
