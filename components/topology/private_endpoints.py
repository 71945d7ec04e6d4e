"""What machines without a way to the internet ask of the cloud: private endpoints, domains of Google.

AWS: S3 is reached by a gateway endpoint, which every cluster has. KMS needs no endpoint: S3 and Secrets Manager use the
key with the machine's rights (AWS KMS developer guide, "kms:ViaService"). Nor does STS: the metadata service gives out
the role's credentials. Time, DNS and the activation of Windows have link-local addresses (components/clouds.py,
metadata_routes).

Azure: an endpoint leads to one store or vault. Service endpoints, which cost nothing, would lead to every storage
account and vault of the region, also to those of others (Virtual Network, "Virtual network service endpoint policies
for Azure Storage"; Private Link, "What is a private endpoint?", network security). Identity, names and extensions of
machines have the addresses 169.254.169.254 and 168.63.129.16 in every network. Nothing in a cluster's network leads to
management.azure.com (a private link of Resource Manager is for the whole tenant: Resource Manager, "Create a private
link for managing Azure resources") or to login.microsoftonline.com: control planes ask both through the proxy.
"""

from dataclasses import dataclass

from components.spec.choices import Cloud, CloudController, Egress, MachineAccess
from components.spec.models import ClusterSpec


@dataclass(frozen=True)
class PrivateEndpoint:
    """A private endpoint.

    service: end of AWS's name of the service, com.amazonaws.REGION.SERVICE; on Azure what it leads to.
    """

    service: str
    part: str = ""
    """Azure: the sub-resource, a key of AZURE_ZONES."""

    @property
    def name(self) -> str:
        """Name as part of a resource's name."""
        return self.service.replace(".", "-")

    @property
    def member(self) -> str:
        """Azure: the member of the sub-resource that gets a fixed address.

        Sources: "Manage Azure private endpoints", static IP address; Azure-Verified-Modules, interface of private
        endpoints (default of vault). That of a store has its sub-resource's name.
        """
        return "default" if self.part == "vault" else self.part


AZURE_ZONES = {"blob": "privatelink.blob.core.windows.net", "vault": "privatelink.vaultcore.azure.net"}
"""Private zone of a sub-resource, to which public names of a store or vault with an endpoint lead.

Source: Private Link, "Azure Private Endpoint private DNS zone values", commercial; Mullion knows no region of others.
"""

BUNDLES, SNAPSHOTS, SECRETS = "bundles", "snapshots", "secrets"
"""What endpoints of Azure lead to."""
_AZURE = (PrivateEndpoint(BUNDLES, "blob"), PrivateEndpoint(SECRETS, "vault"), PrivateEndpoint(SNAPSHOTS, "blob"))


def private_endpoints(spec: ClusterSpec) -> tuple[PrivateEndpoint, ...]:
    """Return the endpoints that machines ask, sorted by service; empty if machines have a way to the internet.

    In an existing network they are the user's (built_endpoints).

    Sources: AWS PrivateLink guide, "AWS services that integrate with AWS PrivateLink"; Systems Manager user guide,
    "Improve the security of EC2 instances by using VPC endpoints"; Amazon ECR user guide, "Amazon ECR interface VPC
    endpoints"; Elastic Load Balancing, "Elastic Load Balancing and interface VPC endpoints".
    """
    if spec.network.egress is not Egress.NONE or spec.cloud is Cloud.GCP:
        return ()
    if spec.cloud is Cloud.AZURE:
        return _AZURE
    wanted = {"ec2", "secretsmanager"}  # the list of machines, for control planes; secrets
    if spec.access is MachineAccess.SESSION:
        # not ec2messages: regions launched from 2024 on lack it (Systems Manager user guide, "ec2messages, ssmmessages,
        # and other API operations"), machines have no right to call it, and Session Manager does not need it
        wanted |= {"ssm", "ssmmessages"}
    if "ecr" in spec.registry_credentials:
        wanted |= {"ecr.api", "ecr.dkr"}  # layers are in S3
    if spec.cloud_controller is CloudController.EXTERNAL:
        wanted.add("elasticloadbalancing")
    return tuple(map(PrivateEndpoint, sorted(wanted)))


def built_endpoints(spec: ClusterSpec) -> tuple[PrivateEndpoint, ...]:
    """Return the endpoints that Mullion builds: in an existing network only those of Azure.

    AWS's lead to services, which other machines of the network use too; Azure's lead to a store of the cluster alone.
    """
    users = spec.network.existing and spec.cloud is Cloud.AWS
    return () if users else private_endpoints(spec)


def guarded_endpoints(spec: ClusterSpec) -> bool:
    """Return whether endpoints have a subnet of their own with a security group: not in an existing network."""
    return bool(built_endpoints(spec)) and not spec.network.existing


def google_domains(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the domains of Google that need private names; empty on other clouds, and with a way to the internet.

    In an existing network the names are the user's (built_zones).

    Source: VPC, "Configure Private Google Access", "DNS configuration": Artifact Registry has domains of its own.
    """
    if spec.network.egress is not Egress.NONE or spec.cloud is not Cloud.GCP:
        return ()
    return ("googleapis.com", *(("gcr.io", "pkg.dev") if "gar" in spec.registry_credentials else ()))


def azure_zones(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the private zones of endpoints on Azure; empty on other clouds, and with a way to the internet."""
    parts = {each.part for each in private_endpoints(spec) if each.part}
    return tuple(AZURE_ZONES[part] for part in sorted(parts))


def built_zones(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the private zones of the cloud's services that Mullion builds: none in an existing network.

    There they would hide every other name of the zone from all machines of the network.
    """
    return () if spec.network.existing else (*google_domains(spec), *azure_zones(spec))
