"""Which programs the lab has, and the Go module and package each is built from."""

from dataclasses import dataclass

from components import releases

KUBERNETES = "k8s.io/kubernetes"
CONTAINERD = "github.com/containerd/containerd"
CNI_PLUGINS = "github.com/containernetworking/plugins"

CNI_CHECK = "cnicheck"
"""A program of ours, beside this file: it reads CNI files as container runtimes and plugins do."""


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
)

_OF_CNI = (
    ("host-local", "windows", f"{CNI_PLUGINS}/plugins/ipam/host-local"),
    ("win-overlay", "windows", f"{CNI_PLUGINS}/plugins/main/windows/win-overlay"),
    ("win-bridge", "windows", f"{CNI_PLUGINS}/plugins/main/windows/win-bridge"),
    (CNI_CHECK, "linux", CNI_CHECK),
    (CNI_CHECK, "windows", CNI_CHECK),
)

NOT_BUILT = {
    ("1.29", "kubelet"): "its module k8s.io/legacy-cloud-providers is in no proxy",
}
"""Programs that cannot be built, by minor and name, and why: whoever judges with the others leaves these out."""


def programs(kubernetes: str) -> tuple[Program, ...]:
    """All programs that judge what is rendered for a Kubernetes version, e.g. 1.37.1."""
    release = releases.release(kubernetes)
    return (
        *(
            Program(name, os, KUBERNETES, kubernetes, package)
            for name, os, package in _OF_KUBERNETES
            if (release.minor, name) not in NOT_BUILT and (name != "kube-log-runner" or release.log_runner != "missing")
        ),
        *(containerd(release.containerd.version, os) for os in ("linux", "windows")),
        *(Program(name, os, CNI_PLUGINS, releases.CNI_PLUGINS, package) for name, os, package in _OF_CNI),
    )


def containerd(version: str, os: str) -> Program:
    """That containerd."""
    module = CONTAINERD if version.startswith("1.") else f"{CONTAINERD}/v2"
    return Program("containerd", os, module, version, f"{module}/cmd/containerd")
