"""Paths on a machine: one constant for each, so that all files agree."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Paths on machines of one system."""

    separator: str
    exe: str
    """File extension of programs."""
    downloads: str
    programs: str
    """Kubernetes programs and crictl."""
    containerd_programs: str
    containerd_config: str
    containerd_socket: str
    cni_programs: str
    cni_config: str
    ca: str
    """CA bundle of the cluster, from the bundle store."""
    kubelet_config: str
    kubelet_kubeconfig: str
    kubelet_bootstrap: str
    credential_providers: str
    logs: str

    def path(self, *parts: str) -> str:
        """Return the parts joined with the separator."""
        return self.separator.join(parts)

    def program(self, name: str, folder: str | None = None) -> str:
        """Return the path of a program."""
        return self.path(folder or self.programs, name + self.exe)


LINUX = Layout(
    separator="/",
    exe="",
    downloads="/var/cache/mullion",
    programs="/usr/local/bin",
    containerd_programs="/usr/local/bin",
    containerd_config="/etc/containerd/config.toml",
    containerd_socket="unix:///run/containerd/containerd.sock",
    cni_programs="/opt/cni/bin",
    cni_config="/etc/cni/net.d",
    # not /etc/kubernetes/pki/ca.crt: `kubeadm join` refuses a worker where that file exists
    ca="/etc/mullion/ca.crt",
    kubelet_config="/var/lib/kubelet/config.yaml",
    kubelet_kubeconfig="/etc/kubernetes/kubelet.conf",
    kubelet_bootstrap="/etc/kubernetes/bootstrap-kubelet.conf",
    credential_providers="/usr/local/lib/mullion/credential-providers",
    logs="/var/log",
)

WINDOWS = Layout(
    separator="\\",
    exe=".exe",
    downloads=r"C:\ProgramData\mullion\downloads",
    programs=r"C:\k",
    containerd_programs=r"C:\Program Files\containerd",
    containerd_config=r"C:\Program Files\containerd\config.toml",
    containerd_socket="npipe:////./pipe/containerd-containerd",
    cni_programs=r"C:\k\cni",
    cni_config=r"C:\k\cni\config",
    ca=r"C:\k\ca.crt",
    kubelet_config=r"C:\k\kubelet.json",
    kubelet_kubeconfig=r"C:\k\kubelet.conf",
    kubelet_bootstrap=r"C:\k\bootstrap-kubelet.conf",
    credential_providers=r"C:\k\credential-providers",
    logs=r"C:\var\log",
)


@dataclass(frozen=True)
class DockerLayout:
    """Paths of Docker on Windows machines: Docker's defaults."""

    programs: str
    config: str
    data: str
    socket: str
    dockershim_socket: str
    """Socket of the kubelet's own dockershim."""
    cri_socket: str
    """Socket of cri-dockerd."""


DOCKER = DockerLayout(
    programs=r"C:\Program Files\docker",
    config=r"C:\ProgramData\docker\config\daemon.json",
    data=r"C:\ProgramData\docker",
    socket="npipe:////./pipe/docker_engine",
    dockershim_socket="npipe:////./pipe/dockershim",
    cri_socket="npipe:////./pipe/cri-dockerd",
)

WINDOWS_CONTAINERD_DATA = r"C:\ProgramData\containerd"
"""containerd's default folder for its root and state."""

WHOLE_KUBELET_CONFIG = "/etc/mullion/kubelet.json"
"""The kubelet's configuration on Linux for minors whose kubeadm takes no patch; kubeadm's file is not read."""

LAYOUTS: dict[str, Layout] = {"linux": LINUX, "windows": WINDOWS}

WINDOWS_KUBELET_ROOT = r"C:\var\lib\kubelet"
"""Pod volumes, with secrets in clear text: SYSTEM and Administrators only (SEC-01)."""

WINDOWS_STATE = r"C:\ProgramData\mullion"
"""The executor's state and results; private, because folders in ProgramData let every user add files by default."""

FLANNEL = r"C:\flannel"

PRIVATE_FOLDERS = (
    WINDOWS.programs, FLANNEL, WINDOWS_STATE, r"C:\var", WINDOWS.logs, WINDOWS_KUBELET_ROOT, r"C:\run"
)  # fmt: skip
"""Folders for SYSTEM and Administrators only (SEC-01). Parents are included, because whoever may rename a folder may
put another in its place."""

CONTAINER_USER = "S-1-5-93-2-2"
"""SID of ContainerUser, the default user of processes in Windows containers."""

AUTHENTICATED_USERS = "S-1-5-11"
"""SID of the group of all accounts that have signed in, with IIS' application pools, NETWORK SERVICE and users that an
image creates."""

LINUX_NODE_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
"""The node's client certificate and key on Linux."""

WINDOWS_NODE_CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
"""The node's client certificate and key, which the kubelet renews."""

WINDOWS_NODE_KUBECONFIG = r"C:\k\node.conf"
"""Kubeconfig of flanneld and kube-proxy, with the node's own certificate."""

FLANNEL_SUBNET_FILE = r"C:\run\flannel\subnet.env"
"""Written by flanneld once its network is ready, read by flannel's CNI plug-in."""

HOST_LOCAL_STATE = "/var/lib/cni/networks"
"""host-local's default folder: pods and the source VIP share its reservations."""

KUBEADM_FOLDER = "/etc/mullion/kubeadm"
KUBEADM_PATCHES = "/etc/mullion/kubeadm/patches"
PKI = "/etc/kubernetes/pki"
ADMIN_KUBECONFIG = "/etc/kubernetes/admin.conf"
STATE = "/var/lib/mullion"
