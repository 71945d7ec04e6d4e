"""CloudOutputs: the result of each cloud's `build`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulumi import Output


@dataclass(frozen=True)
class CloudOutputs:
    """Outputs that MixedCluster exports."""

    public_host: Output[str]
    """Name or address of the API for people, or empty."""
    bundle_store: Output[str]
    """URL of the bundle store."""
    snapshot_store: Output[str]
    """URL of the snapshot store."""
    load_balancers: Mapping[str, Output[str]]
    """DNS names (AWS) or addresses of the load balancers of `ingress`, by name."""
    issuer: Output[str] | None = None
    """AWS, Azure: URL of the issuer of `pod_identity`; None without it."""
    pod_roles: Mapping[str, Output[str]] = field(default_factory=dict[str, Output[str]])
    """By namespace/name of the service account: ARN of the role (AWS), client id (Azure), member for policies (Google
    Cloud)."""
    pod_principals: Mapping[str, Output[str]] = field(default_factory=dict[str, Output[str]])
    """Azure: principal ids, which get roles, by the same names."""
    pod_tenant: Output[str] | None = None
    """Azure: id of the tenant of `pod_identity`; None without it."""
    pod_provider: Output[str] | None = None
    """Google Cloud: name of the workload identity provider of `pod_identity`; None without it."""
    gmsa_identity: Output[str] | None = None
    """Azure: principal id of the identity by which the plug-in of gMSA reads its secret; None without a plug-in."""
