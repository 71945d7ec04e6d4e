"""What a user gives `MixedCluster`: models of groups of options as TypedDicts. Written by `make generate`."""

from typing import Any

from typing_extensions import NotRequired, TypedDict

from components.spec.models import ApiAccess, EtcdDiskType, Gate, PodSecurityLevel, PriorityClass, System, WorkloadRules


class OidcArgs(TypedDict):
    """Sign-in of people through an OpenID Connect provider, beside the administrator's certificate."""

    issuer: str
    """URL of the provider, as in the claim `iss` of its tokens; control planes must reach it."""
    client: str
    """Client id that tokens must be issued for (claim `aud`)."""
    username_claim: NotRequired[str]
    """Claim with the user's name."""
    groups_claim: NotRequired[str]
    """Claim with the user's groups."""
    prefix: NotRequired[str]
    """Text before the names of users and groups in the cluster."""
    required_claims: NotRequired[dict[str, str]]
    """Claims that tokens must have, with their values."""
    admins: NotRequired[list[str]]
    """Groups with the role cluster-admin, named as in the token."""
    editors: NotRequired[list[str]]
    """Groups with the role edit in all namespaces, named as in the token."""
    viewers: NotRequired[list[str]]
    """Groups with the role view in all namespaces, named as in the token."""


class ApiArgs(TypedDict):
    """Access to the Kubernetes API."""

    access: NotRequired[ApiAccess]
    """Who reaches the API: private (the cluster's network) or public (also the ranges in `allow`)."""
    allow: NotRequired[list[str]]
    """Ranges that reach the API, a private one from connected networks only; on Azure public ones reach the stores."""
    virtual_network_rules: NotRequired[list[str]]
    """Azure only: ids of further subnets whose machines reach the storage accounts, for `mullion` in their region."""
    oidc: NotRequired[OidcArgs]
    """Sign-in of people through an OpenID Connect provider, beside the administrator's certificate."""
    audit_days: NotRequired[int]
    """Days for which the snapshot store keeps the API servers' audit logs; 0: they stay on the machines only."""


class ReserveArgs(TypedDict):
    """Resources that pods cannot use."""

    cpu: NotRequired[str]
    """CPU as a Kubernetes quantity, e.g. 500m."""
    memory: NotRequired[str]
    """Memory as a Kubernetes quantity, e.g. 2Gi."""
    ephemeral_storage: NotRequired[str]
    """Disk as a Kubernetes quantity, e.g. 1Gi."""


class KubeletArgs(TypedDict):
    """The kubelet of a pool's or the control plane's machines."""

    system_reserved: NotRequired[ReserveArgs]
    """Reserved for the operating system. Default on Windows: 2Gi, and a tenth of the cores (at least 500m)."""
    kube_reserved: NotRequired[ReserveArgs]
    """Reserved for kubelet and container runtime. Default of Linux pools: by size and max_pods, as GKE and EKS do."""
    eviction_hard: NotRequired[dict[str, str]]
    """Hard eviction thresholds by signal, e.g. memory.available: 500Mi; signals left out keep the kubelet's default."""
    accept_low_reserve: NotRequired[bool]
    """Allow system_reserved.memory below 2Gi on Windows (RES-01)."""
    priority_class: NotRequired[PriorityClass]
    """Priority class of the kubelet's process; Windows only. Default there: ABOVE_NORMAL_PRIORITY_CLASS."""
    verbosity: NotRequired[int]
    """Log level of the kubelet (--v), 0 to 10."""
    config: NotRequired[dict[str, Any]]
    """Fields of KubeletConfiguration; they override those that Mullion writes."""


class KubeProxyArgs(TypedDict):
    """The kube-proxy of a pool's or the control plane's machines."""

    dsr: NotRequired[bool]
    """Direct server return; Windows only. Default there: true (false takes 64 node ports for each Service port)."""
    config: NotRequired[dict[str, Any]]
    """Fields of KubeProxyConfiguration; they override those that Mullion writes."""


