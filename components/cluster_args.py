"""What a user gives `MixedCluster`: the spec's models as TypedDicts. Written by `make generate`."""

from typing import Any

from typing_extensions import NotRequired, TypedDict

from components.spec.models import (
    ApiAccess,
    Cloud,
    CloudController,
    Egress,
    Gate,
    MachineAccess,
    NatGateways,
    NetworkMode,
    OperatingSystem,
    PriorityClass,
    Runtime,
    System,
)


class ExistingNetworkArgs(TypedDict):
    """A network the user owns, in which the cluster is built."""

    network: str
    """Id of the VPC, VNet or VPC network."""
    subnets: list[str]
    """Ids of the subnets for machines, one a zone."""


class NetworkArgs(TypedDict):
    """Ranges, mode and the way out."""

    mode: NotRequired[NetworkMode]
    """Flannel VXLAN (overlay) or routed (l2bridge)."""
    pods: NotRequired[str]
    """Pod range; each node gets a /24 of it (IPP-01, IPP-02). Default: 10.244.0.0/16, in l2bridge 10.244.0.0/14."""
    services: NotRequired[str]
    """Service range (IPP-01)."""
    nodes: NotRequired[str]
    """Range of the cloud network; machines get fixed addresses in it. Default: 10.20.0.0/16, in l2bridge a /22."""
    dns: NotRequired[str]
    """Cluster DNS service address. Default: the tenth address of the service range (IPP-06)."""
    domain: NotRequired[str]
    """DNS domain of the cluster."""
    vni: NotRequired[int]
    """VXLAN network identifier; Windows takes 4096 and up (FLN-02)."""
    port: NotRequired[int]
    """VXLAN UDP port; Windows takes 4789 only (FLN-02)."""
    zones: NotRequired[int]
    """How many availability zones. Default: 1 with one control-plane machine, else 3."""
    zone_names: NotRequired[list[str]]
    """Names of these zones. Default: the first of the region, looked up once, then kept."""
    egress: NotRequired[Egress]
    """nat: machines have no public address; public: each machine has one, and there is no NAT gateway to pay."""
    nat_gateways: NotRequired[NatGateways]
    """single or zonal (one a zone). Default: zonal with three control-plane machines behind NAT, else single."""
    outside: NotRequired[list[str]]
    """Ranges the cluster must reach and so may not overlap (peered networks, offices)."""
    neighbour_pods: NotRequired[list[str]]
    """Pod ranges of other clusters on the same network; they may overlap only in overlay mode (IPP-05)."""
    route_limit: NotRequired[int]
    """Most routes in one route table of this account, for l2bridge. Default by cloud: AWS 500."""
    existing: NotRequired[ExistingNetworkArgs]
    """Use a network that exists instead of making one."""


class ApiArgs(TypedDict):
    """Access to the Kubernetes API."""

    access: NotRequired[ApiAccess]
    """private: only from the cluster's network; public: also through a load balancer, from `allow` only."""
    allow: NotRequired[list[str]]
    """Ranges that may reach a public API, and on Azure the stores, which the program fills."""


class ReserveArgs(TypedDict):
    """Resources kept from pods."""

    cpu: NotRequired[str]
    """CPU as a Kubernetes quantity, e.g. 500m."""
    memory: NotRequired[str]
    """Memory as a Kubernetes quantity, e.g. 2Gi."""
    ephemeral_storage: NotRequired[str]
    """Disk as a Kubernetes quantity, e.g. 1Gi."""


class KubeletArgs(TypedDict):
    """The kubelet of a pool's or the control plane's machines."""

    system_reserved: NotRequired[ReserveArgs]
    """Kept for the operating system. Windows default: 2Gi, and the larger of 500m and a tenth of the cores."""
    kube_reserved: NotRequired[ReserveArgs]
    """Kept for Kubernetes' own processes."""
    eviction_hard: NotRequired[dict[str, str]]
    """Hard eviction thresholds by signal, e.g. memory.available: 500Mi. On Windows they only lower NodeAllocatable."""
    accept_low_reserve: NotRequired[bool]
    """Allow a Windows pool to reserve less than 2Gi of memory for the system (RES-01)."""
    priority_class: NotRequired[PriorityClass]
    """Windows only: priority class of the kubelet's process. Windows default: ABOVE_NORMAL_PRIORITY_CLASS."""
    verbosity: NotRequired[int]
    """Log level of the kubelet (--v)."""
    config: NotRequired[dict[str, Any]]
    """KubeletConfiguration fields, merged last over what Mullion renders."""


