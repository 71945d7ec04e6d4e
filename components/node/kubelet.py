"""The kubelet: its configuration, the same for both systems where they share it, and its flags."""

from typing import Any

from components import sizes
from components.merge import merge
from components.node.kinds import ref
from components.node.layout import LAYOUTS, WINDOWS
from components.node.role import Role
from components.spec.defaults import windows_cpu_milli
from components.spec.models import Reserve

_WINDOWS_ONLY: dict[str, Any] = {
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": WINDOWS.ca},
    },
    "authorization": {"mode": "Webhook"},
    # RES-04: other values end the kubelet up to 1.30 and warn from 1.31
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    # NET-12: there is no resolv.conf to map
    "resolvConf": "",
    "enableDebuggingHandlers": True,
    # pulls of Windows images take minutes
    "runtimeRequestTimeout": "10m",
}
"""On Linux kubeadm sets these itself, or they are the kubelet's defaults."""


def configuration(role: Role) -> dict[str, Any]:
    """KubeletConfiguration: whole on Windows, on Linux what differs from kubeadm's; the user's merged last."""
    ours: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "clusterDNS": [str(role.spec.network.dns)],
        "clusterDomain": role.spec.network.domain,
        "containerRuntimeEndpoint": LAYOUTS[role.system].containerd_socket,
        "maxPods": role.max_pods,
        "providerID": ref("node.provider_id"),
        "registerWithTaints": ref("registration.taints"),
        "rotateCertificates": True,
        "serverTLSBootstrap": True,
        "systemReserved": system_reserved(role),
        "kubeReserved": _quantities(role.kubelet.kube_reserved),
        "evictionHard": role.kubelet.eviction_hard,
    }
    if role.os.is_windows:
        ours |= _WINDOWS_ONLY
    used = {key: value for key, value in ours.items() if value != {}}
    return merge(used, role.kubelet.config)


def system_reserved(role: Role) -> dict[str, str]:
    """RES-02: on Windows at least the larger of 500m and a tenth of the machine's vCPU, unless the user says."""
    reserved = _quantities(role.kubelet.system_reserved)
    if role.os.is_windows and "cpu" not in reserved:
        size = sizes.size(role.size)
        reserved["cpu"] = f"{windows_cpu_milli(size.vcpu if size else 0)}m"
    return reserved


def flags(role: Role) -> list[Any]:
    """What has no field in the configuration."""
    layout = LAYOUTS[role.system]
    return [
        *("--config", layout.kubelet_config),
        *("--kubeconfig", layout.kubelet_kubeconfig),
        *("--bootstrap-kubeconfig", layout.kubelet_bootstrap),
        *("--hostname-override", ref("machine.name")),
        # else the kubelet may take the address of an HNS adapter after a reboot
        *("--node-ip", ref("node.address")),
        *("--node-labels", ref("registration.labels")),
        f"--v={role.kubelet.verbosity}",
    ]


def _quantities(reserve: Reserve) -> dict[str, str]:
    values = {"cpu": reserve.cpu, "memory": reserve.memory, "ephemeral-storage": reserve.ephemeral_storage}
    return {key: value for key, value in values.items() if value is not None}