class ContainerdArgs(TypedDict):
    """containerd of a pool's or the control plane's machines."""

    version: NotRequired[str]
    """Version of containerd, e.g. 2.2.7. Default: the newest that is tested with the Kubernetes minor."""
    mirrors: NotRequired[dict[str, list[str]]]
    """URLs of mirrors, by host of the registry (e.g. registry.k8s.io; * for all). The registry itself is asked last."""
    config: NotRequired[dict[str, Any]]
    """Nested tables of config.toml; they override those that Mullion writes."""


class EtcdDiskArgs(TypedDict):
    """A disk that etcd has for itself, which is deleted with its machine."""

    size_gb: NotRequired[int]
    """Size of the disk, GiB. Default: 20; on Azure 128, because the size decides the speed of Premium_LRS."""
    type: NotRequired[EtcdDiskType]
    """gp3, io2 (AWS), Premium_LRS, PremiumV2_LRS (Azure), pd-ssd, hyperdisk-balanced (GCP). Default: the first."""
    iops: NotRequired[int]
    """Operations a second, for gp3, io2 and hyperdisk-balanced. Default: 3000."""
    throughput: NotRequired[int]
    """MiB a second, for gp3 and hyperdisk-balanced. Default: 125 and 140."""


class RolloutArgs(TypedDict):
    """How a pool's machines are replaced."""

    max_unavailable: NotRequired[Any]
    """Machines of the pool that are replaced at once (a wave): a number, or a percentage of `count`, at least 1."""
    drain: NotRequired[str]
    """Time limit for evicting the pods of one machine, e.g. 90s, 10m, 2h. Pods that remain stop the roll."""
    require_drain: NotRequired[bool]
    """Replace no worker that cannot be drained because the Kubernetes API does not answer. false: only warn."""
    gate: NotRequired[Gate]
    """What new nodes must reach before the next wave: registered (in the API, services run) or ready (Node Ready)."""
    canary: NotRequired[str]
    """Replace the pool's first machine alone, and watch it this long, e.g. 30m, before the others. None: no canary."""


class KubeadmArgs(TypedDict):
    """kubeadm on all Linux machines."""

    ignore_preflight: NotRequired[list[str]]
    """Names of preflight checks that are warnings instead of errors (--ignore-preflight-errors)."""
    config: NotRequired[dict[str, dict[str, Any]]]
    """Fields of ClusterConfiguration, InitConfiguration and JoinConfiguration, over Mullion's; null keeps those."""


class PodSecurityArgs(TypedDict):
    """Pod Security Standards for namespaces without labels of their own. Kubernetes 1.23 and newer."""

    enforce: NotRequired[PodSecurityLevel]
    """Level that refuses pods beyond it: privileged (refuses none), baseline or restricted."""
    warn: NotRequired[PodSecurityLevel]
    """Level that warns the person who creates a pod beyond it."""
    audit: NotRequired[PodSecurityLevel]
    """Level that marks pods beyond it in the audit log."""
    exempt_namespaces: NotRequired[list[str]]
    """Namespaces to which no level applies, in addition to kube-system."""


class AdmissionArgs(TypedDict):
    """Admission policies for workloads, by the rules of `mullion lint`. Kubernetes 1.30 and newer."""

    windows_workloads: NotRequired[WorkloadRules]
    """What happens to workloads that Windows nodes cannot run: none, warn (the creator) or enforce (refuse errors)."""
    exempt_namespaces: NotRequired[list[str]]
    """Namespaces whose workloads are not judged, in addition to kube-system."""


class AddonsArgs(TypedDict):
    """Optional add-ons."""

    metrics_server: NotRequired[bool]
    """Install metrics-server, which `kubectl top` and autoscalers read."""