class KubeProxyArgs(TypedDict):
    """The kube-proxy of a pool's or the control plane's machines."""

    dsr: NotRequired[bool]
    """Windows only: direct server return; Windows default: true. Off: 64 ports of the node for each Service port."""
    config: NotRequired[dict[str, Any]]
    """KubeProxyConfiguration fields, merged last over what Mullion renders."""


class ContainerdArgs(TypedDict):
    """containerd of a pool's or the control plane's machines."""

    version: NotRequired[str]
    """containerd's version, e.g. 2.2.7. Default: a version that the Kubernetes minor is tested with."""
    mirrors: NotRequired[dict[str, list[str]]]
    """URLs that are asked before a registry, by the registry's host, e.g. registry.k8s.io; *: before every registry."""
    config: NotRequired[dict[str, Any]]
    """config.toml as nested tables, merged last over what Mullion renders."""


class ControlPlaneArgs(TypedDict):
    """The Linux machines that run the control plane and etcd."""

    count: NotRequired[int]
    """1 or 3."""
    os: NotRequired[OperatingSystem]
    """Linux distribution."""
    size: NotRequired[str]
    """Instance type. Default by cloud: AWS m6i.large."""
    disk_gb: NotRequired[int]
    """Root disk, GiB."""
    kubelet: NotRequired[KubeletArgs]
    """The kubelet of these machines."""
    kube_proxy: NotRequired[KubeProxyArgs]
    """The kube-proxy of the Linux machines; one DaemonSet serves them all."""
    containerd: NotRequired[ContainerdArgs]
    """containerd of these machines."""


class RolloutArgs(TypedDict):
    """How a pool's machines are replaced."""

    max_unavailable: NotRequired[int]
    """How many of the pool's machines may be missing at once."""
    drain: NotRequired[str]
    """How long evicting pods may take before a machine is deleted. Pods left after it stop the roll."""
    gate: NotRequired[Gate]
    """What members must have reached before the next goes. registered: their last phase; ready: also Node Ready."""


class PoolArgs(TypedDict):
    """Workers that are alike."""

    os: OperatingSystem
    """What its machines boot."""
    runtime: NotRequired[Runtime]
    """Container runtime."""
    count: NotRequired[int]
    """How many machines."""
    size: NotRequired[str]
    """Instance type. Default by cloud: AWS m6i.large, for Windows m6i.xlarge."""
    disk_gb: NotRequired[int]
    """Root disk, GiB. Default 50, for Windows 128 (server images and layers are large)."""
    max_pods: NotRequired[int]
    """Pods per node; a /24 carries 252 (IPP-04)."""
    labels: NotRequired[dict[str, str]]
    """Node labels. Changing them replaces no machine."""
    taints: NotRequired[list[str]]
    """Registration taints, key=value:Effect. Windows default: os=windows:NoSchedule (SCH-02)."""
    kubelet: NotRequired[KubeletArgs]
    """The kubelet of the pool's machines."""
    kube_proxy: NotRequired[KubeProxyArgs]
    """The kube-proxy of the pool's Windows machines."""
    containerd: NotRequired[ContainerdArgs]
    """containerd of the pool's machines."""
    rollout: NotRequired[RolloutArgs]
    """How its machines are replaced."""
    slot: NotRequired[int]
    """Which block of node addresses the pool starts at. Default: from its name; needed only when two pools meet."""
    spot: NotRequired[bool]
    """Buy spare capacity that the cloud may take back."""


class KubeadmArgs(TypedDict):
    """kubeadm on all Linux machines."""

    ignore_preflight: NotRequired[list[str]]
    """Preflight checks that kubeadm only warns about, by kubeadm's own names."""
    config: NotRequired[dict[str, dict[str, Any]]]
    """Fields by document kind (ClusterConfiguration, InitConfiguration, JoinConfiguration), merged last."""


class AddonsArgs(TypedDict):
    """Add-ons beside those that every cluster has."""

    metrics_server: NotRequired[bool]
    """metrics-server: what kubectl top and autoscalers read. It trusts kubelets by the cluster's own authority."""


class RotationArgs(TypedDict):
    """Generation of what is made or looked up once: raise one number to have that item made anew."""

    certificate_authorities: NotRequired[int]
    """Cluster, front-proxy and etcd CA. Only by the two-bundle procedure."""
    service_account: NotRequired[int]
    """Keys that sign service-account tokens: each raise adds one and drops the one before the last."""
    encryption: NotRequired[int]
    """Keys of Secrets at rest: each raise puts a new key first and keeps the older ones."""
    desired_state: NotRequired[int]
    """Key that authenticates the desired-state pointer."""
    administrator: NotRequired[int]
    """The administrator's certificate."""
    images: NotRequired[int]
    """Machine images: looked up anew, and every pool whose image is another one then is rolled."""


