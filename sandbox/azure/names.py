"""Naming on Azure: ids by provider and parent, messages of ARM about them, and the start of every type's row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.cloud import AutoName, Derive, Reference, Refusal, Request, ResourceType, Rule, Unique
from sandbox.values import REDACTED

RESOURCE_GROUP = "azure-native:resources:ResourceGroup"
GROUP = "/subscriptions/{account}/resourceGroups/{in_.resourceGroupName}"
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?")
NAME_RULE = "1 to 80 letters, digits, dots, _ and -, beginning with a letter, digit or _, and ending with one"


@dataclass(frozen=True)
class Kind:
    """A type of ARM: its path below the resource group, with the properties that name it, and its token."""

    token: str
    path: str
    name: str

    @property
    def id(self) -> str:
        """Template of the id."""
        return f"{GROUP}/providers/{self.path}/{{in_.{self.name}}}"

    @property
    def arm(self) -> str:
        """The type's name in ARM: Microsoft.Network/virtualNetworks/subnets."""
        return re.sub(r"/\{[^}]*\}", "", self.path)


class Part(Kind):
    """A part of a resource that has no name of its own: its path ends with the name of the part."""

    @property
    def id(self) -> str:
        """Template of the id."""
        return f"{GROUP}/providers/{self.path}"


_NET, _COMPUTE, _STORE = "azure-native:network:", "azure-native:compute:", "azure-native:storage:"
_DNS, _VAULT = "azure-native:privatedns:", "azure-native:keyvault:"
_OF_VNET, _OF_ZONE = "{in_.virtualNetworkName}", "{in_.privateZoneName}"
NETWORK = Kind(_NET + "VirtualNetwork", "Microsoft.Network/virtualNetworks", "virtualNetworkName")
SUBNET = Kind(_NET + "Subnet", f"{NETWORK.path}/{_OF_VNET}/subnets", "subnetName")
RULES = Kind(_NET + "NetworkSecurityGroup", "Microsoft.Network/networkSecurityGroups", "networkSecurityGroupName")
MEMBERS = Kind(
    _NET + "ApplicationSecurityGroup", "Microsoft.Network/applicationSecurityGroups", "applicationSecurityGroupName"
)
NAT = Kind(_NET + "NatGateway", "Microsoft.Network/natGateways", "natGatewayName")
ADDRESS = Kind(_NET + "PublicIPAddress", "Microsoft.Network/publicIPAddresses", "publicIpAddressName")
TABLE = Kind(_NET + "RouteTable", "Microsoft.Network/routeTables", "routeTableName")
ROUTE = Kind(_NET + "Route", f"{TABLE.path}/{{in_.routeTableName}}/routes", "routeName")
INTERFACE = Kind(_NET + "NetworkInterface", "Microsoft.Network/networkInterfaces", "networkInterfaceName")
BASTION = Kind(_NET + "BastionHost", "Microsoft.Network/bastionHosts", "bastionHostName")
ENDPOINT = Kind(_NET + "PrivateEndpoint", "Microsoft.Network/privateEndpoints", "privateEndpointName")
ZONE_GROUP = Kind(
    _NET + "PrivateDnsZoneGroup",
    f"{ENDPOINT.path}/{{in_.privateEndpointName}}/privateDnsZoneGroups",
    "privateDnsZoneGroupName",
)
BALANCER = Kind(_NET + "LoadBalancer", "Microsoft.Network/loadBalancers", "loadBalancerName")
ZONE = Kind(_DNS + "PrivateZone", "Microsoft.Network/privateDnsZones", "privateZoneName")
LINK = Kind(_DNS + "VirtualNetworkLink", f"{ZONE.path}/{_OF_ZONE}/virtualNetworkLinks", "virtualNetworkLinkName")
RECORD = Kind(_DNS + "PrivateRecordSet", f"{ZONE.path}/{_OF_ZONE}/{{in_.recordType}}", "relativeRecordSetName")
MACHINE = Kind(_COMPUTE + "VirtualMachine", "Microsoft.Compute/virtualMachines", "vmName")
DISK_KEY = Kind(_COMPUTE + "DiskEncryptionSet", "Microsoft.Compute/diskEncryptionSets", "diskEncryptionSetName")
EXTENSION = Kind(_COMPUTE + "VirtualMachineExtension", f"{MACHINE.path}/{{in_.vmName}}/extensions", "vmExtensionName")
IDENTITY = Kind(
    "azure-native:managedidentity:UserAssignedIdentity",
    "Microsoft.ManagedIdentity/userAssignedIdentities",
    "resourceName",
)
CREDENTIAL = Kind(
    "azure-native:managedidentity:FederatedIdentityCredential",
    f"{IDENTITY.path}/{{in_.resourceName}}/federatedIdentityCredentials",
    "federatedIdentityCredentialResourceName",
)
VAULT = Kind(_VAULT + "Vault", "Microsoft.KeyVault/vaults", "vaultName")
SECRET = Kind(_VAULT + "Secret", f"{VAULT.path}/{{in_.vaultName}}/secrets", "secretName")
STORE = Kind(_STORE + "StorageAccount", "Microsoft.Storage/storageAccounts", "accountName")
_OF_STORE = f"{STORE.path}/{{in_.accountName}}"
CONTAINER = Kind(_STORE + "BlobContainer", f"{_OF_STORE}/blobServices/default/containers", "containerName")
BLOB = Kind(_STORE + "Blob", f"{CONTAINER.path}/{{in_.containerName}}/blobs", "blobName")
PROPERTIES = Kind(_STORE + "BlobServiceProperties", f"{_OF_STORE}/blobServices", "blobServicesName")
SITE = Part(_STORE + "StorageAccountStaticWebsite", f"{_OF_STORE}/staticWebsite", "accountName")
WEB = "$web"
"""Container of a static website."""
POLICY = Kind(_STORE + "ManagementPolicy", f"{_OF_STORE}/managementPolicies", "managementPolicyName")


