"""Fields and feature gates of the configuration documents by minor, and the fields that node plans set."""

from components.releases import gate_tables, kubeadm_fields
from components.releases.kube_proxy_fields import KUBE_PROXY
from components.releases.kubelet_fields import KUBELET
from components.releases.spans import Spans, spans

FIELDS: dict[str, Spans] = {
    "kubelet": KUBELET,
    "kube-proxy": KUBE_PROXY,
    "ClusterConfiguration": kubeadm_fields.CLUSTER,
    "InitConfiguration": kubeadm_fields.INIT,
    "JoinConfiguration": kubeadm_fields.JOIN,
}
"""By document: fields, nested ones with dots, by type.

any: not checked; count: a whole number, 0 or more; object: has fields; texts: a list of texts.
"""

GATES: dict[str, Spans] = {
    "kubelet": gate_tables.KNOWN,
    "kube-proxy": gate_tables.KNOWN,
    "ClusterConfiguration": kubeadm_fields.GATES,
}
"""By document with a field featureGates: the gates of its program."""

LACKING: dict[str, Spans] = {"kube-proxy": gate_tables.KUBE_PROXY_LACKS}
"""By document: gates of GATES that its program does not have."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINERD = _names(
    """
    version root state temp debug disabled_plugins required_plugins plugins oom_score cgroup proxy_plugins timeouts
    imports stream_processors
    """
)

_MOVED = _names("grpc ttrpc metrics")
"""Tables that version 4 ignores: they are plugins there (io.containerd.server.v1.grpc and so on)."""

CONTAINERD_TABLES: dict[int, frozenset[str]] = {
    2: _CONTAINERD | _MOVED,
    3: _CONTAINERD | _MOVED,
    4: _CONTAINERD,
}
"""Top-level keys of config.toml by its version (cmd/containerd/server/config of containerd 2.2.1 and 2.3.4)."""

SET_BY_US: dict[str, Spans] = {
    "kubelet-linux": spans(
        """
-: clusterDNS clusterDomain evictionHard kubeReserved maxPods providerID resolvConf rotateCertificates
  serverTLSBootstrap systemReserved
-1.24: authentication authorization cgroupDriver staticPodPath
1.23-: registerWithTaints
1.27-: containerRuntimeEndpoint
"""
    ),
    "kubelet-windows": spans(
        """
-: authentication authorization cgroupsPerQOS clusterDNS clusterDomain enableDebuggingHandlers
  enforceNodeAllocatable evictionHard kubeReserved maxPods providerID rotateCertificates runtimeRequestTimeout
  serverTLSBootstrap systemReserved
-1.23: hairpinMode
1.23-: registerWithTaints resolvConf
1.27-: containerRuntimeEndpoint
"""
    ),
    "kube-proxy-linux": spans("-: clusterCIDR mode"),
    "kube-proxy-windows": spans(
        """
-: clientConnection clusterCIDR hostnameOverride mode winkernel
-1.32: featureGates
"""
    ),
    "ClusterConfiguration": spans(
        """
-: apiServer clusterName controlPlaneEndpoint controllerManager etcd kubernetesVersion networking scheduler
-1.21: imageRepository
1.21-1.21: dns
"""
    ),
    "InitConfiguration": spans("-: localAPIEndpoint nodeRegistration\n1.25-: patches"),
    "JoinConfiguration": spans("-: controlPlane discovery nodeRegistration\n1.25-: patches"),
    "containerd": spans("-: version plugins"),
}
"""Top-level fields that node plans set; a user's value replaces or extends them."""
