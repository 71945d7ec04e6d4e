"""What the facade needs of a cloud."""

from dataclasses import dataclass

from pulumi import Output


@dataclass(frozen=True)
class CloudOutputs:
    """What a cloud's `build` gives back."""

    public_host: Output[str]
    """Name or address of the API for people, or empty."""
    bundle_store: Output[str]
    snapshot_store: Output[str]
