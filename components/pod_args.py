"""What a user gives `MixedCluster`: identities of pods and ingress as TypedDicts. Written by `make generate`."""

from typing import Any

from typing_extensions import NotRequired, TypedDict

from components.spec.models import TokenIssuer


class ForwardedPortArgs(TypedDict):
    """A TCP port of a load balancer, and the node port that it forwards to."""

    port: int
    """Port at which clients connect. On GCP it must be the node port."""
    node_port: int
    """Node port of a Service, `nodePort` in its manifest."""


class HealthCheckArgs(TypedDict):
    """How a load balancer finds out which machines take connections."""

    port: NotRequired[int]
    """Port to check: a node port or kube-proxy's 10256. Default: each node port; on GCP, or with a path, the first."""
    path: NotRequired[str]
    """Path that must answer an HTTP request with 200. Default: none, a TCP connection is enough."""


class LoadBalancerArgs(TypedDict):
    """A TCP load balancer of the cloud in front of the machines of pools."""

    pools: list[str]
    """Pools whose machines get the connections."""
    ports: list[ForwardedPortArgs]
    """TCP ports, and the node ports that they forward to."""
    allow: list[str]
    """Ranges that may connect; 0.0.0.0/0 is everybody."""
    internal: NotRequired[bool]
    """Whether its address is private, for clients in the cluster's and connected networks; else it is public."""
    health: NotRequired[HealthCheckArgs]
    """How it finds out which machines take connections."""


class NodePortsArgs(TypedDict):
    """Node ports that clients reach at the addresses of the workers, without a load balancer."""

    ports: NotRequired[list[int]]
    """TCP node ports to open on all workers."""
    allow: NotRequired[list[str]]
    """Ranges that may connect."""


class IngressArgs(TypedDict):
    """Traffic from outside to node ports, without a cloud controller."""

    load_balancers: NotRequired[dict[str, LoadBalancerArgs]]
    """Load balancers, by name."""
    node_ports: NotRequired[NodePortsArgs]
    """Node ports that clients reach at the addresses of the workers."""


class ServiceAccountArgs(TypedDict):
    """A service account of Kubernetes whose pods get a role of the cloud."""

    namespace: str
    """Namespace of the service account."""
    name: str
    """Name of the service account."""
    policies: NotRequired[list[str]]
    """AWS: ARNs of the managed policies that its role gets; IAM attaches 10 to a role, and 20 with a higher quota."""


class PodIdentityArgs(TypedDict):
    """Roles of the cloud for pods, by their service accounts. On AWS and Azure the issuer of tokens becomes public."""

    issuer: NotRequired[TokenIssuer]
    """AWS, Azure: whether API servers sign tokens for the public issuer, or only accept them: before and after."""
    service_accounts: NotRequired[list[ServiceAccountArgs]]
    """Service accounts, and what their pods may do in the cloud."""


class NamedGmsaArgs(TypedDict):
    """A gMSA that pods may have by its name."""

    contents: dict[str, Any]
    """The JSON that New-CredentialSpec writes, with HostAccountConfig. No secret: who may read pods reads it."""
    users: NotRequired[list[str]]
    """Service accounts whose pods may have it, as NAMESPACE/NAME."""


class CcgPluginArgs(TypedDict):
    """The plug-in of Container Credential Guard that gives Windows machines an account of the domain.

    Its DLL is an entry of `artifacts.entries` with the name ccg-plugin, this version and os: windows; or the machines'
    image has it, registered (`preinstalled`).
    """

    clsid: str
    """COM class of the plug-in, in braces, as its publisher names it; PluginGUID of the credential specs."""
    version: NotRequired[str]
    """Version of the plug-in, as in artifacts.entries. Required without preinstalled."""
    preinstalled: NotRequired[bool]
    """Whether the image of the Windows machines has the plug-in, registered: nothing is downloaded."""


class GmsaArgs(TypedDict):
    """Group managed service accounts (gMSA) for Windows pods. Kubernetes 1.30 and newer."""

    credential_specs: NotRequired[dict[str, NamedGmsaArgs]]
    """Credential specs by name, which pods write as gmsaCredentialSpecName."""
    plugin: NotRequired[CcgPluginArgs]
    """Plug-in that asks for the gMSA's password in place of the machine, which is in no domain. Default: none."""
    keep_policy: NotRequired[bool]
    """Refuse pods with a gMSA without a plug-in too: after it was removed, and for images that have one."""