class SnapshotCopyArgs(TypedDict):
    """A bucket of yours that gets a copy of each snapshot. Control planes cannot change or delete copies."""

    bucket: str
    """Name of the bucket, without dots, which its certificate would not cover."""
    region: str
    """Region of the bucket, such as eu-central-1; another one than the cluster's, or the same for a locked bucket."""
    account: NotRequired[str]
    """Number of the account that owns the bucket. Default: the cluster's; copies go to a bucket of no other account."""


class SnapshotsArgs(TypedDict):
    """Snapshots of etcd, which the control plane takes and stores."""

    every_minutes: NotRequired[int]
    """Minutes from one snapshot to the next; every change of the control plane takes one more."""
    keep_days: NotRequired[int]
    """Days after which a snapshot is deleted; the newest 24 always stay, and those that the next two keep."""
    keep_daily: NotRequired[int]
    """Days for which the last snapshot of each day (UTC) stays."""
    keep_weekly: NotRequired[int]
    """Weeks for which the last snapshot of each week (Monday to Sunday, UTC) stays."""
    copy_to: NotRequired[SnapshotCopyArgs]
    """Bucket of yours on AWS that gets a copy of each snapshot. Default: none."""


class RotationArgs(TypedDict):
    """Generations of keys, certificates and images: raise a number by one to renew that item."""

    certificate_authorities: NotRequired[int]
    """Certificate authorities of cluster, front proxy and etcd; raise it three times to replace them (docs/pki.md)."""
    service_account: NotRequired[int]
    """Keys that sign service-account tokens; tokens of the key before the newest stay valid until the next raise."""
    encryption: NotRequired[int]
    """Keys that encrypt Secrets in etcd; a raise encrypts all Secrets with a new key and keeps older keys."""
    desired_state: NotRequired[int]
    """Key that signs the desired-state pointer, which tells control planes their version."""
    administrator: NotRequired[int]
    """Certificate of the administrator, in the kubeconfig."""
    images: NotRequired[int]
    """Machine images; a raise looks up the newest and replaces the machines of pools whose image changed."""


class ProxyArgs(TypedDict):
    """The web proxy of the machines; they reach the cloud's own services without it."""

    http: NotRequired[str]
    """Proxy for http URLs, as http://HOST:PORT."""
    https: NotRequired[str]
    """Proxy for https URLs, as http://HOST:PORT."""
    no_proxy: NotRequired[list[str]]
    """Hosts, domains and ranges reached without the proxy, added to those of the cluster and the cloud."""


class ArtifactEntryArgs(TypedDict):
    """One file that machines download, always for amd64."""

    name: str
    """Name of the program, e.g. kubernetes-node."""
    version: str
    """Version of the program, e.g. 1.37.1."""
    os: System
    """Operating system of the program: linux or windows."""
    url: str
    """Complete URL, without user and query."""
    fallbacks: NotRequired[list[str]]
    """URLs of the same file, which machines ask in order if those before them fail; unused with a mirror."""
    sha256: NotRequired[str]
    """SHA-256, 64 hexadecimal digits in lower case. Write exactly one of sha256, sha512 and digest."""
    sha512: NotRequired[str]
    """SHA-512, 128 hexadecimal digits in lower case."""
    digest: NotRequired[str]
    """Write unknown if no digest is published: `plan` warns, `up` refuses."""
    size: NotRequired[int]
    """Size of the file, bytes."""
    source: NotRequired[str]
    """Origin of the digest, e.g. the URL of a checksum file."""


class ArtifactsArgs(TypedDict):
    """Addresses and digests of the files that machines download."""

    file: NotRequired[str]
    """Path of a JSON file with more `entries`, relative to Pulumi.yaml; `mullion pin` writes one."""
    entries: NotRequired[list[ArtifactEntryArgs]]
    """Files beside those of the catalogue; an entry replaces the catalogue's of the same name, version and os."""
    images: NotRequired[dict[str, str]]
    """Digests of container images, by registry/path:tag; others start by tag. `mullion pin images` finds them."""
    mirror: NotRequired[str]
    """Base URL of a mirror: https://HOST/PATH is downloaded from MIRROR/HOST/PATH; digests stay the same."""
