"""kubeadm's documents, in the API version of the minor, and the steps that run it."""

from typing import Any

from components import releases
from components.node import egress, kubelet, proxy
from components.node.endpoint import authority, kubeconfig
from components.node.kinds import Step, ref, step
from components.node.layout import KUBEADM_FOLDER, KUBEADM_PATCHES, LINUX, PKI
from components.node.merge import merge
from components.node.role import Role
from components.spec.models import ApiAccess, NetworkMode
from components.topology.firewall import API_PORT

ENCRYPTION = "/etc/kubernetes/encryption/configuration.json"
AUDIT_POLICY = "/etc/kubernetes/audit/policy.json"
AUDIT_LOGS = "/var/log/kubernetes/audit"

_DISCOVERY = f"{KUBEADM_FOLDER}/discovery.conf"

_PROGRAM = LINUX.program("kubeadm")

INIT_CONFIG = f"{KUBEADM_FOLDER}/init.yaml"

_LOCAL_ENDPOINT = {"advertiseAddress": ref("machine.address"), "bindPort": API_PORT}

_API_SERVER = {
    "audit-log-maxage": "30",
    "audit-log-maxbackup": "10",
    "audit-log-maxsize": "100",
    "audit-log-path": f"{AUDIT_LOGS}/audit.log",
    "audit-policy-file": AUDIT_POLICY,
    "encryption-provider-config": ENCRYPTION,
    "profiling": "false",
}

_VOLUMES = (
    ("encryption", ENCRYPTION.rpartition("/")[0], True),
    ("audit-policy", AUDIT_POLICY.rpartition("/")[0], True),
    ("audit-logs", AUDIT_LOGS, False),
)
"""Name, path on host and in the pod, read only."""

SECRET_FILES: dict[str, str] = {
    each: f"{PKI}/{each}"
    for each in (
        "ca.crt",
        "ca.key",
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "etcd/ca.crt",
        "etcd/ca.key",
    )
}
"""Members of the PKI secret and the files kubeadm finds them in; it makes every other certificate itself."""

SIGNING_KEY, VERIFYING_KEYS = f"{PKI}/sa.key", f"{PKI}/sa.pub"
"""Of service-account tokens."""


_OF_KUBELET = (
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/var/lib/kubelet/pki",
)

_OF_WORKER = (*_OF_KUBELET, f"{PKI}/ca.crt")
"""What `kubeadm join` makes on a worker; it refuses to begin where it finds one of them."""

CERTIFICATES = (
    *("apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client"),
    *("etcd/server", "etcd/peer", "etcd/healthcheck-client"),
)

_OF_CONTROL_PLANE = (
    *_OF_KUBELET,
    *(f"/etc/kubernetes/{each}.conf" for each in ("admin", "super-admin", "controller-manager", "scheduler")),
    "/etc/kubernetes/manifests",
    *(f"{PKI}/{name}.{ending}" for name in CERTIFICATES for ending in ("crt", "key")),
)
"""What kubeadm makes on a control plane from the authorities and keys it is given, so what it makes again.

Never /var/lib/etcd: a member that was added keeps its memory of that.
"""

_BUSY = ("Port-10250",)

_CONTROL_PLANE_BUSY = (
    *("DirAvailable--var-lib-etcd", "Port-2379", "Port-2380", "Port-6443"),
    *("Port-10250", "Port-10257", "Port-10259"),
)
"""Preflight checks that what an earlier try left fails: its containers run on until the kubelet starts again."""


def cluster_configuration(role: Role) -> dict[str, Any]:
    """ClusterConfiguration, the user's merged last."""
    network = role.spec.network
    names = [ref("facts.api_host")]
    if role.spec.api.access is ApiAccess.PUBLIC:
        names.append(ref("facts.api_public_host"))
    ours: dict[str, Any] = {
        "apiVersion": role.release.kubeadm_api,
        "kind": "ClusterConfiguration",
        "clusterName": role.cluster,
        "kubernetesVersion": f"v{role.spec.kubernetes}",
        "controlPlaneEndpoint": ref("facts.api_host"),
        "networking": {
            "podSubnet": str(network.pods),
            "serviceSubnet": str(network.services),
            "dnsDomain": network.domain,
        },
        "apiServer": {
            "certSANs": names,
            "extraArgs": _arguments(role, _API_SERVER),
            "extraVolumes": [_volume(*each) for each in _VOLUMES],
        },
        "controllerManager": {"extraArgs": _arguments(role, {**_pod_ranges(role), "profiling": "false"})},
        "scheduler": {"extraArgs": _arguments(role, {"profiling": "false"})},
    }
    if role.release.registry is not None:
        ours["imageRepository"] = role.release.registry
    if role.release.coredns_registry is not None:
        ours["dns"] = {"imageRepository": role.release.coredns_registry}
    return merge(ours, role.spec.kubeadm.config.get("ClusterConfiguration", {}))


def init_documents(role: Role) -> list[dict[str, Any]]:
    """What `kubeadm init` reads."""
    init: dict[str, Any] = {
        "apiVersion": role.release.kubeadm_api,
        "kind": "InitConfiguration",
        "localAPIEndpoint": _LOCAL_ENDPOINT,
        "nodeRegistration": _registration(role),
        **_patches(role),
    }
    init = merge(init, role.spec.kubeadm.config.get("InitConfiguration", {}))
    return [init, cluster_configuration(role), proxy.configuration(role)]


