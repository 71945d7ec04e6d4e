"""Options of `mullion:cluster`, which describes one cluster: types, defaults and meanings.

Defaults that depend on another option (operating system, cloud, service range) are in `defaults.py` and filled in
before validation, so a `ClusterSpec` is always complete. Whether options fit together is decided in components/checks.
"""

from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any

from pydantic import Field, model_validator

from components.spec import defaults
from components.spec.access import Admission, Api, Oidc, PodSecurity
from components.spec.authorities import Authorities
from components.spec.budget import Budget
from components.spec.choices import (
    ApiAccess,
    Cloud,
    CloudController,
    Egress,
    Gate,
    Isolation,
    Licence,
    MachineAccess,
    NatGateways,
    NetworkMode,
    OperatingSystem,
    PodSecurityLevel,
    PriorityClass,
    Registry,
    Runtime,
    StorageDriver,
    System,
    TokenIssuer,
    WorkerIdentity,
    WorkloadRules,
)
from components.spec.etcd_disk import EtcdDisk, EtcdDiskType
from components.spec.existing import ExistingCluster, ExistingNetwork, ExistingSubnet
from components.spec.gmsa import Gmsa
from components.spec.ingress import Ingress, Port
from components.spec.options import (
    Addons,
    Artifacts,
    Containerd,
    DayWindow,
    ImageName,
    Kubeadm,
    Kubelet,
    KubeProxy,
    Model,
    Proxy,
    Reserve,
    Rollout,
    Rotation,
)
from components.spec.pod_identity import PodIdentity
from components.spec.snapshots import Snapshots

__all__ = [
    "Api",
    "ApiAccess",
    "Artifacts",
    "Cloud",
    "CloudController",
    "ClusterSpec",
    "Containerd",
    "ControlPlane",
    "Egress",
    "EtcdDiskType",
    "ExistingCluster",
    "ExistingNetwork",
    "ExistingSubnet",
    "Gate",
    "Isolation",
    "KubeProxy",
    "Kubelet",
    "Licence",
    "MachineAccess",
    "MachineOptions",
    "NatGateways",
    "Network",
    "NetworkMode",
    "Oidc",
    "OperatingSystem",
    "PodSecurity",
    "PodSecurityLevel",
    "Pool",
    "PriorityClass",
    "Reserve",
    "Rotation",
    "Runtime",
    "System",
    "TokenIssuer",
    "WorkloadRules",
]


