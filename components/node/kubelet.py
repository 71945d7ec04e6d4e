"""The kubelet's configuration and flags on both systems."""

from collections.abc import Iterator
from typing import Any

from components.catalogue import instance_sizes, node_reserves
from components.node import images, interruption, registries, runtime
from components.node.kinds import Step, ref, step
from components.node.layout import LAYOUTS, LINUX, WHOLE_KUBELET_CONFIG, WINDOWS
from components.node.merge import merge
from components.node.role import Role
from components.spec.defaults import HARD_EVICTION, windows_cpu_milli
from components.spec.models import CloudController, PriorityClass, Reserve

_AUTHENTICATION: dict[str, Any] = {"anonymous": {"enabled": False}, "webhook": {"enabled": True}}

_WINDOWS_ONLY: dict[str, Any] = {
    "authentication": _AUTHENTICATION | {"x509": {"clientCAFile": WINDOWS.ca}},
    "authorization": {"mode": "Webhook"},
    # RES-04: other values stop the kubelet up to 1.30 and log a warning from 1.31 on
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    # NET-12: Windows has no resolv.conf
    "resolvConf": "",
    "enableDebuggingHandlers": True,
    # pulls of Windows images take minutes
    "runtimeRequestTimeout": "10m",
}
"""Fields for Windows only: on Linux kubeadm sets them, or they are the kubelet's defaults."""

_LINUX_WHOLE: dict[str, Any] = {
    "authentication": _AUTHENTICATION | {"x509": {"clientCAFile": LINUX.ca}},
    "authorization": {"mode": "Webhook"},
    # must equal containerd's
    "cgroupDriver": "systemd",
    "staticPodPath": "/etc/kubernetes/manifests",
}
"""Fields that kubeadm writes; for minors whose kubeadm takes no patch, so that Mullion writes the whole file."""

_DOCKERSHIM: dict[str, Any] = {"hairpinMode": "promiscuous-bridge"}
"""Fields for dockershim (SRV-09)."""


def configuration(role: Role) -> dict[str, Any]:
    """Return the KubeletConfiguration with the user's fields merged over it.

    It is whole on Windows and where kubeadm takes no patch; elsewhere it is a patch of kubeadm's.
    """
    ours: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "clusterDNS": [str(role.spec.network.dns)],
        "clusterDomain": role.spec.network.domain,
        "containerRuntimeEndpoint": runtime.endpoint(role),
        "maxPods": role.max_pods,
        "providerID": ref("node.provider_id"),
        "registerWithTaints": ref("registration.taints"),
        "rotateCertificates": True,
        # without an approver the kubelet signs its own, as in kubeadm's clusters
        "serverTLSBootstrap": not role.joins,
        "systemReserved": system_reserved(role),
        "kubeReserved": kube_reserved(role),
        "evictionHard": eviction_hard(role),
        **interruption.shutdown(role),
    }
    if role.os.is_windows:
        ours |= _WINDOWS_ONLY | (_DOCKERSHIM if runtime.uses_dockershim(role) else {})
    else:
        # kubeadm before 1.37 writes the founder's file for all nodes, whose systems may differ
        ours["resolvConf"] = ref("node.resolv_conf")
        ours |= {} if role.release.kubelet_patch else _LINUX_WHOLE
    used = {key: value for key, value in ours.items() if value != {} and not _is_flag(key, role)}
    return merge(used, {key: value for key, value in role.kubelet.config.items() if not _is_flag(key, role)})


def system_reserved(role: Role) -> dict[str, str]:
    """Return systemReserved; its cpu on Windows defaults to the larger of 500m and a tenth of the vCPUs (RES-02)."""
    reserved = _quantities(role.kubelet.system_reserved)
    if role.os.is_windows and "cpu" not in reserved:
        size = instance_sizes.size(role.size)
        reserved["cpu"] = f"{windows_cpu_milli(size.vcpu if size else 0)}m"
    return reserved


