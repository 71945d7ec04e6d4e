"""All Azure resource types of the sandbox."""

from pathlib import Path

from sandbox.azure import (
    bastions,
    dns,
    endpoints,
    federation,
    interfaces,
    keys,
    machines,
    networks,
    roles,
    rules,
    stores,
    vaults,
)
from sandbox.cloud import ResourceType

PROPERTIES = Path(__file__).with_name("properties.json")
"""Property shapes, written by sandbox/generate.py from the Pulumi SDK."""

TYPES: dict[str, ResourceType] = {
    **networks.TYPES,
    **rules.TYPES,
    **interfaces.TYPES,
    **bastions.TYPES,
    **machines.TYPES,
    **keys.TYPES,
    **dns.TYPES,
    **endpoints.TYPES,
    **federation.TYPES,
    **roles.TYPES,
    **stores.TYPES,
    **vaults.TYPES,
}
