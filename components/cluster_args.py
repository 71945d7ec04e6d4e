"""What a user gives `MixedCluster`: the spec's models as TypedDicts. Written by `make generate`."""

from typing_extensions import NotRequired, TypedDict

from components.option_args import (
    AddonsArgs,
    AdmissionArgs,
    ApiArgs,
    ArtifactsArgs,
    ContainerdArgs,
    EtcdDiskArgs,
    KubeadmArgs,
    KubeletArgs,
    KubeProxyArgs,
    PodSecurityArgs,
    ProxyArgs,
    RolloutArgs,
    RotationArgs,
    SnapshotsArgs,
)
from components.pod_args import GmsaArgs, IngressArgs, PodIdentityArgs
from components.spec.models import (
    Cloud,
    CloudController,
    Egress,
    Isolation,
    Licence,
    MachineAccess,
    NatGateways,
    NetworkMode,
    OperatingSystem,
    Runtime,
    WorkerIdentity,
)


class ExistingSubnetArgs(TypedDict):
    """A subnet that you own and in which machines are built."""

    id: str
    """Id of the subnet: subnet-... (AWS), /subscriptions/.../subnets/NAME (Azure), projects/.../subnetworks/NAME."""
    range: str
    """Range of the subnet; machines have fixed addresses in it, so nothing else may use addresses of this subnet."""


class ExistingBastionArgs(TypedDict):
    """An Azure Bastion host that you own, in the network or in a peered one, with the native client switched on."""

    id: str
    """Id of the host: /subscriptions/.../bastionHosts/NAME."""
    range: str
    """Range of the host's subnet (AzureBastionSubnet), which the control plane admits to the API."""


class ExistingNetworkArgs(TypedDict):
    """A network that you own and in which the cluster is built. Mullion changes, tags and deletes nothing of it."""

    network: str
    """Id of the network: vpc-... (AWS), /subscriptions/.../virtualNetworks/NAME (Azure), projects/.../networks/NAME."""
    subnets: list[ExistingSubnetArgs]
    """Subnets of machines, one per zone; on Azure and GCP one may serve all zones."""
    public_subnets: NotRequired[list[str]]
    """AWS only: ids of subnets with a route to an internet gateway, for public load balancers."""
    private_zone: NotRequired[str]
    """AWS only: id of the private hosted zone NAME.mullion.internal, if another account owns the VPC."""
    service_zones: NotRequired[list[str]]
    """With `egress: none`: DNS zones (AWS: names; Azure: .../virtualNetworkLinks/NAME; GCP: .../managedZones/NAME)."""
    bastion: NotRequired[ExistingBastionArgs]
    """Azure only: your Bastion host for sessions (`access: session`), because Mullion builds none in your network."""


class NetworkArgs(TypedDict):
    """Address ranges, network mode, zones and egress."""

    mode: NotRequired[NetworkMode]
    """How pods reach pods of other nodes: overlay (flannel VXLAN) or l2bridge (routes of the cloud)."""
    pods: NotRequired[str]
    """Range of pods; each node gets a /24 of it (IPP-01, IPP-02). Default: 10.244.0.0/16; l2bridge: 10.244.0.0/14."""
    services: NotRequired[str]
    """Range of the cluster IPs of Services (IPP-01)."""
    nodes: NotRequired[str]
    """Range of the cloud network. Default: 10.20.0.0/16; l2bridge: 10.20.0.0/22; else around `existing`."""
    dns: NotRequired[str]
    """Cluster IP of the DNS Service. Default: the tenth address of `services` (IPP-06)."""
    domain: NotRequired[str]
    """DNS domain of Services and pods."""
    vni: NotRequired[int]
    """VXLAN network identifier, 4096 to 65535 (smaller ones do not work on Windows, FLN-02)."""
    port: NotRequired[int]
    """UDP port of VXLAN, 4789 (Windows has no other, FLN-02)."""
    zones: NotRequired[int]
    """Number of availability zones. Default: 1 with one control-plane machine, else 3; or one per existing subnet."""
    zone_names: NotRequired[list[str]]
    """Names of the availability zones. Default: the first of the region, looked up at the first `up`, then kept."""
    egress: NotRequired[Egress]
    """How machines reach the internet: nat (through NAT), public (each has a public address), none (no way out)."""
    nat_gateways: NotRequired[NatGateways]
    """One NAT gateway (single) or one per zone (zonal). Default: zonal if control_plane.count is 3, else single."""
    outside: NotRequired[list[str]]
    """Ranges of other networks that the cluster talks to (peered networks, offices); it must not overlap them."""
    neighbour_pods: NotRequired[list[str]]
    """Pod ranges of other clusters on the same network; `pods` may overlap them in mode overlay only (IPP-05)."""
    route_limit: NotRequired[int]
    """Quota of routes in one route table of your account, for l2bridge. Default: AWS 500, Azure 400, GCP 250."""
    exporter_ports: NotRequired[list[int]]
    """TCP ports of metrics exporters on the machines' own addresses, open between all machines of the cluster."""
    existing: NotRequired[ExistingNetworkArgs]
    """A network of yours to build in, instead of a new one."""