class ProxyArgs(TypedDict):
    """The web proxy that machines must use, for all but the cloud's own services."""

    http: NotRequired[str]
    """http://HOST:PORT for what is fetched by http."""
    https: NotRequired[str]
    """http://HOST:PORT for what is fetched by https."""
    no_proxy: NotRequired[list[str]]
    """Hosts and ranges reached directly, beside those Mullion adds."""


class ArtifactEntryArgs(TypedDict):
    """One file that machines download, always for amd64."""

    name: str
    """What it is, e.g. kubernetes-node."""
    version: str
    """Its version, e.g. 1.37.1."""
    os: System
    """linux or windows."""
    url: str
    """Where it is, whole."""
    sha256: NotRequired[str]
    """Its sha256, in lower-case hexadecimal digits. One of sha256, sha512 and digest is needed."""
    sha512: NotRequired[str]
    """Its sha512, in lower-case hexadecimal digits."""
    digest: NotRequired[str]
    """unknown: nobody published a digest; `plan` works with it, `up` refuses."""
    size: NotRequired[int]
    """Bytes, where known."""
    source: NotRequired[str]
    """Where the digest was read."""


class ArtifactsArgs(TypedDict):
    """Where downloads come from, and what they must be."""

    file: NotRequired[str]
    """JSON file of entries, from the folder of Pulumi.yaml on; read with the stack, it becomes part of `entries`."""
    entries: NotRequired[list[ArtifactEntryArgs]]
    """Entries that add to the built-in ones, or take the place of those with the same name, version and os."""
    mirror: NotRequired[str]
    """Base URL of a mirror: every https://host/path is fetched from <mirror>/host/path, with the same digest."""


class ClusterArgs(TypedDict):
    """One cluster."""

    cloud: Cloud
    """aws, azure or gcp."""
    kubernetes: str
    """Kubernetes version with its patch, e.g. "1.37.0"; quote it."""
    network: NotRequired[NetworkArgs]
    """Ranges, mode and the way out."""
    api: NotRequired[ApiArgs]
    """Access to the Kubernetes API."""
    control_plane: NotRequired[ControlPlaneArgs]
    """The Linux machines that run the control plane."""
    pools: NotRequired[dict[str, PoolArgs]]
    """Workers by pool name."""
    kubeadm: NotRequired[KubeadmArgs]
    """kubeadm on all Linux machines."""
    addons: NotRequired[AddonsArgs]
    """Add-ons beside those that every cluster has."""
    images: NotRequired[dict[str, str]]
    """Pinned image ids by operating system. Default: looked up once, then kept."""
    owner: NotRequired[str]
    """Who to ask about the cluster; a tag on every resource."""
    tags: NotRequired[dict[str, str]]
    """Tags on every resource that takes tags."""
    protect: NotRequired[bool]
    """Refuse to delete the cluster."""
    expires: NotRequired[str]
    """A tag for other tools, deletes nothing: 8h, 3d or "2027-12-24T18:00:00Z". `down` then deletes snapshots too."""
    rotation: NotRequired[RotationArgs]
    """Generations of the generated secrets."""
    cloud_controller: NotRequired[CloudController]
    """none, or external."""
    registry_credentials: NotRequired[list[str]]
    """Registries whose credential provider nodes get: ecr, acr, gar."""
    access: NotRequired[MachineAccess]
    """none, or session (Session Manager, Bastion, IAP)."""
    proxy: NotRequired[ProxyArgs]
    """The web proxy that machines must use."""
    trusted_cas: NotRequired[list[str]]
    """PEM certificates that machines trust besides the system's."""
    artifacts: NotRequired[ArtifactsArgs]
    """Where downloads come from, and what they must be."""
    encryption_key: NotRequired[str]
    """Id of the cloud key that encrypts disks, buckets and secrets. Default: the cloud's own."""
    csi: NotRequired[list[str]]
    """Storage drivers to install: ebs, efs, azuredisk, azurefile, pd, smb."""
    gmsa: NotRequired[bool]
    """Group managed service accounts for Windows pods."""
    acknowledge: NotRequired[dict[str, str]]
    """Warnings accepted, by check id, each with a reason."""
