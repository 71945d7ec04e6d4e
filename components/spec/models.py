"""Options of `mullion:cluster`, which describes one cluster: types, defaults and meanings.

Defaults that depend on another option (operating system, cloud, service range) are in `defaults.py` and filled in
before validation, so a `ClusterSpec` is always complete. Whether options fit together is decided in components/checks.
"""

from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any

from pydantic import Field, model_validator

from components.spec import defaults
from components.spec.choices import (
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
from components.spec.options import (
    Addons,
    ArtifactEntry,
    Artifacts,
    Containerd,
    Kubeadm,
    Kubelet,
    KubeProxy,
    Model,
    Reserve,
    Rollout,
)

__all__ = [
    "Addons",
    "Api",
    "ApiAccess",
    "ArtifactEntry",
    "Artifacts",
    "Cloud",
    "CloudController",
    "ClusterSpec",
    "Containerd",
    "ControlPlane",
    "Egress",
    "ExistingNetwork",
    "Gate",
    "KubeProxy",
    "Kubeadm",
    "Kubelet",
    "MachineAccess",
    "Model",
    "NatGateways",
    "Network",
    "NetworkMode",
    "OperatingSystem",
    "Pool",
    "PriorityClass",
    "Proxy",
    "Reserve",
    "Rollout",
    "Rotation",
    "Runtime",
    "System",
]


class ExistingNetwork(Model):
    """A network the user owns, in which the cluster is built."""

    network: str
    """Id of the VPC, VNet or VPC network."""
    subnets: list[str]
    """Ids of the subnets for machines, one a zone."""


class Network(Model):
    """Ranges, mode and the way out."""

    mode: NetworkMode = NetworkMode.OVERLAY
    """Flannel VXLAN (overlay) or routed (l2bridge)."""
    pods: IPv4Network
    """Pod range; each node gets a /24 of it (IPP-01, IPP-02). Default: 10.244.0.0/16, in l2bridge 10.244.0.0/14."""
    services: IPv4Network = IPv4Network("10.96.0.0/12")
    """Service range (IPP-01)."""
    nodes: IPv4Network
    """Range of the cloud network; machines get fixed addresses in it. Default: 10.20.0.0/16, in l2bridge a /22."""
    dns: IPv4Address
    """Cluster DNS service address. Default: the tenth address of the service range (IPP-06)."""
    domain: str = "cluster.local"
    """DNS domain of the cluster."""
    vni: int = 4096
    """VXLAN network identifier; Windows takes 4096 and up (FLN-02)."""
    port: int = 4789
    """VXLAN UDP port; Windows takes 4789 only (FLN-02)."""
    zones: Annotated[int, Field(ge=1, le=3)]
    """How many availability zones. Default: 1 with one control-plane machine, else 3."""
    zone_names: list[str] = []
    """Names of these zones. Default: the first of the region, looked up once, then kept."""
    egress: Egress = Egress.NAT
    """nat: machines have no public address; public: each machine has one, and there is no NAT gateway to pay."""
    nat_gateways: NatGateways
    """single or zonal (one a zone). Default: zonal with three control-plane machines behind NAT, else single."""
    outside: list[IPv4Network] = []
    """Ranges the cluster must reach and so may not overlap (peered networks, offices)."""
    neighbour_pods: list[IPv4Network] = []
    """Pod ranges of other clusters on the same network; they may overlap only in overlay mode (IPP-05)."""
    route_limit: Annotated[int, Field(ge=1)] | None = None
    """Most routes in one route table of this account, for l2bridge. Default by cloud: AWS 500."""
    existing: ExistingNetwork | None = None
    """Use a network that exists instead of making one."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.network(data)


class Api(Model):
    """Access to the Kubernetes API."""

    access: ApiAccess = ApiAccess.PRIVATE
    """private: only from the cluster's network; public: also through a load balancer, from `allow` only."""
    allow: list[IPv4Network] = []
    """Ranges that may reach a public API, and on Azure the stores, which the program fills."""


InstanceType = Annotated[str, Field(min_length=1)]
DiskGb = Annotated[int, Field(ge=20, le=16384)]


class ControlPlane(Model):
    """The Linux machines that run the control plane and etcd."""

    count: Annotated[int, Field(le=5000, json_schema_extra={"enum": [1, 3]})] = 1
    """1 or 3."""
    os: OperatingSystem = OperatingSystem.UBUNTU_24_04
    """Linux distribution."""
    size: InstanceType
    """Instance type. Default by cloud: AWS m6i.large."""
    disk_gb: DiskGb = 50
    """Root disk, GiB."""
    kubelet: Kubelet = Kubelet()
    """The kubelet of these machines."""
    kube_proxy: KubeProxy = KubeProxy()
    """The kube-proxy of the Linux machines; one DaemonSet serves them all."""
    containerd: Containerd = Containerd()
    """containerd of these machines."""


class Pool(Model):
    """Workers that are alike."""

    os: OperatingSystem
    """What its machines boot."""
    runtime: Runtime = Runtime.CONTAINERD
    """Container runtime."""
    count: Annotated[int, Field(ge=0, le=5000)] = 1
    """How many machines."""
    size: InstanceType
    """Instance type. Default by cloud: AWS m6i.large, for Windows m6i.xlarge."""
    disk_gb: DiskGb
    """Root disk, GiB. Default 50, for Windows 128 (server images and layers are large)."""
    max_pods: Annotated[int, Field(ge=1, le=1000)] = 110
    """Pods per node; a /24 carries 252 (IPP-04)."""
    labels: dict[str, str] = {}
    """Node labels. Changing them replaces no machine."""
    taints: list[str]
    """Registration taints, key=value:Effect. Windows default: os=windows:NoSchedule (SCH-02)."""
    kubelet: Kubelet = Kubelet()
    """The kubelet of the pool's machines."""
    kube_proxy: KubeProxy = KubeProxy()
    """The kube-proxy of the pool's Windows machines."""
    containerd: Containerd = Containerd()
    """containerd of the pool's machines."""
    rollout: Rollout = Rollout()
    """How its machines are replaced."""
    slot: Annotated[int, Field(ge=0)] | None = None
    """Which block of node addresses the pool starts at. Default: from its name; needed only when two pools meet."""
    spot: bool = False
    """Buy spare capacity that the cloud may take back."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.pool(data)


class Proxy(Model):
    """The web proxy that machines must use, for all but the cloud's own services."""

    http: str | None = None
    """http://HOST:PORT for what is fetched by http."""
    https: str | None = None
    """http://HOST:PORT for what is fetched by https."""
    no_proxy: list[str] = []
    """Hosts and ranges reached directly, beside those Mullion adds."""


class Rotation(Model):
    """Generation of what is made or looked up once: raise one number to have that item made anew."""

    certificate_authorities: Annotated[int, Field(ge=0)] = 0
    """Cluster, front-proxy and etcd CA. Only by the two-bundle procedure."""
    service_account: Annotated[int, Field(ge=0)] = 0
    """Keys that sign service-account tokens: each raise adds one and drops the one before the last."""
    encryption: Annotated[int, Field(ge=0)] = 0
    """Keys of Secrets at rest: each raise puts a new key first and keeps the older ones."""
    desired_state: Annotated[int, Field(ge=0)] = 0
    """Key that authenticates the desired-state pointer."""
    administrator: Annotated[int, Field(ge=0)] = 0
    """The administrator's certificate."""
    images: Annotated[int, Field(ge=0)] = 0
    """Machine images: looked up anew, and every pool whose image is another one then is rolled."""


class ClusterSpec(Model):
    """One cluster."""

    cloud: Cloud
    """aws, azure or gcp."""
    kubernetes: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    """Kubernetes version with its patch, e.g. "1.37.0"; quote it."""
    network: Network
    """Ranges, mode and the way out."""
    api: Api = Api()
    """Access to the Kubernetes API."""
    control_plane: ControlPlane
    """The Linux machines that run the control plane."""
    pools: dict[str, Pool] = {}
    """Workers by pool name."""
    kubeadm: Kubeadm = Kubeadm()
    """kubeadm on all Linux machines."""
    addons: Addons = Addons()
    """Add-ons beside those that every cluster has."""
    images: dict[OperatingSystem, str] = {}
    """Pinned image ids by operating system. Default: looked up once, then kept."""
    owner: str | None = None
    """Who to ask about the cluster; a tag on every resource."""
    tags: dict[str, str] = {}
    """Tags on every resource that takes tags."""
    protect: bool = False
    """Refuse to delete the cluster."""
    expires: str | None = None
    """A tag for other tools, deletes nothing: 8h, 3d or "2027-12-24T18:00:00Z". `down` then deletes snapshots too."""
    rotation: Rotation = Rotation()
    """Generations of the generated secrets."""
    cloud_controller: CloudController = CloudController.NONE
    """none, or external."""
    registry_credentials: list[str] = []
    """Registries whose credential provider nodes get: ecr, acr, gar."""
    access: MachineAccess = MachineAccess.NONE
    """none, or session (Session Manager, Bastion, IAP)."""
    proxy: Proxy | None = None
    """The web proxy that machines must use."""
    trusted_cas: list[str] = []
    """PEM certificates that machines trust besides the system's."""
    artifacts: Artifacts = Artifacts()
    """Where downloads come from, and what they must be."""
    encryption_key: str | None = None
    """Id of the cloud key that encrypts disks, buckets and secrets. Default: the cloud's own."""
    csi: list[str] = []
    """Storage drivers to install: ebs, efs, azuredisk, azurefile, pd, smb."""
    gmsa: bool = False
    """Group managed service accounts for Windows pods."""
    acknowledge: dict[str, str] = {}
    """Warnings accepted, by check id, each with a reason."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.cluster(data)
