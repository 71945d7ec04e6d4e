"""Options with a closed list of values."""

from enum import Enum

from components.clouds import CLOUDS, CloudFacts
from components.naming import Share


class Cloud(str, Enum):
    """Cloud in which the machines run."""

    AWS = "aws"
    AZURE = "azure"
    GCP = "gcp"

    @property
    def facts(self) -> CloudFacts:
        """The row of `CLOUDS` for this cloud."""
        return CLOUDS[self.value]


class OperatingSystem(str, Enum):
    """Operating system of a machine. Windows names mean Server Core of that release."""

    UBUNTU_22_04 = "ubuntu-22.04"
    UBUNTU_24_04 = "ubuntu-24.04"
    DEBIAN_12 = "debian-12"
    WINDOWS_2019 = "windows-2019"
    WINDOWS_2022 = "windows-2022"
    WINDOWS_2025 = "windows-2025"

    @property
    def is_windows(self) -> bool:
        """Whether the system is Windows Server, not Linux."""
        return self.value.startswith("windows")


class System(str, Enum):
    """Family of operating systems that a program is built for."""

    LINUX = "linux"
    WINDOWS = "windows"


class Runtime(str, Enum):
    """Container runtime of a node."""

    CONTAINERD = "containerd"
    DOCKER = "docker"


class Isolation(str, Enum):
    """How containers of a Windows node may be isolated from it."""

    PROCESS = "process"
    HYPERV = "hyperv"


class NetworkMode(str, Enum):
    """How pods of different nodes reach each other (the five Windows modes, NET-01)."""

    OVERLAY = "overlay"
    L2BRIDGE = "l2bridge"
    L2TUNNEL = "l2tunnel"
    TRANSPARENT = "transparent"
    NAT = "nat"


class Egress(str, Enum):
    """How machines reach the internet."""

    NAT = "nat"
    PUBLIC = "public"
    NONE = "none"


class NatGateways(str, Enum):
    """Number of NAT gateways: one, or one per zone."""

    SINGLE = "single"
    ZONAL = "zonal"


class ApiAccess(str, Enum):
    """Who can reach the Kubernetes API from outside the cluster's network."""

    PRIVATE = "private"
    PUBLIC = "public"


class PriorityClass(str, Enum):
    """Windows process priority classes that kubelet and kube-proxy accept (RES-03)."""

    IDLE = "IDLE_PRIORITY_CLASS"
    BELOW_NORMAL = "BELOW_NORMAL_PRIORITY_CLASS"
    NORMAL = "NORMAL_PRIORITY_CLASS"
    ABOVE_NORMAL = "ABOVE_NORMAL_PRIORITY_CLASS"
    HIGH = "HIGH_PRIORITY_CLASS"
    REALTIME = "REALTIME_PRIORITY_CLASS"


class CloudController(str, Enum):
    """Whether a cloud controller manager initialises nodes and makes load balancers of Services."""

    NONE = "none"
    EXTERNAL = "external"


class MachineAccess(str, Enum):
    """Access from outside the network by sessions of the cloud. No port is open to the internet."""

    NONE = "none"
    SESSION = "session"


class Gate(str, Enum):
    """State that new workers must reach before the next wave is replaced."""

    REGISTERED = "registered"
    READY = "ready"


class TokenIssuer(str, Enum):
    """What API servers do with the public issuer of service-account tokens."""

    SIGNS = "signs"
    ACCEPTED = "accepted"


class WorkerIdentity(str, Enum):
    """Which workers share an identity in the cloud, where that is a choice."""

    MACHINE = "machine"
    POOL = "pool"

    def share(self, cloud: Cloud) -> Share:
        """Return which workers share an identity in a cloud."""
        return Share.POOL if self is WorkerIdentity.POOL else cloud.facts.workers_share


class Licence(str, Enum):
    """Who provides the licence of Windows."""

    INCLUDED = "included"
    OWN = "own"


class WorkloadRules(str, Enum):
    """What the API server does with workloads that Windows nodes cannot run."""

    NONE = "none"
    WARN = "warn"
    ENFORCE = "enforce"


class PodSecurityLevel(str, Enum):
    """A level of the Pod Security Standards."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class Registry(str, Enum):
    """Cloud registry of images: of AWS, Azure or Google Cloud."""

    ECR = "ecr"
    ACR = "acr"
    GAR = "gar"


class StorageDriver(str, Enum):
    """Storage driver (CSI)."""

    EBS = "ebs"
    EFS = "efs"
    AZUREDISK = "azuredisk"
    AZUREFILE = "azurefile"
    PD = "pd"
    SMB = "smb"