class ExistingClusterArgs(TypedDict):
    """A Linux cluster that somebody else made with kubeadm, and that the pools join. Mullion changes no machine of it.

    `kubernetes` is the version of the Windows nodes; `network` has the cluster's ranges, DNS, VNI and port.
    """

    endpoint: str
    """URL of the API for nodes, https://HOST:PORT; the host must be in the API server's certificate."""
    ca: str
    """The cluster's certificate authority (PEM), from kube-public/cluster-info. Not secret."""
    nodes: list[str]
    """Ranges of the cluster's own machines, from which the pools' firewall admits pods' traffic and the API servers."""


class ControlPlaneArgs(TypedDict):
    """The Linux machines that run the control plane and etcd."""

    count: NotRequired[int]
    """Number of control-plane machines: 1 or 3."""
    os: NotRequired[OperatingSystem]
    """Operating system: a Linux distribution."""
    size: NotRequired[str]
    """Instance type. Default: AWS m6i.large, Azure Standard_D2s_v5, GCP n2-standard-2."""
    disk_gb: NotRequired[int]
    """Size of the root disk, GiB."""
    kubelet: NotRequired[KubeletArgs]
    """The kubelet of the machines."""
    kube_proxy: NotRequired[KubeProxyArgs]
    """kube-proxy of all Linux machines, which one DaemonSet runs."""
    containerd: NotRequired[ContainerdArgs]
    """containerd of the machines."""
    etcd_disk: NotRequired[EtcdDiskArgs]
    """A disk that etcd has for itself; {} takes the defaults. None: etcd shares the root disk."""
    reboot_window: NotRequired[str]
    """Time of each day, UTC, when machines restart in turn for new kernels, e.g. 02:00-05:00. None: never."""


class PoolArgs(TypedDict):
    """A pool: workers of one operating system, size and configuration."""

    count: NotRequired[int]
    """Number of machines."""
    os: OperatingSystem
    """Operating system of the machines; Windows is Server Core."""
    size: NotRequired[str]
    """Instance type. Default on AWS: m6i.large, for Windows m6i.xlarge."""
    disk_gb: NotRequired[int]
    """Size of the root disk, GiB. Default: 50, for Windows 128 (its images are large)."""
    kubelet: NotRequired[KubeletArgs]
    """The kubelet of the machines."""
    kube_proxy: NotRequired[KubeProxyArgs]
    """kube-proxy of the machines; in a pool Windows only (control_plane.kube_proxy is for Linux)."""
    containerd: NotRequired[ContainerdArgs]
    """containerd of the machines."""
    runtime: NotRequired[Runtime]
    """Container runtime: containerd, or docker (Windows only)."""
    isolation: NotRequired[Isolation]
    """Isolation that the nodes offer: process, or hyperv (Windows only): also Hyper-V, by RuntimeClass."""
    max_pods: NotRequired[int]
    """Maximum number of pods per node; a node's /24 has addresses for 252 (IPP-04)."""
    labels: NotRequired[dict[str, str]]
    """Labels of the nodes."""
    taints: NotRequired[list[str]]
    """Taints of the nodes, key=value:Effect. Default on Windows: os=windows:NoSchedule (SCH-02)."""
    rollout: NotRequired[RolloutArgs]
    """How the pool's machines are replaced."""
    slot: NotRequired[int]
    """Number of the pool's block of node addresses. Default: from its name; set it if pools overlap."""
    pre_pull: NotRequired[list[str]]
    """Images that Windows machines pull before they join, without credentials; baked images contain them."""
    licence: NotRequired[Licence]
    """Licence of Windows: included in the price, or own (Azure Hybrid Benefit, for licences that you have)."""
    spot: NotRequired[bool]
    """Use spot capacity, which the cloud may take back; Nodes have the label mullion.dev/spot=true."""


