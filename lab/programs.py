"""The lab's programs, and the Go module and package of each."""

from dataclasses import dataclass
from pathlib import Path

from components import releases

KUBERNETES = "k8s.io/kubernetes"
CONTAINERD = "github.com/containerd/containerd"
CNI_PLUGINS = "github.com/containernetworking/plugins"
ETCD = "go.etcd.io/etcd"
COREDNS = "github.com/coredns/coredns"
CRI_TOOLS = "sigs.k8s.io/cri-tools"
CRI_API = "k8s.io/cri-api"

CNI_CHECK = "cnicheck"
"""Program of lab/ that reads CNI files as container runtimes and CNI plug-ins do."""

STANDINS = "standins"
"""Program of lab/ with the stand-ins for programs that cannot run under Wine; its file name chooses one."""

NOT_READY = "crinotready"
"""Program of lab/: a container runtime that never becomes ready."""

PODS = "cripods"
"""Program of lab/: a container runtime on Windows whose pods have a network and whose containers are imitated."""

CRICTL = "1.36.0"
"""The only version of cri-tools that can be built; it uses CRI v1, as all containerd versions here do."""


@dataclass(frozen=True)
class Program:
    """One program: the package `package` of `module` at `version`, for one operating system, always amd64."""

    name: str
    os: str
    module: str
    version: str
    package: str
    tags: str = ""
    """Build tags, separated by commas."""

    @property
    def file_name(self) -> str:
        """Return the program's file name on its operating system."""
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
    # stand-ins of lab/: no Go module proxy has the originals, or they are written in C
    ("flannel", "flannel"),
    ("flanneld", "flanneld"),
    ("pause", "pause"),
)

KUBELETS = Program("kwok", "linux", "sigs.k8s.io/kwok", "0.8.0", "sigs.k8s.io/kwok/cmd/kwok")
"""Kwok, which reports Nodes as Ready in place of kubelets; one version for API servers of all versions."""

FLANNELD = Program("flanneld", "windows", "github.com/flannel-io/flannel", "0.28.10", "github.com/flannel-io/flannel")
"""flannel's daemon; no Go module proxy has the release that nodes download (releases.FLANNEL, 0.28.9)."""

AWS_CONTROLLER = Program(
    "aws-cloud-controller-manager",
    "linux",
    "k8s.io/cloud-provider-aws",
    "1.37.1",
    "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager",
)
"""AWS's cloud controller manager; Go module proxies have it from 1.33.4 on. AWS's SDK makes this the longest build."""

STORAGE = {
    name: Program(name, "linux", module, version, f"{module}/cmd/{name}")
    for name, module, version in (
        ("csi-provisioner", "github.com/kubernetes-csi/external-provisioner/v6", "6.3.0"),
        ("csi-attacher", "github.com/kubernetes-csi/external-attacher/v4", "4.12.0"),
        ("csi-snapshotter", "github.com/kubernetes-csi/external-snapshotter/v8", "8.6.0"),
        ("snapshot-controller", "github.com/kubernetes-csi/external-snapshotter/v8", "8.6.0"),
        ("gce-pd-csi-driver", "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver", "1.28.1"),
    )
}
"""Sidecars of storage drivers, and the controller of snapshots: those that Go module proxies have, in the oldest
version there that is not older than the image's; and Google's driver in its newest version."""

CSI_DRIVER = Program("csidriver", "linux", KUBERNETES, "1.37.1", "csidriver")
"""Program of lab/: Kubernetes' mock of a storage driver. One build for all versions."""

_PD = STORAGE["gce-pd-csi-driver"]
CSI_CALLS = Program("csicalls", "linux", _PD.module, _PD.version, "csicalls")
"""Program of lab/: calls a driver's controller in a sidecar's place. One build for all versions."""

_PROMETHEUS = "github.com/prometheus/prometheus"
_NODE_EXPORTER = "github.com/prometheus/node_exporter"
MONITORING = tuple(
    Program(name, "linux", module, version, package, "remove_all_sd")
    for name, module, version, package in (
        ("prometheus", _PROMETHEUS, "0.315.1", f"{_PROMETHEUS}/cmd/prometheus"),
        ("promtool", _PROMETHEUS, "0.315.1", f"{_PROMETHEUS}/cmd/promtool"),
        ("node_exporter", _NODE_EXPORTER, "1.12.1", _NODE_EXPORTER),
    )
)
"""Prometheus 3.15.1 without its kinds of service discovery, whose SDKs of clouds take minutes; node_exporter."""

CREDENTIAL_PROVIDERS = tuple(
    Program(name, os, CRI_API, "0.37.1", "credentials")
    for name in ("azure-acr-credential-provider", "auth-provider-gcp")
    for os in ("linux", "windows")
)
"""Programs of lab/ in place of Azure's and Google's credential providers, whose modules need others that cannot always
be downloaded. One build for all versions."""

PULLS = Program("cripulls", "linux", CRI_API, "0.37.1", "cripulls")
"""Program of lab/: a container runtime that prints pulls with their credentials. One build for all versions."""

