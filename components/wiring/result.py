"""CloudOutputs: the result of each cloud's `build`."""

from collections.abc import Mapping
from dataclasses import dataclass

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
