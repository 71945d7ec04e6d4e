"""Which programs the lab has, and the Go module and package each is built from."""

from dataclasses import dataclass

from components import releases

KUBERNETES = "k8s.io/kubernetes"
CONTAINERD = "github.com/containerd/containerd"
CNI_PLUGINS = "github.com/containernetworking/plugins"
ETCD = "go.etcd.io/etcd"
COREDNS = "github.com/coredns/coredns"
CRI_TOOLS = "sigs.k8s.io/cri-tools"
CRI_API = "k8s.io/cri-api"

CNI_CHECK = "cnicheck"
"""A program of ours, beside this file: it reads CNI files as container runtimes and plugins do."""

STANDINS = "standins"
"""A program of ours, beside this file, under the names of those that cannot live on the tests' Windows machines."""

NOT_READY = "crinotready"
"""A program of ours, too: a container runtime that is never ready."""

CRICTL = "1.36.0"
"""The one version of cri-tools that is to be had; it speaks CRI v1, as every containerd here does."""


@dataclass(frozen=True)
class Program:
    """One program: the package `package` of `module` at `version`, for one operating system, always amd64."""

    name: str
    os: str
    module: str
    version: str
    package: str

    @property
    def file_name(self) -> str:
        """The program's name on its system."""
        return self.name + (".exe" if self.os == "windows" else "")


_OF_KUBERNETES = (
    ("kubeadm", "linux", f"{KUBERNETES}/cmd/kubeadm"),
    ("kubelet", "linux", f"{KUBERNETES}/cmd/kubelet"),
    ("kubelet", "windows", f"{KUBERNETES}/cmd/kubelet"),
    ("kube-proxy", "windows", f"{KUBERNETES}/cmd/kube-proxy"),
    ("kube-log-runner", "windows", "k8s.io/component-base/logs/kube-log-runner"),
    ("kube-apiserver", "linux", f"{KUBERNETES}/cmd/kube-apiserver"),
    ("kube-controller-manager", "linux", f"{KUBERNETES}/cmd/kube-controller-manager"),
    ("kube-scheduler", "linux", f"{KUBERNETES}/cmd/kube-scheduler"),
)

_OF_CNI = (
    ("host-local", "windows", f"{CNI_PLUGINS}/plugins/ipam/host-local"),
    ("win-overlay", "windows", f"{CNI_PLUGINS}/plugins/main/windows/win-overlay"),
    ("win-bridge", "windows", f"{CNI_PLUGINS}/plugins/main/windows/win-bridge"),
    (CNI_CHECK, "linux", CNI_CHECK),
    (CNI_CHECK, "windows", CNI_CHECK),
)

_OF_CLUSTERS = (
    ("kube-apiserver", "linux"),
    ("kube-controller-manager", "linux"),
    ("kubectl", "linux"),
    ("kube-scheduler", "linux"),
    ("kube-proxy", "linux"),
    ("kubectl", "windows"),
)

_CNI_OF_CLUSTERS = (
    ("bridge", f"{CNI_PLUGINS}/plugins/main/bridge"),
    ("loopback", f"{CNI_PLUGINS}/plugins/main/loopback"),
    ("host-local", f"{CNI_PLUGINS}/plugins/ipam/host-local"),
    ("portmap", f"{CNI_PLUGINS}/plugins/meta/portmap"),
    # ours, beside this file, as their originals are in no proxy, or written in C
    ("flannel", "flannel"),
    ("flanneld", "flanneld"),
    ("pause", "pause"),
)

KUBELETS = Program("kwok", "linux", "sigs.k8s.io/kwok", "0.8.0", "sigs.k8s.io/kwok/cmd/kwok")
"""It says that Nodes are well, as their kubelets would, to an API server of any version."""

IN_NO_CLUSTER = (CNI_CHECK, KUBELETS.name)
"""Of the programs that judge."""

NOT_BUILT = {
    ("1.20", "kube-apiserver"): "its module lacks pkg/generated/openapi, which that minor's own build generated",
    **dict.fromkeys(
        (("1.29", name) for name in ("kubelet", "kube-apiserver", "kube-controller-manager")),
        "its module k8s.io/legacy-cloud-providers is in no proxy",
    ),
}
"""Programs that cannot be built, by minor and name, and why: whoever judges with the others leaves these out."""


def programs(kubernetes: str) -> tuple[Program, ...]:
    """All programs that judge what is rendered for a Kubernetes version, e.g. 1.37.1, and what the agent does."""
    release = releases.release(kubernetes)
    return (
        *(
            Program(name, os, KUBERNETES, kubernetes, package)
            for name, os, package in _OF_KUBERNETES
            if (release.minor, name) not in NOT_BUILT and (name != "kube-log-runner" or release.log_runner != "missing")
        ),
        *(containerd(release.containerd.version, os) for os in ("linux", "windows")),
        *(Program(name, os, CNI_PLUGINS, releases.CNI_PLUGINS, package) for name, os, package in _OF_CNI),
        KUBELETS,
    )


def cluster_programs(kubernetes: str) -> tuple[Program, ...]:
    """The programs that real clusters of a Kubernetes version need besides the judges, in images or archives."""
    release = releases.release(kubernetes)
    etcd = release.etcd.partition("-")[0]
    coredns = release.coredns.rpartition(":")[2].removeprefix("v")
    first = [Program(name, os, KUBERNETES, kubernetes, f"{KUBERNETES}/cmd/{name}") for name, os in _OF_CLUSTERS]
    judges = [each for each in programs(kubernetes) if each.os == "linux" and each.name not in IN_NO_CLUSTER]
    return (
        # first, what a plain control plane of processes needs
        Program("etcd", "linux", f"{ETCD}/server/v3", etcd, f"{ETCD}/server/v3"),
        *first,
        *(each for each in judges if each not in first),
        *(Program(each, "linux", f"{ETCD}/{each}/v3", etcd, f"{ETCD}/{each}/v3") for each in ("etcdctl", "etcdutl")),
        *(containerd(release.containerd.version, "linux", each) for each in ("containerd-shim-runc-v2", "ctr")),
        *(Program(name, "linux", CNI_PLUGINS, releases.CNI_PLUGINS, package) for name, package in _CNI_OF_CLUSTERS),
        Program("crictl", "linux", CRI_TOOLS, CRICTL, f"{CRI_TOOLS}/cmd/crictl"),
        Program("coredns", "linux", COREDNS, coredns, "coredns"),
    )


STAND_IN = Program(STANDINS, "windows", "golang.org/x/sys", "0.47.0", STANDINS)
"""It judges nothing, so it belongs to no version."""

WITHOUT_RUNTIME = Program(NOT_READY, "linux", CRI_API, "0.37.1", NOT_READY)
"""CRI v1, which kubelets from 1.23 on speak, is the same in every version of its module."""


def joining_programs(kubernetes: str) -> tuple[Program, ...]:
    """What a Windows node of a Kubernetes version needs besides the judges to join a real API server."""
    served = ("etcd", "kube-apiserver", "kube-controller-manager")
    real = cluster_programs(kubernetes)
    tool = [each for each in real if (each.name, each.os) == ("kubectl", "windows")]
    return (*(each for each in real if each.name in served), *tool, STAND_IN, WITHOUT_RUNTIME)


def containerd(version: str, os: str, name: str = "containerd") -> Program:
    """That containerd, or another program of it."""
    module = CONTAINERD if version.startswith("1.") else f"{CONTAINERD}/v2"
    return Program(name, os, module, version, f"{module}/cmd/{name}")
