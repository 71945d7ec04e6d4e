"""kubeadm's configuration documents in the API version of the minor, and the steps that run kubeadm."""

from collections.abc import Mapping
from typing import Any

from components import releases
from components.node import api_server, authorities, egress, etcd, images, kubelet, proxy, registries, retries
from components.node.endpoint import kubeconfig
from components.node.kinds import Step, ref, step
from components.node.layout import KUBEADM_FOLDER, KUBEADM_PATCHES, LINUX, LINUX_NODE_CERTIFICATE, PKI
from components.node.merge import merge
from components.node.role import Role
from components.spec.models import NetworkMode
from components.topology.firewall import API_PORT

APPROVER = "csrapproving"
"""Controller that approves kubelets' certificate requests by name alone (kube-controller-manager --controllers)."""

_DISCOVERY = f"{KUBEADM_FOLDER}/discovery.conf"

_PROGRAM = LINUX.program("kubeadm")
_KUBELET_PATCH = "kubeletconfiguration+merge.json"

INIT_CONFIG = f"{KUBEADM_FOLDER}/init.yaml"

_LOCAL_ENDPOINT = {"advertiseAddress": ref("machine.address"), "bindPort": API_PORT}

_CONTROLLER_MANAGER = {
    # kubeadm's value, without the approver: the agent alone approves kubelets' certificate requests
    "controllers": f"*,bootstrapsigner,tokencleaner,-{APPROVER}",
    # certificates cannot be revoked, so a stolen one ends within a day; default a year (kubernetes 1.19 on)
    "cluster-signing-duration": "24h0m0s",
    "profiling": "false",
}

SECRET_FILES: dict[str, str] = {
    file: f"{PKI}/{file}"
    for file in (
        "ca.crt",
        "ca.key",
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "etcd/ca.crt",
        "etcd/ca.key",
    )
}
"""Members of the PKI secret and the files where kubeadm reads them; kubeadm creates all other certificates."""

SIGNING_KEY, VERIFYING_KEYS = f"{PKI}/sa.key", f"{PKI}/sa.pub"
"""Files of the keys that sign and verify service-account tokens."""


def cluster_configuration(role: Role) -> dict[str, Any]:
    """Return the ClusterConfiguration with the user's fields merged over it."""
    network = role.spec.network
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
            # not the public balancer's name: machines that were built before it do not know it, and every kubeconfig
            # names the endpoint in tls-server-name
            "certSANs": [ref("facts.api_host")],
            "extraArgs": _arguments(role, api_server.flags(role)),
            "extraVolumes": [_volume(*each) for each in api_server.volumes(role)],
        },
        "controllerManager": {"extraArgs": _arguments(role, _controller_manager(role))},
        "scheduler": {"extraArgs": _arguments(role, {"profiling": "false"})},
        "etcd": {"local": {"extraArgs": _arguments(role, etcd.ARGUMENTS), **etcd.image(role)}},
    }
    if role.release.registry is not None:
        ours["imageRepository"] = role.release.registry
    if role.release.coredns_registry is not None:
        ours["dns"] = {"imageRepository": role.release.coredns_registry}
    return merge(ours, role.spec.kubeadm.config.get("ClusterConfiguration", {}))


def init_documents(role: Role) -> list[dict[str, Any]]:
    """Return the documents that `kubeadm init` reads."""
    init: dict[str, Any] = {
        "apiVersion": role.release.kubeadm_api,
        "kind": "InitConfiguration",
        "localAPIEndpoint": _LOCAL_ENDPOINT,
        "nodeRegistration": _registration(role),
        **_patches(role, patches_folder(role)),
    }
    init = merge(init, role.spec.kubeadm.config.get("InitConfiguration", {}))
    return [init, cluster_configuration(role), proxy.configuration(role)]


def join_configuration(role: Role, patches: str | None = None) -> dict[str, Any]:
    """Return the JoinConfiguration with the user's fields merged over it.

    patches: folder of kubeadm's patches; None: the plan's own.
    The document contains the bootstrap token, so it is never written to disk.
    """
    ours: dict[str, Any] = {
        "apiVersion": role.release.kubeadm_api,
        "kind": "JoinConfiguration",
        # a kubeconfig, because the CA is known; token discovery needs host:port and trusts the CA that it finds there
        "discovery": {
            "file": {"kubeConfigPath": _DISCOVERY},
            "tlsBootstrapToken": ref("node.bootstrap_token"),
        },
        "nodeRegistration": _registration(role),
        **_patches(role, patches or patches_folder(role)),
    }
    if role.is_control_plane:
        ours["controlPlane"] = {"localAPIEndpoint": _LOCAL_ENDPOINT}
    return merge(ours, role.spec.kubeadm.config.get("JoinConfiguration", {}))


def image_patches(role: Role) -> dict[str, dict[str, Any]]:
    """Return the patches that give kubeadm's pods images by digest, by target; empty on workers."""
    return images.patches(role, cluster_configuration(role))


def patches_folder(role: Role) -> str:
    """Return the folder of the patches that kubeadm applies."""
    return images.folder(image_patches(role))