IN_NO_CLUSTER = (CNI_CHECK, KUBELETS.name)
"""Programs for tests that no cluster runs."""

NOT_BUILT = {
    ("1.20", "kube-apiserver"): "its module lacks pkg/generated/openapi, which that minor's own build generated",
    **dict.fromkeys(
        (("1.29", name) for name in ("kubelet", "kube-apiserver", "kube-controller-manager")),
        "its module k8s.io/legacy-cloud-providers is in no proxy",
    ),
}
"""Programs that cannot be built, by minor and name, with the reason; tests do without them."""


def programs(kubernetes: str) -> tuple[Program, ...]:
    """Return the programs that judge rendered files and the agent of a Kubernetes version (1.37.1)."""
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
        FLANNELD,
    )


def cluster_programs(kubernetes: str) -> tuple[Program, ...]:
    """Return the further programs of a real cluster of a Kubernetes version: those in images and archives."""
    release = releases.release(kubernetes)
    etcd = release.etcd.partition("-")[0]
    coredns = release.coredns.rpartition(":")[2].removeprefix("v")
    first = [Program(name, os, KUBERNETES, kubernetes, f"{KUBERNETES}/cmd/{name}") for name, os in _OF_CLUSTERS]
    judges = [
        program for program in programs(kubernetes) if program.os == "linux" and program.name not in IN_NO_CLUSTER
    ]
    return (
        # first the programs of a control plane without containers
        Program("etcd", "linux", f"{ETCD}/server/v3", etcd, f"{ETCD}/server/v3"),
        *first,
        *(program for program in judges if program not in first),
        *(Program(name, "linux", f"{ETCD}/{name}/v3", etcd, f"{ETCD}/{name}/v3") for name in ("etcdctl", "etcdutl")),
        *(containerd(release.containerd.version, "linux", name) for name in ("containerd-shim-runc-v2", "ctr")),
        *(Program(name, "linux", CNI_PLUGINS, releases.CNI_PLUGINS, package) for name, package in _CNI_OF_CLUSTERS),
        Program("crictl", "linux", CRI_TOOLS, CRICTL, f"{CRI_TOOLS}/cmd/crictl"),
        Program("coredns", "linux", COREDNS, coredns, "coredns"),
    )


STAND_IN = Program(STANDINS, "windows", "k8s.io/client-go", "0.37.1", STANDINS)
"""One build for all versions of Kubernetes."""

WITHOUT_RUNTIME = Program(NOT_READY, "linux", CRI_API, "0.37.1", NOT_READY)
"""One build for all versions: CRI v1, which kubelets use since 1.23, is the same in all versions of its module."""


WITH_PODS = Program(PODS, "windows", f"{CONTAINERD}/v2", "2.3.4", PODS)
"""One build for all versions, as WITHOUT_RUNTIME: containerd's module has the packages that make a pod's network."""


def joining_programs(kubernetes: str) -> tuple[Program, ...]:
    """Return the further programs with which a Windows node joins a real API server."""
    served = ("etcd", "kube-apiserver", "kube-controller-manager")
    real = cluster_programs(kubernetes)
    kubectl = [program for program in real if (program.name, program.os) == ("kubectl", "windows")]
    return (*(program for program in real if program.name in served), *kubectl, STAND_IN, WITHOUT_RUNTIME, WITH_PODS)


def own_programs(kubernetes: str) -> tuple[Program, ...]:
    """Return the programs whose sources are folders of lab/, one for each, with the module in which each is built."""
    folder = Path(__file__).parent
    named = {
        each.package: each
        for each in (*joining_programs(kubernetes), *cluster_programs(kubernetes), *of_registries(kubernetes))
    }
    named |= {each.package: each for each in (*programs(kubernetes), *of_storage(kubernetes))}
    return tuple(program for package, program in sorted(named.items()) if (folder / package).is_dir())


def of_clouds(kubernetes: str) -> tuple[Program, ...]:
    """Return cloud controllers; one version for all versions of Kubernetes."""
    return (AWS_CONTROLLER,)


def of_storage(kubernetes: str) -> tuple[Program, ...]:
    """Return sidecars of storage drivers, the mock of a driver and a caller; one version for all of Kubernetes."""
    return (CSI_DRIVER, CSI_CALLS, *STORAGE.values())


def of_monitoring(kubernetes: str) -> tuple[Program, ...]:
    """Return Prometheus and node_exporter; one version for all versions of Kubernetes."""
    return MONITORING


def of_registries(kubernetes: str) -> tuple[Program, ...]:
    """Return credential providers, and the runtime that prints pulls; one build for all versions of Kubernetes."""
    return (*CREDENTIAL_PROVIDERS, PULLS)


def containerd(version: str, os: str, name: str = "containerd") -> Program:
    """Return containerd of a version, or another program of its module."""
    module = CONTAINERD if version.startswith("1.") else f"{CONTAINERD}/v2"
    return Program(name, os, module, version, f"{module}/cmd/{name}")
