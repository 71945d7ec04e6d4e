"""All AWS resource types of the sandbox, and the cloud description made of them."""

from pathlib import Path

from sandbox.aws import (
    balancers,
    classic_balancers,
    gateways,
    iam,
    images,
    instances,
    network,
    route53,
    s3,
    secretsmanager,
    security_groups,
    targets,
    volumes,
    web_identity,
)
from sandbox.cloud import ResourceType

PROPERTIES = Path(__file__).with_name("properties.json")
"""Property shapes, written by sandbox/generate.py from the Pulumi SDK."""

TYPES: dict[str, ResourceType] = {
    **network.TYPES,
    **gateways.TYPES,
    **security_groups.TYPES,
    **instances.TYPES,
    **images.TYPES,
    **volumes.TYPES,
    **classic_balancers.TYPES,
    **balancers.TYPES,
    **targets.TYPES,
    **route53.TYPES,
    **iam.TYPES,
    **web_identity.TYPES,
    **s3.TYPES,
    **secretsmanager.TYPES,
}