def preparation(role: Role) -> tuple[Step, ...]:
    """Return the steps that write the cluster's CA, a kubeconfig for discovery, and the kubelet's configuration.

    The configuration is a patch for kubeadm, or a whole file for minors whose kubeadm takes no patch.
    """
    folder = patches_folder(role)
    return (
        step("directory", "kubeadm-patches", path=folder if role.release.kubelet_patch else KUBEADM_FOLDER),
        authorities.ca_file(role),
        step("file", "discovery", path=_DISCOVERY, format="json", content=kubeconfig(LINUX.ca, {})),
        *registries.identity(role),
        *_kubelet_configuration(role, folder),
        *images.steps(image_patches(role)),
    )


def _kubelet_configuration(role: Role, folder: str) -> tuple[Step, ...]:
    content: dict[str, Any] = {"format": "json", "content": kubelet.configuration(role)}
    if not role.release.kubelet_patch:
        return (step("file", "kubelet-config", path=kubelet.path(role), access="private", **content),)
    patch = step("file", "kubelet-patch", path=f"{folder}/{_KUBELET_PATCH}", **content)
    if folder == KUBEADM_PATCHES:
        return (patch,)
    return (
        patch,
        step("directory", "older-patches", path=KUBEADM_PATCHES),
        step("file", "older-kubelet-patch", path=f"{KUBEADM_PATCHES}/{_KUBELET_PATCH}", **content),
    )


def service(role: Role) -> Step:
    """Return the kubelet's service, which kubeadm starts; its flags are those of Windows too, not kubeadm-flags.env."""
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


def rejoin(joined: str) -> Step:
    """Return the step with which a machine joins again if its certificate ended while it was powered off.

    joined: file that exists once kubeadm has made the first certificate.
    """
    return step(
        "kubelet-bootstrap",
        "rejoin",
        path=LINUX.kubelet_bootstrap,
        kubeconfig=kubeconfig(LINUX.ca, {}),
        secret=ref("facts.join_secret"),
        certificate=LINUX_NODE_CERTIFICATE,
        node=ref("machine.name"),
        requires=joined,
    )


def init(snapshot: str, **conditions: Any) -> Step:
    """Return the step that runs `kubeadm init` without printing the token.

    snapshot: file with the key of the snapshot that etcd started from, or without text.
    """
    argv = [_PROGRAM, "init", "--config", INIT_CONFIG, "--skip-token-print"]
    # a restored cluster starts with data in /var/lib/etcd; on other new machines the folder is empty
    argv += ["--ignore-preflight-errors", "DirAvailable--var-lib-etcd"]
    again = retries.of_control_plane()
    crictl = [LINUX.program("crictl"), "--runtime-endpoint", LINUX.containerd_socket]
    again |= {"data": f"{etcd.DATA}/member", "ends": [*crictl, "rmp", "--all", "--force"], "snapshot": snapshot}
    return step("kubeadm", "kubeadm-init", argv=argv, **again, **conditions)


def join(role: Role, **conditions: Any) -> Step:
    """Return the step that runs `kubeadm join` with its configuration on standard input."""
    argv = [_PROGRAM, "join", "--config", "/dev/stdin"]
    folder = patches_folder(role)
    document, older = join_configuration(role), {}
    if folder != KUBEADM_PATCHES:
        # kubeadm starts the cluster's version, so patches would mix in images of the plan's; the agent's upgrade of
        # this machine, which follows, applies them
        older = {"older_input": join_configuration(role, KUBEADM_PATCHES), "version": role.spec.kubernetes}
        older |= {"url": ref("facts.api_url"), "ca": LINUX.ca}
    again = retries.of_control_plane() if role.is_control_plane else retries.of_worker()
    # the API accepts connections a moment before the founder stores the token, and kubeadm refuses a Node object of an
    # earlier try while it is Ready (40 s)
    return step("kubeadm", "kubeadm-join", argv=argv, input=document, retries=20, **older, **again, **conditions)


def _controller_manager(role: Role) -> dict[str, str]:
    return {**_pod_ranges(role), **_CONTROLLER_MANAGER, **authorities.signing(role)}


def _pod_ranges(role: Role) -> dict[str, str]:
    """Return the controller manager's flags for a /24 for each node (IPP-02).

    With l2bridge the ranges are planned and the agent sets spec.podCIDR.
    """
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


def _patches(role: Role, folder: str) -> dict[str, Any]:
    return {"patches": {"directory": folder}} if role.release.kubelet_patch else {}


def _arguments(role: Role, values: Mapping[str, Any]) -> Any:
    # a map up to v1beta3, a list from v1beta4 on, which alone can have a flag several times
    if releases.fields("ClusterConfiguration", role.spec.kubernetes)["apiServer.extraArgs"] == "text-map":
        return values
    several: dict[str, list[Any]] = {
        name: [*each] if isinstance(each, list) else [each] for name, each in values.items()
    }
    return [{"name": name, "value": value} for name, given in several.items() for value in given]


def _volume(name: str, path: str, read_only: bool) -> dict[str, Any]:
    return {
        "name": name,
        "hostPath": path,
        "mountPath": path,
        "readOnly": read_only,
        "pathType": "DirectoryOrCreate",
    }