def join_configuration(role: Role) -> dict[str, Any]:
    """JoinConfiguration, the user's merged last. It holds the token, so it is never written to a disk."""
    ours: dict[str, Any] = {
        "apiVersion": role.release.kubeadm_api,
        "kind": "JoinConfiguration",
        # a kubeconfig, not a token: token discovery wants host:port and trusts what it finds; the CA is known here
        "discovery": {
            "file": {"kubeConfigPath": _DISCOVERY},
            "tlsBootstrapToken": ref("node.bootstrap_token"),
        },
        "nodeRegistration": _registration(role),
        **_patches(role),
    }
    if role.is_control_plane:
        ours["controlPlane"] = {"localAPIEndpoint": _LOCAL_ENDPOINT}
    return merge(ours, role.spec.kubeadm.config.get("JoinConfiguration", {}))


def preparation(role: Role) -> tuple[Step, ...]:
    """The cluster's CA, how to find the API, and our kubelet configuration as a patch."""
    patched = role.release.kubelet_patch
    path = f"{KUBEADM_PATCHES}/kubeletconfiguration+merge.json" if patched else kubelet.path(role)
    return (
        step("directory", "kubeadm-patches", path=KUBEADM_PATCHES if patched else KUBEADM_FOLDER),
        authority(LINUX.ca),
        step("file", "discovery", path=_DISCOVERY, format="json", content=kubeconfig(LINUX.ca, {})),
        step(
            "file",
            "kubelet-patch" if patched else "kubelet-config",
            path=path,
            format="json",
            content=kubelet.configuration(role),
        ),
    )


def service(role: Role) -> Step:
    """The kubelet's service: with our own flags, not kubeadm-flags.env, the same on both systems; kubeadm starts it."""
    program = LINUX.program("kubelet")
    return step(
        "service",
        "kubelet",
        service="kubelet",
        command=[program, *kubelet.flags(role)],
        depends=["containerd"],
        start="boot",
        restart_seconds=10,
        restarts_on=[program],
        **egress.variables(role),
    )


def init(snapshot: str, **conditions: Any) -> Step:
    """Runs `kubeadm init`; without printing the token it makes. snapshot: file with the key of what it began with."""
    argv = [_PROGRAM, "init", "--config", INIT_CONFIG, "--skip-token-print"]
    # a restored cluster begins with data; on any other fresh machine there are none
    argv += ["--ignore-preflight-errors", "DirAvailable--var-lib-etcd"]
    again = _again(_OF_CONTROL_PLANE, _CONTROL_PLANE_BUSY)
    crictl = [LINUX.program("crictl"), "--runtime-endpoint", LINUX.containerd_socket]
    again |= {"data": "/var/lib/etcd/member", "ends": [*crictl, "rmp", "--all", "--force"], "snapshot": snapshot}
    return step("kubeadm", "kubeadm-init", argv=argv, **again, **conditions)


def join(role: Role, **conditions: Any) -> Step:
    """Runs `kubeadm join`, its configuration on standard input."""
    argv = [_PROGRAM, "join", "--config", "/dev/stdin"]
    document = join_configuration(role)
    made = _again(_OF_CONTROL_PLANE, _CONTROL_PLANE_BUSY) if role.is_control_plane else _again(_OF_WORKER, _BUSY)
    # the API answers a moment before the founder has stored the token; a Node that was made stays Ready for 40 s
    return step("kubeadm", "kubeadm-join", argv=argv, input=document, retries=20, **made, **conditions)


def _again(made: tuple[str, ...], busy: tuple[str, ...]) -> dict[str, Any]:
    """How a try goes on where an earlier one was cut or failed."""
    return {"clears": list(made), "again": ["--ignore-preflight-errors", ",".join(busy)]}


def _pod_ranges(role: Role) -> dict[str, str]:
    """IPP-02: a /24 for each node; where the cloud routes them they are planned, and the agent sets spec.podCIDR."""
    if role.spec.network.mode is NetworkMode.L2BRIDGE:
        return {"allocate-node-cidrs": "false"}
    return {"node-cidr-mask-size": "24"}


def _registration(role: Role) -> dict[str, Any]:
    ignored = [*role.release.ignore_preflight, *role.spec.kubeadm.ignore_preflight]
    return {
        "name": ref("machine.name"),
        "criSocket": LINUX.containerd_socket,
        "taints": ref("registration.taints"),
        "ignorePreflightErrors": ignored,
    }


def _patches(role: Role) -> dict[str, Any]:
    return {"patches": {"directory": KUBEADM_PATCHES}} if role.release.kubelet_patch else {}


def _arguments(role: Role, values: dict[str, str]) -> Any:
    # a map up to v1beta3, from v1beta4 on a list
    if releases.fields("ClusterConfiguration", role.spec.kubernetes)["apiServer.extraArgs"] == "text-map":
        return values
    return [{"name": name, "value": value} for name, value in values.items()]


def _volume(name: str, path: str, read_only: bool) -> dict[str, Any]:
    return {
        "name": name,
        "hostPath": path,
        "mountPath": path,
        "readOnly": read_only,
        "pathType": "DirectoryOrCreate",
    }