class BudgetArgs(TypedDict):
    """The most that the cluster may cost, by the price tables of `mullion cost`."""

    month: int
    """USD a month of 730 hours. `plan` and `up` refuse a cluster that costs more, with spot at its price on demand."""


class ClusterArgs(TypedDict):
    """One cluster."""

    cloud: Cloud
    """The cloud: aws, azure or gcp."""
    kubernetes: str
    """Kubernetes version with its patch, in quotes, e.g. "1.37.0"."""
    network: NotRequired[NetworkArgs]
    """Address ranges, network mode, zones and egress."""
    existing_cluster: NotRequired[ExistingClusterArgs]
    """A Linux cluster of yours that the pools join, instead of a new one; Windows pools on AWS (`mullion join`)."""
    api: NotRequired[ApiArgs]
    """Access to the Kubernetes API."""
    ingress: NotRequired[IngressArgs]
    """Traffic from outside to node ports: load balancers of the cloud, and ranges that reach node ports."""
    control_plane: NotRequired[ControlPlaneArgs]
    """The Linux machines that run the control plane."""
    pools: NotRequired[dict[str, PoolArgs]]
    """Pools of workers, by name."""
    kubeadm: NotRequired[KubeadmArgs]
    """kubeadm on all Linux machines."""
    pod_security: NotRequired[PodSecurityArgs]
    """Pod Security Standards for namespaces without labels of their own. Kubernetes 1.23 and newer."""
    admission: NotRequired[AdmissionArgs]
    """Admission policies for workloads, by the rules of `mullion lint`. Kubernetes 1.30 and newer."""
    addons: NotRequired[AddonsArgs]
    """Optional add-ons."""
    snapshots: NotRequired[SnapshotsArgs]
    """Snapshots of etcd, from which `mullion restore` rebuilds a control plane."""
    images: NotRequired[dict[str, str]]
    """Ids of machine images, by operating system. Default: looked up at the first `up`, then kept."""
    owner: NotRequired[str]
    """Person or team responsible for the cluster; a tag on every resource."""
    tags: NotRequired[dict[str, str]]
    """Tags (on GCP labels) of every resource that can have them."""
    protect: NotRequired[bool]
    """Refuse `down` and the deletion of the cluster."""
    expires: NotRequired[str]
    """End of a temporary cluster: 8h, 3d or "2027-12-24T18:00:00Z". From then on `mullion reap` may remove it."""
    budget: NotRequired[BudgetArgs]
    """The most that the cluster may cost. Default: no limit."""
    rotation: NotRequired[RotationArgs]
    """Generations of keys, certificates and images: raise a number by one to renew that item."""
    cloud_controller: NotRequired[CloudController]
    """Cloud controller manager, which makes load balancers of Services: none, or external (AWS only)."""
    registry_credentials: NotRequired[list[str]]
    """Cloud registries that nodes pull from with their own identity: ecr (AWS), acr (Azure), gar (Google Cloud)."""
    pod_identity: NotRequired[PodIdentityArgs]
    """Roles of the cloud for pods, by their service accounts; AWS only. Default: pods have none."""
    worker_identity: NotRequired[WorkerIdentity]
    """Service accounts of workers: one for each machine, or (GCP only) one for each pool, which its workers share."""
    access: NotRequired[MachineAccess]
    """Access from outside to a private API, and to shells: none, or session (Session Manager, Bastion, IAP)."""
    proxy: NotRequired[ProxyArgs]
    """The web proxy that machines must use."""
    trusted_cas: NotRequired[list[str]]
    """Certificate authorities (PEM) that machines trust in addition to the system's."""
    artifacts: NotRequired[ArtifactsArgs]
    """Addresses and digests of the files that machines download."""
    encryption_key: NotRequired[str]
    """Id of your key, which encrypts disks and stores, on AWS and GCP secrets too. Default: the cloud's own key."""
    encryption_identity: NotRequired[str]
    """Azure only, required with encryption_key: id of the managed identity that may use the key."""
    csi: NotRequired[list[str]]
    """Storage drivers to install: ebs (AWS), pd (GCP, Linux alone), smb. Not built yet: efs, azuredisk, azurefile."""
    gmsa: NotRequired[GmsaArgs]
    """Group managed service accounts (gMSA) for Windows pods. Kubernetes 1.30 and newer."""
    acknowledge: NotRequired[dict[str, str]]
    """Reasons for accepting warnings, by the id of the check."""
