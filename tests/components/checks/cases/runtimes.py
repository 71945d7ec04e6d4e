"""Container runtimes, control groups and feature gates, against what the Kubernetes version takes."""

from tests.components.spec.documents import Case, Change, both, kubelet, plane, web


def _at(version: str, *changes: Change) -> dict[str, object]:
    return dict(both({"kubernetes": version}, *changes))


def _docker(**pool: object) -> dict[str, object]:
    return dict(web(runtime="docker", **pool))


def _containerd(version: str | None) -> dict[str, object]:
    return dict(web(containerd={"version": version}))


def _kubeadm_gate(name: str, value: object = True) -> dict[str, object]:
    return {"kubeadm": {"config": {"ClusterConfiguration": {"featureGates": {name: value}}}}}


def _etcd_data(folder: str) -> dict[str, object]:
    return {"kubeadm": {"config": {"ClusterConfiguration": {"etcd": {"local": {"dataDir": folder}}}}}}


def _patches(kind: str, value: object) -> Change:
    return {"kubeadm": {"config": {kind: {"patches": value}}}}


def _api_arguments(written: object) -> Change:
    return {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": written}}}}}


def _controller_arguments(written: object) -> Change:
    return {"kubeadm": {"config": {"ClusterConfiguration": {"controllerManager": {"extraArgs": written}}}}}


def _proxy_gate(name: str, value: object = True) -> dict[str, object]:
    return dict(web(kube_proxy={"config": {"featureGates": {name: value}}}))


def _gate(name: str, value: object = True) -> dict[str, object]:
    return dict(kubelet(config={"featureGates": {name: value}}))


CASES = (
    Case(
        "docker-on-linux",
        {"pools": {"linux": {"os": "ubuntu-22.04", "runtime": "docker"}}},
        "pools.linux.runtime",
        _docker(),
    ),
    Case(
        "pre-pull-on-linux",
        {"pools": {"linux": {"os": "ubuntu-22.04", "pre_pull": ["example.com/app:1"]}}},
        "pools.linux.pre_pull",
        web(pre_pull=["example.com/app:1"]),
    ),
    Case(
        "pre-pull-twice",
        web(pre_pull=["example.com/app:1", "example.com/app:2", "example.com/app:1"]),
        "pools.web.pre_pull.2",
        web(pre_pull=["example.com/app:1", "example.com/app:2"]),
    ),
    Case("docker-runtime", _docker(), "pools.web.runtime", web(runtime="containerd")),
    Case("docker-runtime", _at("1.23.17", _docker()), "pools.web.runtime", _at("1.23.17")),
    Case(
        "containerd-of-docker-pool",
        _docker(containerd={"config": {"oom_score": 1}}),
        "pools.web.containerd.config",
        web(containerd={"config": {"oom_score": 1}}),
    ),
    Case(
        "runtimes-of-one-build",
        {"pools": {"old": {"os": "windows-2022", "runtime": "docker"}, "web": {"os": "windows-2022"}}},
        "pools.old.runtime",
        {"pools": {"old": {"os": "windows-2019", "runtime": "docker"}, "web": {"os": "windows-2022"}}},
    ),
    Case("containerd-version", _containerd("2.1.99"), "pools.web.containerd.version", _containerd("2.1.4")),
    Case("containerd-version", _containerd("9.0.0"), "pools.web.containerd.version", _containerd(None)),
    # a patch that is published for Linux alone
    Case(
        "containerd-version",
        _at("1.35.4", _containerd("2.1.9")),
        "pools.web.containerd.version",
        _at("1.35.4", plane(containerd={"version": "2.1.9"})),
    ),
    # RUN-01, at each border of containerd's own table
    Case(
        "containerd-support",
        _at("1.36.4", _containerd("1.7.25")),
        "pools.web.containerd.version",
        _at("1.33.10", _containerd("1.7.25")),
    ),
    Case(
        "containerd-support",
        _at("1.29.15", _containerd("2.0.5")),
        "pools.web.containerd.version",
        _at("1.30.14", _containerd("2.0.5")),
    ),
    Case(
        "containerd-support",
        _at("1.34.11", plane(containerd={"version": "2.1.2"})),
        "control_plane.containerd.version",
        _at("1.34.11", plane(containerd={"version": "2.1.3"})),
    ),
    Case(
        "containerd-end-of-life",
        _at("1.36.4", _containerd("2.2.7")),
        "pools.web.containerd.version",
        _at("1.36.4", _containerd("2.3.4")),
    ),
    Case("cgroup-v2-early", _at("1.24.17"), "kubernetes", _at("1.25.16")),
    # SRV-13
    Case(
        "kubelet-gate-unknown",
        _gate("NodeLogQery"),
        "pools.web.kubelet.config.featureGates.NodeLogQery",
        _gate("NodeLogQuery"),
    ),
    Case(
        "kubelet-gate-unknown",
        _at("1.28.15", _gate("WindowsHostProcessContainers")),
        "pools.web.kubelet.config.featureGates.WindowsHostProcessContainers",
        _at("1.27.16", _gate("WindowsHostProcessContainers")),
    ),
    Case(
        "kubelet-gate-locked",
        _at("1.36.4", _gate("NodeLogQuery", value=False)),
        "pools.web.kubelet.config.featureGates.NodeLogQuery",
        _at("1.35.4", _gate("NodeLogQuery", value=False)),
    ),
    Case(
        "kube-proxy-gate-unknown",
        _at("1.25.16", _proxy_gate("IPv6DualStack")),
        "pools.web.kube_proxy.config.featureGates.IPv6DualStack",
        _at("1.24.17", _proxy_gate("IPv6DualStack")),
    ),
    Case(
        "kube-proxy-gate-locked",
        _at("1.34.11", _proxy_gate("WinDSR", value=False)),
        "pools.web.kube_proxy.config.featureGates.WinDSR",
        _at("1.33.10", _proxy_gate("WinDSR", value=False)),
    ),
    Case(
        "kubeadm-gate-unknown",
        _kubeadm_gate("NodeLogQuery"),
        "kubeadm.config.ClusterConfiguration.featureGates.NodeLogQuery",
        _kubeadm_gate("PublicKeysECDSA"),
    ),
    Case(
        "rootless-control-plane",
        _kubeadm_gate("RootlessControlPlane"),
        "kubeadm.config.ClusterConfiguration.featureGates.RootlessControlPlane",
        _kubeadm_gate("RootlessControlPlane", False),
    ),
    Case(
        "kubeadm-patches-folder",
        _at("1.37.1", _patches("InitConfiguration", {"directory": "/etc/patches"})),
        "kubeadm.config.InitConfiguration.patches.directory",
        _at("1.24.17", _patches("InitConfiguration", {"directory": "/etc/patches"})),
    ),
    Case(
        "kubeadm-patches-folder",
        _at("1.25.16", _patches("JoinConfiguration", None)),
        "kubeadm.config.JoinConfiguration.patches",
        _at("1.25.16", _patches("JoinConfiguration", {})),
    ),
    Case(
        "etcd-data-folder",
        _etcd_data("/mnt/etcd"),
        "kubeadm.config.ClusterConfiguration.etcd.local.dataDir",
        _etcd_data("/var/lib/etcd"),
    ),
    Case(
        "extra-argument-unknown",
        _at("1.31.14", _api_arguments([{"name": "insecure-prot", "value": "0"}])),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _at("1.31.14", _api_arguments([{"name": "max-requests-inflight", "value": "800"}])),
    ),
    Case(
        "extra-argument-unknown",
        _at("1.25.16", _api_arguments({"service-account-api-audiences": "x"})),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.service-account-api-audiences",
        _at("1.24.17", _api_arguments({"service-account-api-audiences": "x"})),
    ),
    Case(
        "extra-argument-planned",
        _at("1.31.14", _api_arguments([{"name": "encryption-provider-config", "value": "/mine.yaml"}])),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _at("1.31.14", _api_arguments([{"name": "audit-log-maxage", "value": "90"}])),
    ),
    Case(
        "extra-argument-planned",
        _at("1.30.14", _controller_arguments({"node-cidr-mask-size": "25"})),
        "kubeadm.config.ClusterConfiguration.controllerManager.extraArgs.node-cidr-mask-size",
        _at("1.30.14", _controller_arguments({"node-monitor-period": "3s"})),
    ),
    Case(
        "extra-argument-fixed",
        _at("1.31.14", _api_arguments([{"name": "kubelet-certificate-authority", "value": ""}])),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _at("1.31.14", _api_arguments([{"name": "kubelet-timeout", "value": "9s"}])),
    ),
    Case(
        "certificate-approver",
        _at("1.30.14", _controller_arguments({"controllers": "*,bootstrapsigner,tokencleaner"})),
        "kubeadm.config.ClusterConfiguration.controllerManager.extraArgs.controllers",
        _at("1.30.14", _controller_arguments({"controllers": "*,bootstrapsigner,tokencleaner,-ttl,-csrapproving"})),
    ),
    Case(
        "certificate-approver",
        _at("1.31.14", _controller_arguments([{"name": "controllers", "value": "csrapproving,*,-csrapproving"}])),
        "kubeadm.config.ClusterConfiguration.controllerManager.extraArgs.0",
        _at("1.31.14", _controller_arguments([{"name": "controllers", "value": "*,-csrapproving"}])),
    ),
    Case(
        "kubelet-extra-arguments",
        {"kubeadm": {"config": {"JoinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v"}]}}}}},
        "kubeadm.config.JoinConfiguration.nodeRegistration.kubeletExtraArgs",
        {"kubeadm": {"config": {"JoinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": []}}}}},
    ),
    Case(
        "kubeadm-config-type",
        _at("1.30.14", {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": []}}}}}),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs",
        _at("1.31.14", {"kubeadm": {"config": {"ClusterConfiguration": {"apiServer": {"extraArgs": []}}}}}),
    ),
    Case(
        "kubeadm-config-type",
        _at("1.31.14", _api_arguments([{"value": "Node,RBAC"}])),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _at("1.31.14", _api_arguments([{"name": "event-ttl", "value": "2h"}])),
    ),
    Case(
        "kubeadm-config-type",
        _at("1.31.14", _api_arguments([{"name": "event-ttl", "value": "2h"}, "profiling"])),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.1",
        _at("1.31.14", _api_arguments(None)),
    ),
)
