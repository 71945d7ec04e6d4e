"""Values in users' configuration that break a node or make it insecure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from components import releases
from components.checks.check import Finding, Path, Rule, Subject, at, error, warning
from components.checks.user_config import containerds, everywhere, walk
from components.checks.versions import supported
from components.node import etcd
from components.spec.wording import shown


def _pause(below: Path, value: Any) -> bool:
    place = below[-1:] == ("sandbox_image",) or below[-2:] == ("pinned_images", "sandbox")
    if not place or not isinstance(value, str):
        return False
    name, _, tag = value.rpartition("/")[2].partition(":")
    untagged = not tag and "@sha256:" not in value
    return untagged or tag == "latest" or "kubeletwin/" in value or not name


def _windows_only(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        for name, value in group.options.kubelet.config.items():
            if group.os.is_windows and name in FATAL_ON_WINDOWS and FATAL_ON_WINDOWS[name](value):
                yield at(*group.path, "kubelet", "config", name, name=name, value=shown(value))


FATAL_ON_WINDOWS: dict[str, Callable[[Any], bool]] = {
    "cgroupsPerQOS": bool,
    "enforceNodeAllocatable": bool,
    "resolvConf": bool,
    "singleProcessOOMKill": lambda value: value is not None,
    "userNamespaces": lambda value: value is not None,
    "defaultPodSysctls": lambda value: value is not None,
}
"""Fields with values that stop the kubelet on Windows (RES-04, and k8s.io/kubernetes
pkg/kubelet/apis/config/validation/validation_windows.go)."""


IMAGE_GC = {"imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80}
"""Defaults, in percent (KubeletConfiguration). The kubelet stops if high is not above low, or is above 100."""


def _image_gc(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        written = {name: group.options.kubelet.config.get(name) for name in IMAGE_GC}
        high, low = (default if written[name] is None else written[name] for name, default in IMAGE_GC.items())
        wrong = isinstance(high, int) and isinstance(low, int) and not low < high <= 100
        if wrong and any(each is not None for each in written.values()):
            name = next(name for name, value in written.items() if value is not None)
            yield at(*group.path, "kubelet", "config", name, high=high, low=low)


def _insecure(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for below, value in walk(group.options.kubelet.config):
            if any(below == path and wrong(value) for path, wrong in INSECURE):
                yield at(*group.path, "kubelet", "config", *below, name=".".join(below), value=shown(value))


INSECURE: tuple[tuple[Path, Callable[[Any], bool]], ...] = (
    (("tlsMinVersion",), lambda value: value in ("VersionTLS10", "VersionTLS11")),
    (("rotateCertificates",), lambda value: value is False),
    (("serverTLSBootstrap",), lambda value: value is False),
)
"""Fields and insecure values (CIS Kubernetes Benchmark, section 4.2, kubelet)."""


def _proxy_mode(windows: bool) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for group in subject.groups:
            mode = group.options.kube_proxy.config.get("mode")
            if mode is not None and group.os.is_windows == windows and (mode == "kernelspace") != windows:
                yield at(*group.path, "kube_proxy", "config", "mode", value=shown(mode))

    return rule


def _unused_proxy(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.options.kube_proxy.config and not group.os.is_windows:
            yield at(*group.path, "kube_proxy", "config")


def _containerd_version(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups if supported(subject) else ():
        line = releases.containerd_of(subject.minor, group.options.containerd.version)
        written = group.options.containerd.config.get("version")
        if written is not None and written != line.config_version:
            path = (*group.path, "containerd", "config", "version")
            yield at(*path, value=shown(written), ours=line.config_version, containerd=line.version)


def _data_folder(subject: Subject) -> Iterator[Finding]:
    for below, value in walk(subject.spec.kubeadm.config.get("ClusterConfiguration", {})):
        if below == ("etcd", "local", "dataDir") and value not in (None, "", etcd.DATA):
            yield at("kubeadm", "config", "ClusterConfiguration", *below, value=shown(value), ours=etcd.DATA)


def _rootless(subject: Subject) -> Iterator[Finding]:
    for below, value in walk(subject.spec.kubeadm.config.get("ClusterConfiguration", {})):
        if below == ("featureGates", "RootlessControlPlane") and value is True:
            yield at("kubeadm", "config", "ClusterConfiguration", *below)


def _patches(subject: Subject) -> Iterator[Finding]:
    ours = supported(subject) and releases.release(subject.spec.kubernetes).kubelet_patch
    for kind in ("InitConfiguration", "JoinConfiguration") if ours else ():
        fields = subject.spec.kubeadm.config.get(kind, {})
        value = fields.get("patches", {})
        if not isinstance(value, Mapping):
            yield at("kubeadm", "config", kind, "patches")
        elif "directory" in value:
            yield at("kubeadm", "config", kind, "patches", "directory")


_CONTAINERD = "<machines>.containerd.config"
_KUBELET = "<machines>.kubelet.config <machines>.os"

CHECKS = (
    error(
        "kubelet-config-fatal-on-windows",
        _KUBELET,
        _windows_only,
        "the kubelet does not start on Windows with {name}: {value}",
        "remove it",
        "RES-04",
    ),
    error(
        "kubelet-image-gc",
        _KUBELET,
        _image_gc,
        "the kubelet does not start with image garbage collection from {high} % down to {low} % of the disk",
        "write at most 100 for imageGCHighThresholdPercent, and less for imageGCLowThresholdPercent",
        "SRV-13",
    ),
    warning(
        "kubelet-config-insecure",
        _KUBELET,
        _insecure,
        "{name}: {value} weakens the kubelet's certificates",
        "remove it",
    ),
    error(
        "kube-proxy-mode-on-windows",
        "<machines>.kube_proxy.config <machines>.os",
        _proxy_mode(windows=True),
        "kube-proxy on Windows runs only in kernelspace mode, not in {value}",
        "remove mode",
        "SRV-10",
    ),
    error(
        "kube-proxy-mode-on-linux",
        "<machines>.kube_proxy.config <machines>.os",
        _proxy_mode(windows=False),
        "{value} is a mode of kube-proxy on Windows",
        "write iptables, ipvs or nftables, or remove mode",
        "SRV-10",
    ),
    error(
        "kube-proxy-of-linux-pool",
        "pools.<pool>.kube_proxy.config pools.<pool>.os",
        _unused_proxy,
        "one kube-proxy DaemonSet serves all Linux machines, so a pool's configuration has no effect",
        "move it to control_plane.kube_proxy.config",
    ),
    error(
        "containerd-config-version",
        "<machines>.containerd.config kubernetes",
        _containerd_version,
        "config.toml has version {value}, but containerd {containerd} of these machines reads version {ours}",
        "remove version",
        "RUN-06",
    ),
    error(
        "pause-image",
        _CONTAINERD,
        everywhere(_pause, containerds),
        "{value} does not name a fixed pause image",
        "write a tag other than latest, or a digest, and no image of kubeletwin/; or remove it to get the release's"
        " image",
        "RUN-08",
    ),
    error(
        "etcd-data-folder",
        "kubeadm.config",
        _data_folder,
        "etcd would keep its data in {value}, but snapshots are made and restored in {ours}",
        "remove dataDir; mount a disk at {ours}",
    ),
    error(
        "rootless-control-plane",
        "kubeadm.config",
        _rootless,
        "the control plane would not start: its programs could not read files that only root may read, such as the"
        " encryption keys and etcd's data",
        "remove RootlessControlPlane",
    ),
    error(
        "kubeadm-patches-folder",
        "kubeadm.config kubernetes",
        _patches,
        "kubeadm reads one folder of patches, and would leave out Mullion's: the kubelet's configuration of each Linux"
        " machine, and the digests of pinned images",
        "remove patches: write fields of the kubelet in kubelet.config, arguments of the control plane in extraArgs of"
        " kubeadm.config.ClusterConfiguration, and digests of images in artifacts.images",
    ),
)
