"""The kubelet: its configuration, the same for both systems where they share it, and its flags."""

from collections.abc import Iterator
from typing import Any

from components import releases
from components.catalogue import instance_sizes
from components.node import registries, runtime
from components.node.kinds import ref
from components.node.layout import LAYOUTS, LINUX, WHOLE_KUBELET_CONFIG, WINDOWS
from components.node.merge import merge
from components.node.role import Role
from components.spec.defaults import windows_cpu_milli
from components.spec.models import PriorityClass, Reserve

_AUTHENTICATION: dict[str, Any] = {"anonymous": {"enabled": False}, "webhook": {"enabled": True}}

_WINDOWS_ONLY: dict[str, Any] = {
    "authentication": _AUTHENTICATION | {"x509": {"clientCAFile": WINDOWS.ca}},
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

_LINUX_WHOLE: dict[str, Any] = {
    "authentication": _AUTHENTICATION | {"x509": {"clientCAFile": LINUX.ca}},
    "authorization": {"mode": "Webhook"},
    # as containerd's
    "cgroupDriver": "systemd",
    # the one below it names systemd-resolved itself, which would make CoreDNS ask itself
    "resolvConf": "/run/systemd/resolve/resolv.conf",
    "staticPodPath": "/etc/kubernetes/manifests",
}
"""What kubeadm writes into the kubelet's file, where it takes no patch of ours and so we write the whole file."""

_DOCKERSHIM: dict[str, Any] = {"hairpinMode": "promiscuous-bridge"}
"""SRV-09."""


def configuration(role: Role) -> dict[str, Any]:
    """KubeletConfiguration: whole on Windows and without kubeadm's patches, else what differs from kubeadm's.

    The user's is merged last.
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
        "serverTLSBootstrap": True,
        "systemReserved": system_reserved(role),
        "kubeReserved": _quantities(role.kubelet.kube_reserved),
        "evictionHard": role.kubelet.eviction_hard,
    }
    if role.os.is_windows:
        ours |= _WINDOWS_ONLY | (_DOCKERSHIM if runtime.uses_dockershim(role) else {})
    elif not role.release.kubelet_patch:
        ours |= _LINUX_WHOLE
    used = {key: value for key, value in ours.items() if value != {} and not _is_flag(key, role)}
    return merge(used, {key: value for key, value in role.kubelet.config.items() if not _is_flag(key, role)})


def system_reserved(role: Role) -> dict[str, str]:
    """RES-02: on Windows at least the larger of 500m and a tenth of the machine's vCPU, unless the user says."""
    reserved = _quantities(role.kubelet.system_reserved)
    if role.os.is_windows and "cpu" not in reserved:
        size = instance_sizes.size(role.size)
        reserved["cpu"] = f"{windows_cpu_milli(size.vcpu if size else 0)}m"
    return reserved


def priority(chosen: PriorityClass | None) -> list[str]:
    """RES-03: the flag of kubelet or kube-proxy on Windows; it has no field."""
    return [] if chosen is None else [f"--windows-priorityclass={chosen.value}"]


def path(role: Role) -> str:
    """Where the kubelet reads its configuration; kubeadm's own file where kubeadm merges ours into it."""
    whole = not role.os.is_windows and not role.release.kubelet_patch
    return WHOLE_KUBELET_CONFIG if whole else LAYOUTS[role.system].kubelet_config


def flags(role: Role) -> list[Any]:
    """What has no field in the configuration of this minor."""
    layout = LAYOUTS[role.system]
    return [
        *("--config", path(role)),
        *("--kubeconfig", layout.kubelet_kubeconfig),
        *("--bootstrap-kubeconfig", layout.kubelet_bootstrap),
        *("--hostname-override", ref("machine.name")),
        # else the kubelet may take the address of an HNS adapter after a reboot
        *("--node-ip", ref("node.address")),
        *("--node-labels", ref("registration.labels")),
        *registries.flags(role),
        *_old_flags(role),
        f"--v={role.kubelet.verbosity}",
    ]


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
        yield f"--pod-infra-container-image={releases.pause_image(role.spec.kubernetes, role.os)}"


def _is_flag(field: str, role: Role) -> bool:
    """Whether the minor takes the setting on its command line only; dockershim has no endpoint at all."""
    if field == "containerRuntimeEndpoint" and runtime.uses_dockershim(role):
        return True
    # the field is there, but takes an empty text, which Windows needs, for its default
    return field in role.release.flagged and (field != "resolvConf" or role.os.is_windows)


def _quantities(reserve: Reserve) -> dict[str, str]:
    values = {"cpu": reserve.cpu, "memory": reserve.memory, "ephemeral-storage": reserve.ephemeral_storage}
    return {key: value for key, value in values.items() if value is not None}
