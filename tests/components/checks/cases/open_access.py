"""Cases: values that switch off authentication, authorization or TLS."""

from tests.certificates import AUTHORITY
from tests.components.spec.documents import Case, kubelet, plane, web


def _of(program: str, *flags: tuple[str, str]) -> dict[str, object]:
    written = {"extraArgs": [{"name": name, "value": value} for name, value in flags]}
    fields = {"etcd": {"local": written}} if program == "etcd" else {program: written}
    return {"kubernetes": "1.31.14", "kubeadm": {"config": {"ClusterConfiguration": fields}}}


def _with(**fields: object) -> dict[str, object]:
    return {"kubernetes": "1.31.14", "kubeadm": {"config": {"ClusterConfiguration": fields}}}


_IMAGES = "io.containerd.cri.v1.images"


def _images(**settings: object) -> dict[str, object]:
    return {"plugins": {_IMAGES: settings}}


CASES = (
    Case(
        "pod-security-unavailable",
        {"kubernetes": "1.22.17", "pod_security": {"enforce": "restricted"}},
        "pod_security",
        {"kubernetes": "1.23.17", "pod_security": {"enforce": "restricted"}},
    ),
    Case(
        "admission-policies-unavailable",
        {"kubernetes": "1.29.15", "admission": {"windows_workloads": "enforce"}},
        "admission.windows_workloads",
        {"kubernetes": "1.30.14", "admission": {"windows_workloads": "enforce"}},
    ),
    Case(
        "admission-file-replaced",
        _of("apiServer", ("admission-control-config-file", "/etc/kubernetes/own.yaml")),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _of("apiServer", ("audit-log-maxage", "7")),
    ),
    Case(
        "extra-argument-planned",
        _of("apiServer", ("oidc-issuer-url", "https://login.example.com")),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _of("apiServer", ("oidc-signing-algs", "ES256")),
    ),
    Case(
        "api-without-tls-12",
        {**_of("apiServer", ("tls-min-version", "VersionTLS13")), **plane(count=3)},
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        {**_of("apiServer", ("tls-min-version", "VersionTLS13")), **plane(count=1)},
    ),
    Case(
        "argument-opens-cluster",
        _of("controllerManager", ("cluster-signing-duration", "24h0m1s")),
        "kubeadm.config.ClusterConfiguration.controllerManager.extraArgs.0",
        _of("controllerManager", ("cluster-signing-duration", "1h30m")),
    ),
    Case(
        "argument-opens-cluster",
        _of("apiServer", ("feature-gates", "ValidatingAdmissionPolicy=false")),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _of("apiServer", ("feature-gates", "ValidatingAdmissionPolicy=true,Other=false")),
    ),
    Case(
        "argument-opens-cluster",
        _of("apiServer", ("disable-admission-plugins", "PodSecurity")),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _of("apiServer", ("disable-admission-plugins", "PersistentVolumeClaimResize")),
    ),
    Case(
        "etcd-external",
        {"kubeadm": {"config": {"ClusterConfiguration": {"etcd": {"external": {"endpoints": ["https://a.example"]}}}}}},
        "kubeadm.config.ClusterConfiguration.etcd.external",
        {"kubeadm": {"config": {"ClusterConfiguration": {"etcd": {"local": {"dataDir": "/var/lib/etcd"}}}}}},
    ),
    Case(
        "images-from-elsewhere",
        {"kubeadm": {"config": {"ClusterConfiguration": {"dns": {"imageRepository": "a.example"}}}}},
        "kubeadm.config.ClusterConfiguration.dns.imageRepository",
        {"kubeadm": {"config": {"ClusterConfiguration": {"clusterName": "a.example"}}}},
    ),
    Case(
        "images-from-elsewhere",
        web(containerd={"mirrors": {"docker.io": ["https://mirror.example"]}}),
        "pools.web.containerd.mirrors.docker.io.0",
        web(containerd={"mirrors": {"docker.io": []}}),
    ),
    Case(
        "images-from-elsewhere",
        plane(containerd={"config": _images(registry={"mirrors": {"docker.io": {"endpoint": ["https://a.example"]}}})}),
        f"control_plane.containerd.config.plugins.{_IMAGES}.registry.mirrors.docker.io.endpoint.0",
        plane(containerd={"config": _images(max_concurrent_downloads=5)}),
    ),
    Case(
        "images-from-elsewhere",
        plane(containerd={"config": _images(pinned_images={"sandbox": "a.example/pause:3.10.1"})}),
        f"control_plane.containerd.config.plugins.{_IMAGES}.pinned_images.sandbox",
        plane(containerd={"config": _images(pinned_images={"sandbox": "registry.k8s.io/pause:3.10"})}),
    ),
    Case(
        "proxy-with-authorities",
        {"proxy": {"https": "http://proxy.example:3128"}, "trusted_cas": [AUTHORITY]},
        "proxy",
        {"proxy": {"https": "http://proxy.example:3128"}},
    ),
    Case(
        "kubelet-config-open",
        plane(kubelet={"config": {"readOnlyPort": 10255}}),
        "control_plane.kubelet.config.readOnlyPort",
        plane(kubelet={"config": {"readOnlyPort": 0}}),
    ),
    Case(
        "kubelet-config-open",
        kubelet(config={"staticPodURL": "http://pods.example/web.yaml"}),
        "pools.web.kubelet.config.staticPodURL",
        kubelet(config={"staticPodURL": ""}),
    ),
    Case(
        "kubelet-config-open",
        kubelet(config={"authentication": {"anonymous": {"enabled": True}}}),
        "pools.web.kubelet.config.authentication.anonymous.enabled",
        kubelet(config={"authentication": {"anonymous": {"enabled": False}}}),
    ),
    Case(
        "argument-opens-cluster",
        _of("apiServer", ("authorization-mode", "AlwaysAllow")),
        "kubeadm.config.ClusterConfiguration.apiServer.extraArgs.0",
        _of("apiServer", ("authorization-mode", "Node,RBAC,Webhook")),
    ),
    Case(
        "argument-opens-cluster",
        _of("etcd", ("client-cert-auth", "false")),
        "kubeadm.config.ClusterConfiguration.etcd.local.extraArgs.0",
        _of("etcd", ("client-cert-auth", "true")),
    ),
    Case(
        "mirror-unencrypted",
        web(containerd={"mirrors": {"*": ["http://mirror.example:5000"]}}),
        "pools.web.containerd.mirrors.*.0",
        web(containerd={"mirrors": {"*": ["https://mirror.example:5000", "http://127.0.0.1:5000"]}}),
    ),
    Case(
        "mirror-unencrypted",
        web(containerd={"mirrors": {"*": ["http://127.example.com:5000"]}}),
        "pools.web.containerd.mirrors.*.0",
        web(containerd={"mirrors": {"*": ["http://127.1.2.3:5000"]}}),
    ),
    Case(
        "argument-opens-cluster",
        _of("etcd", ("client-cert-auth", "0")),
        "kubeadm.config.ClusterConfiguration.etcd.local.extraArgs.0",
        _of("etcd", ("client-cert-auth", "1")),
    ),
    Case(
        "argument-names-a-place",
        _of("scheduler", ("config", "/etc/kubernetes/scheduler.yaml")),
        "kubeadm.config.ClusterConfiguration.scheduler.extraArgs.0",
        _of("scheduler", ("kube-api-qps", "100")),
    ),
    Case(
        "argument-names-a-place",
        _of("etcd", ("listen-metrics-urls", "http://0.0.0.0:2381")),
        "kubeadm.config.ClusterConfiguration.etcd.local.extraArgs.0",
        _of("etcd", ("listen-metrics-urls", "http://127.0.0.1:2381")),
    ),
    Case(
        "extra-environment",
        _with(apiServer={"extraEnvs": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}]}),
        "kubeadm.config.ClusterConfiguration.apiServer.extraEnvs.0",
        _with(apiServer={"extraEnvs": []}),
    ),
    Case(
        "etcd-environment",
        _with(etcd={"local": {"extraEnvs": [{"name": "ETCD_CONFIG_FILE", "value": "/etc/evil"}]}}),
        "kubeadm.config.ClusterConfiguration.etcd.local.extraEnvs.0",
        _with(etcd={"local": {"extraEnvs": [{"name": "GODEBUG", "value": "x"}]}}),
    ),
    Case(
        "extra-volume",
        _with(scheduler={"extraVolumes": [{"name": "own", "hostPath": "/", "mountPath": "/host"}]}),
        "kubeadm.config.ClusterConfiguration.scheduler.extraVolumes.0",
        _with(scheduler={"extraVolumes": []}),
    ),
    Case(
        "extra-volume-replaced",
        _with(apiServer={"extraVolumes": [{"name": "authorization", "hostPath": "/a", "mountPath": "/b"}]}),
        "kubeadm.config.ClusterConfiguration.apiServer.extraVolumes.0",
        _with(apiServer={"extraVolumes": [{"name": "own", "hostPath": "/a", "mountPath": "/b"}]}),
    ),
    Case(
        "kubeadm-join-secret",
        {"kubeadm": {"config": {"InitConfiguration": {"bootstrapTokens": [{"token": "abcdef.0123456789abcdef"}]}}}},
        "kubeadm.config.InitConfiguration.bootstrapTokens",
        {"kubeadm": {"config": {"InitConfiguration": {"bootstrapTokens": []}}}},
    ),
    Case(
        "kube-proxy-config-open",
        plane(kube_proxy={"config": {"clientConnection": {"kubeconfig": "/etc/own.conf"}}}),
        "control_plane.kube_proxy.config.clientConnection.kubeconfig",
        plane(kube_proxy={"config": {"clientConnection": {"qps": 50}}}),
    ),
)