def in_group() -> Reference:
    """Return a reference to the resource group, which is deleted with its content."""
    message = "Resource group '{id}' could not be found."
    template = GROUP.replace("{in_.resourceGroupName}", "")
    return Reference(
        "resourceGroupName",
        RESOURCE_GROUP,
        "ResourceGroupNotFound",
        message,
        "vanish",
        id=lambda request, value: request.format(template) + value,
    )


def part_of(kind: Kind, holds: str = "vanish") -> Reference:
    """Return a reference to the parent that the inputs name."""
    return Reference(
        kind.name,
        kind.token,
        "ParentResourceNotFound",
        "Failed to perform 'write' on resource, because parent resource '{id}' could not be found.",
        holds,
        id=lambda request, value: request.format(kind.id),
    )


def points_to(kind: Kind, path: str, holds: str = "refuse", code: str = "InvalidResourceReference") -> Reference:
    """Return a reference by id."""
    message = (
        "Resource {id} referenced by {path} was not found. Please make sure that the referenced resource exists, and"
        " that both resources are in the same region."
    )
    return Reference(path, kind.token, code, message, holds)


def in_use(code: str, what: str) -> tuple[str, str]:
    """Return the refusal to delete a resource in use. what: ARM's name of its type."""
    return code, f"{what} {{id}} is in use by {{holder}} and cannot be deleted."


def changed(*paths: str) -> Rule:
    """Return a rule that refuses changes of these properties: the provider tries to update them (pulumi-azure-native
    issue #577).
    """

    def rule(request: Request) -> None:
        for path in paths if request.old else ():
            before = _at(request.old.inputs, path) if request.old else None
            if before not in (REDACTED, _at(request.inputs, path)):
                raise Refusal("PropertyChangeNotAllowed", f"Changing property '{path}' is not allowed.")

    return rule


def _at(values: Any, path: str) -> Any:
    for part in path.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def row(
    kind: Kind,
    *,
    located: bool = True,
    derive: Derive | None = None,
    outputs: Mapping[str, str] | None = None,
    immutable: tuple[str, ...] = (),
    chosen: tuple[str, ...] = (),
    references: tuple[Reference, ...] = (),
    unique: tuple[Unique, ...] = (),
    patterns: Mapping[str, tuple[re.Pattern[str], str]] | None = None,
    **more: Any,
) -> ResourceType:
    """Return a type's row: id, name, place, and the type's own rules. located: the type has a location."""
    above = tuple(re.findall(r"in_\.(\w+)", kind.path))
    twice = Unique(kind.token, ("resourceGroupName", *above, kind.name), "AlreadyExists", f"'{kind.id}'")
    exists = f"cannot create already existing resource {twice.message}"
    place = ("location",) if located else ()
    version = {} if kind is BLOB else {"azureApiVersion": "2025-01-01"}  # blobs belong to no API of ARM
    own = {"name": f"{{in_.{kind.name}}}"} | version

    def computed(request: Request) -> dict[str, Any]:
        located_at = {"location": request.inputs.get("location") or request.place.region} if located else {}
        return located_at | (derive(request) if derive else {})

    return ResourceType(
        id=kind.id,
        immutable=("resourceGroupName", *above, kind.name, *place, *immutable),
        chosen=(kind.name, *place, *chosen),
        outputs=own | dict(outputs or {}),
        derive=computed,
        auto_name=AutoName(kind.name, limit=80, digits=8, separator=""),
        patterns={kind.name: (_NAME, NAME_RULE)} | dict(patterns or {}),
        references=(in_group(), *references),
        unique=(Unique(twice.kind, twice.keys, twice.code, exists), *unique),
        **more,
    )


def guid(request: Request, salt: str) -> str:
    """Return a GUID derived from the resource."""
    digits = request.digits(32, salt)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