def kube_reserved(role: Role) -> dict[str, str]:
    """Return kubeReserved: the default, overridden by the spec."""
    in_pool = not role.os.is_windows and not role.is_control_plane
    default = node_reserves.kube_reserved(instance_sizes.size(role.size), role.max_pods, linux_pool=in_pool)
    return {**default, **_quantities(role.kubelet.kube_reserved)}


def eviction_hard(role: Role) -> dict[str, str]:
    """Return evictionHard: the user's signals over the defaults, which the kubelet drops once one signal is written."""
    written = role.kubelet.eviction_hard
    return {**HARD_EVICTION[role.system], **written} if written else {}


def priority(chosen: PriorityClass | None) -> list[str]:
    """Return the kubelet's flag for its priority class on Windows, which has no configuration field (RES-03)."""
    return [] if chosen is None else [f"--windows-priorityclass={chosen.value}"]


def path(role: Role) -> str:
    """Return the path of the kubelet's configuration; on Linux it is kubeadm's file if kubeadm takes a patch."""
    whole = not role.os.is_windows and not role.release.kubelet_patch
    return WHOLE_KUBELET_CONFIG if whole else LAYOUTS[role.system].kubelet_config


def private_configuration(role: Role) -> tuple[Step, ...]:
    """Return the step that closes kubeadm's configuration file to others than root: kubeadm writes it with mode 0644.

    Required by CIS Kubernetes Benchmark 4.1.9. Empty if Mullion writes the whole file, which is private from the start.
    """
    patched = role.release.kubelet_patch
    return (step("access", "kubelet-config-access", path=path(role), access="private"),) if patched else ()


def flags(role: Role) -> list[Any]:
    """Return the flags for settings that have no configuration field in this minor."""
    layout = LAYOUTS[role.system]
    return [
        *("--config", path(role)),
        *("--kubeconfig", layout.kubelet_kubeconfig),
        *("--bootstrap-kubeconfig", layout.kubelet_bootstrap),
        *("--hostname-override", ref("machine.name")),
        # without it the kubelet may take the address of an HNS adapter after a reboot
        *("--node-ip", ref("node.address")),
        *("--node-labels", ref("registration.labels")),
        *cloud_provider(role),
        *registries.flags(role),
        *_old_flags(role),
        f"--v={role.kubelet.verbosity}",
    ]


def cloud_provider(role: Role) -> list[str]:
    """Return the flag with which a Node waits for the cloud controller: it registers with the taint
    node.cloudprovider.kubernetes.io/uninitialized (kubernetes, pkg/kubelet/kubelet_node_status.go).
    """
    return [] if role.spec.cloud_controller is CloudController.NONE else ["--cloud-provider=external"]


def _old_flags(role: Role) -> Iterator[Any]:
    if runtime.uses_dockershim(role):
        yield from runtime.dockershim_flags()
    elif role.release.dockershim:
        yield "--container-runtime=remote"
    if _is_flag("containerRuntimeEndpoint", role) and not runtime.uses_dockershim(role):
        theirs = role.kubelet.config.get("containerRuntimeEndpoint")
        yield from ("--container-runtime-endpoint", theirs or runtime.endpoint(role))
    if _is_flag("registerWithTaints", role):
        yield from ("--register-with-taints", ref("registration.taint_text"))
    if _is_flag("resolvConf", role):
        yield "--resolv-conf="
    if role.release.infra_image:
        yield f"--pod-infra-container-image={images.pause(role)}"


def _is_flag(field: str, role: Role) -> bool:
    """Return whether the minor takes the setting as a flag only; also true of dockershim's fixed endpoint."""
    if field == "containerRuntimeEndpoint" and runtime.uses_dockershim(role):
        return True
    # the field exists, but the kubelet replaces an empty string, which Windows needs, with its default
    return field in role.release.flagged and (field != "resolvConf" or role.os.is_windows)


def _quantities(reserve: Reserve) -> dict[str, str]:
    values = {"cpu": reserve.cpu, "memory": reserve.memory, "ephemeral-storage": reserve.ephemeral_storage}
    return {key: value for key, value in values.items() if value is not None}
