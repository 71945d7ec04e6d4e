"""CloudOutputs: the result of each cloud's `build`."""

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
