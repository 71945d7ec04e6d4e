"""Versions, and what users merge into our documents."""

import datetime

from tests.components.spec.documents import Case, kubelet, linux, plane, web


def _kubeadm(**fields: object) -> dict[str, object]:
    return {"kubeadm": {"config": {"ClusterConfiguration": fields}}}


def _at(version: str, change: object = None) -> dict[str, object]:
    return {"kubernetes": version, **(change if isinstance(change, dict) else {})}


def _containerd(**fields: object) -> dict[str, object]:
    return dict(web(containerd={"config": fields}))


def _proxy(**fields: object) -> dict[str, object]:
    return dict(web(kube_proxy={"config": fields}))


def _pause(image: str) -> dict[str, object]:
    return _containerd(plugins={"io.containerd.cri.v1.images": {"pinned_images": {"sandbox": image}}})


CASES = (
    Case("kubernetes-too-old", _at("1.19.16"), "kubernetes", _at("1.31.14")),
    Case("kubernetes-too-new", _at("1.38.0"), "kubernetes", _at("1.37.0")),
    Case("kubernetes-too-new", _at("2.0.0"), "kubernetes", _at("1.37.0")),
    Case("kubernetes-patch", _at("1.36.99"), "kubernetes", _at("1.36.4")),
    Case("kubernetes-patch", _at("01.36.4"), "kubernetes", _at("1.36.4")),
    Case("kubernetes-end-of-life", _at("1.33.10"), "kubernetes", _at("1.35.4")),
    Case("node-policies-missing", _at("1.28.15"), "kubernetes", _at("1.30.14")),
    Case("os-end-of-life", linux(os="debian-12"), "pools.linux.os", linux(os="ubuntu-22.04")),
    Case("os-end-of-life", plane(os="debian-12"), "control_plane.os", plane(os="ubuntu-24.04")),
    Case(
        "windows-before-kubernetes",
        _at("1.32.13", web(os="windows-2025")),
        "pools.web.os",
        _at("1.33.10", web(os="windows-2025")),
    ),
    Case(
        "windows-2019-late",
        _at("1.33.10", web(os="windows-2019")),
        "pools.web.os",
        _at("1.32.13", web(os="windows-2019")),
    ),
    Case(
        "windows-before-kubernetes",
        _at("1.22.17", web(os="windows-2022")),
        "pools.web.os",
        _at("1.23.17", web(os="windows-2022")),
    ),
    Case(
        "windows-patch-early",
        _at("1.33.1", web(os="windows-2025")),
        "pools.web.os",
        _at("1.33.2", web(os="windows-2025")),
    ),
    Case("windows-2019-late", _at("1.36.4", web(os="windows-2019")), "pools.web.os", _at("1.36.4")),
    Case(
        "registry-credentials-early",
        {"kubernetes": "1.25.16", "registry_credentials": ["ecr"]},
        "registry_credentials",
        {"kubernetes": "1.26.15", "registry_credentials": ["ecr"]},
    ),
    Case(
        "dsr-on-windows-2019",
        {"images": {"windows-2019": "ami-0123456789abcdef0"}, **web(os="windows-2019")},
        "images.windows-2019",
        {"images": {"windows-2019": "ami-0123456789abcdef0"}, **web(os="windows-2019", kube_proxy={"dsr": False})},
    ),
    Case(
        "windows-image-broken",
        {"images": {"windows-2022": "ami-0123456789abcdef0"}, **web(os="windows-2022")},
        "images.windows-2022",
        {"images": {"windows-2019": "ami-0123456789abcdef0"}, **web(os="windows-2022")},
    ),
    Case("dsr-on-linux", linux(kube_proxy={"dsr": True}), "pools.linux.kube_proxy.dsr", web(kube_proxy={"dsr": True})),
    Case(
        "kubelet-config-unknown",
        kubelet(config={"maxpods": 100}),
        "pools.web.kubelet.config.maxpods",
        kubelet(config={"podPidsLimit": 100}),
    ),
    Case(
        "kubelet-config-unknown",
        _at("1.35.4", plane(kubelet={"config": {"tlsCurvePreferences": []}})),
        "control_plane.kubelet.config.tlsCurvePreferences",
        _at("1.36.4", plane(kubelet={"config": {"tlsCurvePreferences": []}})),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"maxPods": "x"}),
        "pools.web.kubelet.config.maxPods",
        kubelet(config={"maxPods": 90}),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"maxPods": -5}),
        "pools.web.kubelet.config.maxPods",
        kubelet(config={"maxPods": 0}),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"evictionHard": []}),
        "pools.web.kubelet.config.evictionHard",
        kubelet(config={"evictionHard": {}}),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"featureGates": {"A": 3}}),
        "pools.web.kubelet.config.featureGates",
        kubelet(config={"featureGates": {"A": True}}),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"syncFrequency": 5}),
        "pools.web.kubelet.config.syncFrequency",
        kubelet(config={"syncFrequency": "1m30s"}),
    ),
    Case(
        "kubelet-config-type",
        kubelet(config={"authentication": {"foo": 1}}),
        "pools.web.kubelet.config.authentication.foo",
        kubelet(config={"authentication": {"x509": {}}}),
    ),
    Case(
        "kube-proxy-config-type",
        _proxy(conntrack={"min": "x"}),
        "pools.web.kube_proxy.config.conntrack.min",
        _proxy(conntrack={"min": 1}),
    ),
    Case(
        "kubelet-config-override",
        kubelet(config={"clusterDomain": "x"}),
        "pools.web.kubelet.config.clusterDomain",
        kubelet(config={"podPidsLimit": 100}),
    ),
    Case(
        "kubelet-config-override",
        kubelet(config={"runtimeRequestTimeout": "5m"}),
        "pools.web.kubelet.config.runtimeRequestTimeout",
        linux(kubelet={"config": {"runtimeRequestTimeout": "5m"}}),
    ),
    Case(
        "kube-proxy-config-unknown",
        _proxy(wincernel={}),
        "pools.web.kube_proxy.config.wincernel",
        _proxy(configSyncPeriod="30s"),
    ),
    Case(
        "kube-proxy-config-override",
        _proxy(winkernel={}),
        "pools.web.kube_proxy.config.winkernel",
        _proxy(configSyncPeriod="30s"),
    ),
    Case(
        "containerd-config-unknown",
        _containerd(plugin={}),
        "pools.web.containerd.config.plugin",
        _containerd(debug={"level": "debug"}),
    ),
    Case(
        "containerd-config-unknown",
        _at("1.36.4", _containerd(metrics={"address": "127.0.0.1:1338"})),
        "pools.web.containerd.config.metrics",
        _at("1.35.4", _containerd(metrics={"address": "127.0.0.1:1338"})),
    ),
    Case(
        "containerd-config-override",
        _containerd(plugins={}),
        "pools.web.containerd.config.plugins",
        _containerd(debug={"level": "debug"}),
    ),
    Case(
        "kubeadm-config-unknown",
        _kubeadm(apiserver={}),
        "kubeadm.config.ClusterConfiguration.apiserver",
        _kubeadm(apiServer={}),
    ),
    Case(
        "kubeadm-config-override",
        _kubeadm(apiServer={}),
        "kubeadm.config.ClusterConfiguration.apiServer",
        _kubeadm(imageRepository="mirror.example.com"),
    ),
    Case(
        "kubeadm-kind-unknown",
        {"kubeadm": {"config": {"ResetConfiguration": {}}}},
        "kubeadm.config.ResetConfiguration",
        {"kubeadm": {"config": {"JoinConfiguration": {}}}},
    ),
    Case(
        "config-not-json",
        kubelet(config={"logging": {"verbosity": datetime.date(2026, 1, 1)}}),
        "pools.web.kubelet.config.logging.verbosity",
        kubelet(config={"logging": {"verbosity": 2}}),
    ),
    Case(
        "config-not-json",
        kubelet(config={"memoryThrottlingFactor": float("nan")}),
        "pools.web.kubelet.config.memoryThrottlingFactor",
        kubelet(config={"memoryThrottlingFactor": 0.5}),
    ),
    Case(
        "kubeadm-config-not-json",
        _kubeadm(imageRepository=b"x"),
        "kubeadm.config.ClusterConfiguration.imageRepository",
        _kubeadm(imageRepository="x"),
    ),
    # RES-04
    Case(
        "kubelet-config-fatal-on-windows",
        kubelet(config={"enforceNodeAllocatable": ["pods"]}),
        "pools.web.kubelet.config.enforceNodeAllocatable",
        kubelet(config={"enforceNodeAllocatable": []}),
    ),
    Case(
        "kubelet-config-fatal-on-windows",
        kubelet(config={"userNamespaces": {}}),
        "pools.web.kubelet.config.userNamespaces",
        linux(kubelet={"config": {"userNamespaces": {}}}),
    ),
    Case(
        "kubelet-image-gc",
        kubelet(config={"imageGCHighThresholdPercent": 80}),
        "pools.web.kubelet.config.imageGCHighThresholdPercent",
        kubelet(config={"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 79}),
    ),
    Case(
        "kubelet-config-insecure",
        plane(kubelet={"config": {"tlsMinVersion": "VersionTLS11"}}),
        "control_plane.kubelet.config.tlsMinVersion",
        plane(kubelet={"config": {"tlsMinVersion": "VersionTLS12"}}),
    ),
    Case(
        "kube-proxy-mode-on-windows",
        _proxy(mode="iptables"),
        "pools.web.kube_proxy.config.mode",
        _proxy(mode="kernelspace"),
    ),
    Case(
        "kube-proxy-mode-on-linux",
        plane(kube_proxy={"config": {"mode": "kernelspace"}}),
        "control_plane.kube_proxy.config.mode",
        plane(kube_proxy={"config": {"mode": "nftables"}}),
    ),
    Case(
        "kube-proxy-of-linux-pool",
        linux(kube_proxy={"config": {"mode": "nftables"}}),
        "pools.linux.kube_proxy.config",
        plane(kube_proxy={"config": {"mode": "nftables"}}),
    ),
    Case(
        "containerd-config-version",
        _containerd(version=3),
        "pools.web.containerd.config.version",
        _containerd(version=4),
    ),
    # RUN-08
    Case(
        "pause-image",
        _pause("example.com/pause:latest"),
        "pools.web.containerd.config.plugins.io.containerd.cri.v1.images.pinned_images.sandbox",
        _pause("example.com:5000/pause:3.10"),
    ),
    Case(
        "pause-image",
        _pause("example.com:5000/pause"),
        "pools.web.containerd.config.plugins.io.containerd.cri.v1.images.pinned_images.sandbox",
        _pause("example.com/pause@sha256:00"),
    ),
    Case(
        "pause-image",
        _pause("kubeletwin/pause:1"),
        "pools.web.containerd.config.plugins.io.containerd.cri.v1.images.pinned_images.sandbox",
        _pause("example.com/pause:1"),
    ),
)