class Network(Model):
    """Address ranges, network mode, zones and egress."""

    mode: NetworkMode = NetworkMode.OVERLAY
    """How pods reach pods of other nodes: overlay (flannel VXLAN) or l2bridge (routes of the cloud)."""
    pods: IPv4Network
    """Range of pods; each node gets a /24 of it (IPP-01, IPP-02). Default: 10.244.0.0/16; l2bridge: 10.244.0.0/14."""
    services: IPv4Network = IPv4Network("10.96.0.0/12")
    """Range of the cluster IPs of Services (IPP-01)."""
    nodes: IPv4Network
    """Range of the cloud network. Default: 10.20.0.0/16; l2bridge: 10.20.0.0/22; else around `existing`."""
    dns: IPv4Address
    """Cluster IP of the DNS Service. Default: the tenth address of `services` (IPP-06)."""
    domain: str = "cluster.local"
    """DNS domain of Services and pods."""
    vni: int = 4096
    """VXLAN network identifier, 4096 to 65535 (smaller ones do not work on Windows, FLN-02)."""
    port: int = 4789
    """UDP port of VXLAN, 4789 (Windows has no other, FLN-02)."""
    zones: Annotated[int, Field(ge=1, le=3)]
    """Number of availability zones. Default: 1 with one control-plane machine, else 3; or one per existing subnet."""
    zone_names: list[str] = []
    """Names of the availability zones. Default: the first of the region, looked up at the first `up`, then kept."""
    egress: Egress = Egress.NAT
    """How machines reach the internet: nat (through NAT), public (each has a public address), none (no way out)."""
    nat_gateways: NatGateways
    """One NAT gateway (single) or one per zone (zonal). Default: zonal if control_plane.count is 3, else single."""
    outside: list[IPv4Network] = []
    """Ranges of other networks that the cluster talks to (peered networks, offices); it must not overlap them."""
    neighbour_pods: list[IPv4Network] = []
    """Pod ranges of other clusters on the same network; `pods` may overlap them in mode overlay only (IPP-05)."""
    route_limit: Annotated[int, Field(ge=1)] | None = None
    """Quota of routes in one route table of your account, for l2bridge. Default: AWS 500, Azure 400, GCP 250."""
    exporter_ports: list[Port] = []
    """TCP ports of metrics exporters on the machines' own addresses, open between all machines of the cluster."""
    existing: ExistingNetwork | None = None
    """A network of yours to build in, instead of a new one."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.network(data)


InstanceType = Annotated[str, Field(min_length=1)]
DiskGb = Annotated[int, Field(ge=20, le=16384)]


class MachineOptions(Model):
    """Options that the control plane and pools share."""

    count: Annotated[int, Field(ge=0, le=5000)] = 1
    """Number of machines."""
    os: OperatingSystem
    """Operating system of the machines; Windows is Server Core."""
    size: InstanceType
    """Instance type. Default on AWS: m6i.large, for Windows m6i.xlarge."""
    disk_gb: DiskGb
    """Size of the root disk, GiB. Default: 50, for Windows 128 (its images are large)."""
    kubelet: Kubelet = Kubelet()
    """The kubelet of the machines."""
    kube_proxy: KubeProxy = KubeProxy()
    """kube-proxy of the machines; in a pool Windows only (control_plane.kube_proxy is for Linux)."""
    containerd: Containerd = Containerd()
    """containerd of the machines."""


class ControlPlane(MachineOptions):
    """The Linux machines that run the control plane and etcd."""

    count: Annotated[int, Field(le=5000, json_schema_extra={"enum": [1, 3]})] = 1
    """Number of control-plane machines: 1 or 3."""
    os: OperatingSystem = OperatingSystem.UBUNTU_24_04
    """Operating system: a Linux distribution."""
    size: InstanceType
    """Instance type. Default: AWS m6i.large, Azure Standard_D2s_v5, GCP n2-standard-2."""
    disk_gb: DiskGb = 50
    """Size of the root disk, GiB."""
    etcd_disk: EtcdDisk | None = None
    """A disk that etcd has for itself; {} takes the defaults. None: etcd shares the root disk."""
    kube_proxy: KubeProxy = KubeProxy()
    """kube-proxy of all Linux machines, which one DaemonSet runs."""
    reboot_window: DayWindow | None = None
    """Time of each day, UTC, when machines restart in turn for new kernels, e.g. 02:00-05:00. None: never."""


class Pool(MachineOptions):
    """A pool: workers of one operating system, size and configuration."""

    runtime: Runtime = Runtime.CONTAINERD
    """Container runtime: containerd, or docker (Windows only)."""
    isolation: Isolation = Isolation.PROCESS
    """Isolation that the nodes offer: process, or hyperv (Windows only): also Hyper-V, by RuntimeClass."""
    max_pods: Annotated[int, Field(ge=1, le=1000)] = 110
    """Maximum number of pods per node; a node's /24 has addresses for 252 (IPP-04)."""
    labels: dict[str, str] = {}
    """Labels of the nodes."""
    taints: list[str]
    """Taints of the nodes, key=value:Effect. Default on Windows: os=windows:NoSchedule (SCH-02)."""
    rollout: Rollout = Rollout()
    """How the pool's machines are replaced."""
    slot: Annotated[int, Field(ge=0)] | None = None
    """Number of the pool's block of node addresses. Default: from its name; set it if pools overlap."""
    pre_pull: list[ImageName] = []
    """Images that Windows machines pull before they join, without credentials; baked images contain them."""
    licence: Licence = Licence.INCLUDED
    """Licence of Windows: included in the price, or own (Azure Hybrid Benefit, for licences that you have)."""
    spot: bool = False
    """Use spot capacity, which the cloud may take back; Nodes have the label mullion.dev/spot=true."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.pool(data)


class ClusterSpec(Model):
    """One cluster."""

    cloud: Cloud
    """The cloud: aws, azure or gcp."""
    kubernetes: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    """Kubernetes version with its patch, in quotes, e.g. "1.37.0"."""
    network: Network
    """Address ranges, network mode, zones and egress."""
    existing_cluster: ExistingCluster | None = None
    """A Linux cluster of yours that the pools join, instead of a new one; Windows pools on AWS (`mullion join`)."""
    api: Api = Api()
    """Access to the Kubernetes API."""
    ingress: Ingress = Ingress()
    """Traffic from outside to node ports: load balancers of the cloud, and ranges that reach node ports."""
    control_plane: ControlPlane
    """The Linux machines that run the control plane."""
    pools: dict[str, Pool] = {}
    """Pools of workers, by name."""
    kubeadm: Kubeadm = Kubeadm()
    """kubeadm on all Linux machines."""
    pod_security: PodSecurity = PodSecurity()
    """Pod Security Standards for namespaces without labels of their own. Kubernetes 1.23 and newer."""
    admission: Admission = Admission()
    """Admission policies for workloads, by the rules of `mullion lint`. Kubernetes 1.30 and newer."""
    addons: Addons = Addons()
    """Optional add-ons."""
    snapshots: Snapshots = Snapshots()
    """Snapshots of etcd, from which `mullion restore` rebuilds a control plane."""
    images: dict[OperatingSystem, str] = {}
    """Ids of machine images, by operating system. Default: looked up at the first `up`, then kept."""
    owner: str | None = None
    """Person or team responsible for the cluster; a tag on every resource."""
    tags: dict[str, str] = {}
    """Tags (on GCP labels) of every resource that can have them."""
    protect: bool = False
    """Refuse `down` and the deletion of the cluster."""
    expires: str | None = None
    """End of a temporary cluster: 8h, 3d or "2027-12-24T18:00:00Z". From then on `mullion reap` may remove it."""
    budget: Budget | None = None
    """The most that the cluster may cost. Default: no limit."""
    rotation: Rotation = Rotation()
    """Generations of keys, certificates and images: raise a number by one to renew that item."""
    cloud_controller: CloudController = CloudController.NONE
    """Cloud controller manager, which makes load balancers of Services: none, or external (AWS only)."""
    registry_credentials: list[Registry] = []
    """Cloud registries that nodes pull from with their own identity: ecr (AWS), acr (Azure), gar (Google Cloud)."""
    pod_identity: PodIdentity | None = None
    """Roles of the cloud for pods, by their service accounts; AWS only. Default: pods have none."""
    worker_identity: WorkerIdentity = WorkerIdentity.MACHINE
    """Service accounts of workers: one for each machine, or (GCP only) one for each pool, which its workers share."""
    access: MachineAccess = MachineAccess.NONE
    """Access from outside to a private API, and to shells: none, or session (Session Manager, Bastion, IAP)."""
    proxy: Proxy | None = None
    """The web proxy that machines must use."""
    trusted_cas: list[str] = []
    """Certificate authorities (PEM) that machines trust in addition to the system's."""
    artifacts: Artifacts = Artifacts()
    """Addresses and digests of the files that machines download."""
    encryption_key: str | None = None
    """Id of your key, which encrypts disks and stores, on AWS and GCP secrets too. Default: the cloud's own key."""
    encryption_identity: str | None = None
    """Azure only, required with encryption_key: id of the managed identity that may use the key."""
    csi: list[StorageDriver] = []
    """Storage drivers to install: ebs (AWS), pd (GCP, Linux alone), smb. Not built yet: efs, azuredisk, azurefile."""
    gmsa: Gmsa = Gmsa()
    """Group managed service accounts (gMSA) for Windows pods. Kubernetes 1.30 and newer."""
    acknowledge: dict[str, str] = {}
    """Reasons for accepting warnings, by the id of the check."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        return defaults.cluster(data)

    @property
    def authorities(self) -> Authorities:
        """Return the generations of certificate authorities that are trusted and that sign."""
        return Authorities(self.rotation.certificate_authorities)
