"""All GCP resource types of the sandbox."""

from pathlib import Path

from sandbox.cloud import ResourceType
from sandbox.gcp import (
    addresses,
    balancers,
    dns,
    firewalls,
    groups,
    iam,
    instances,
    networks,
    secrets,
    storage,
    volumes,
    workload_identity,
)

PROPERTIES = Path(__file__).with_name("properties.json")
"""Property shapes, written by sandbox/generate.py from the Pulumi SDK."""

TYPES: dict[str, ResourceType] = {
    **networks.TYPES,
    **firewalls.TYPES,
    **addresses.TYPES,
    **instances.TYPES,
    **groups.TYPES,
    **balancers.TYPES,
    **dns.TYPES,
    **iam.TYPES,
    **storage.TYPES,
    **secrets.TYPES,
    **volumes.TYPES,
    **workload_identity.TYPES,
}
