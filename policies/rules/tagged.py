"""Tags: the cluster of a resource, and its URN."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policies.rules.rule import UNKNOWN, Resource, ResourceRule

TYPES = frozenset(
    {
        "aws:ebs/volume:Volume",
        "aws:ec2/eip:Eip",
        "aws:ec2/instance:Instance",
        "aws:ec2/internetGateway:InternetGateway",
        "aws:ec2/natGateway:NatGateway",
        "aws:ec2/routeTable:RouteTable",
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:ec2/subnet:Subnet",
        "aws:ec2/vpc:Vpc",
        "aws:iam/instanceProfile:InstanceProfile",
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        "aws:iam/role:Role",
        "aws:lb/listener:Listener",
        "aws:lb/loadBalancer:LoadBalancer",
        "aws:lb/targetGroup:TargetGroup",
        "aws:route53/zone:Zone",
        "aws:s3/bucket:Bucket",
        "aws:s3/bucketObjectv2:BucketObjectv2",
        "aws:secretsmanager/secret:Secret",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)
"""Types of AWS with tags that the program creates, or is likely to create."""
LABELLED = frozenset(
    {
        "gcp:compute/address:Address",
        "gcp:compute/disk:Disk",
        "gcp:compute/forwardingRule:ForwardingRule",
        "gcp:compute/instance:Instance",
        "gcp:dns/managedZone:ManagedZone",
        "gcp:secretmanager/secret:Secret",
        "gcp:storage/bucket:Bucket",
    }
)
"""Types of GCP with labels."""
AZURE = frozenset(
    f"azure-native:{kind}"
    for kind in (
        *("compute:DiskEncryptionSet", "compute:VirtualMachine", "compute:VirtualMachineExtension", "keyvault:Vault"),
        *("managedidentity:UserAssignedIdentity", "network:ApplicationSecurityGroup", "network:LoadBalancer"),
        *("network:BastionHost", "network:NatGateway", "network:NetworkInterface", "network:NetworkSecurityGroup"),
        *(
            "network:PrivateEndpoint",
            "network:PublicIPAddress",
            "network:RouteTable",
            "network:VirtualNetwork",
            "privatedns:PrivateZone",
            "privatedns:VirtualNetworkLink",
        ),
        *("resources:ResourceGroup", "storage:StorageAccount"),
    )
)
"""Types of Azure with tags."""
PRIVATE_DNS = frozenset({"azure-native:privatedns:PrivateZone", "azure-native:privatedns:VirtualNetworkLink"})
"""Types of Azure that drop tags with a colon in their key (azure-rest-api-specs#11748)."""


@dataclass(frozen=True)
class Marks:
    """Required tags or labels.

    property: input with the tags. needed: keys that each resource has. urn: key of the URN. says: the value for a URN.
    """

    property: str
    needed: tuple[str, ...]
    urn: str
    says: Callable[[str], str]


def _plain(urn: str) -> str:
    return urn.replace("$", "+")  # `$` is not allowed in tags of every service


def _digest(urn: str) -> str:
    return hashlib.sha256(urn.encode()).hexdigest()[:40]


TAGS = Marks("tags", ("Name", "mullion:cluster", "mullion:urn"), "mullion:urn", _plain)
DNS_TAGS = Marks("tags", ("Name", "mullion-cluster", "mullion-urn"), "mullion-urn", _plain)
LABELS = Marks("labels", ("mullion_cluster", "mullion_urn"), "mullion_urn", _digest)


def _tags(resource: Resource) -> Iterator[str]:
    marks = LABELS if resource.type in LABELLED else DNS_TAGS if resource.type in PRIVATE_DNS else TAGS
    tags = resource.properties.get(marks.property, {})
    if tags is UNKNOWN:
        return
    word = marks.property.removesuffix("s")
    missing = [each for each in marks.needed if not tags.get(each)]
    if missing:
        yield f"has no {word} {', '.join(missing)}; after an interrupted update nobody could find it, or its cluster"
    urn = tags.get(marks.urn)
    if isinstance(urn, str) and urn != marks.says(resource.urn):
        yield f"its {word} {marks.urn} names another resource, {urn}; an interrupted update would find that one"


RULES = (
    ResourceRule(
        "tags-present",
        "Every resource that takes tags has tags with its cluster and its URN.",
        TYPES | LABELLED | AZURE,
        _tags,
    ),
)
