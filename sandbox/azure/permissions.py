"""Operations of Azure's resource providers that the provider of Azure needs, by resource type.

Each resource is read, written and deleted by its type's own operations. A resource that refers to another one needs
that one's join, assign or read operation too, which Azure checks without a request of the caller. Sources: "Azure
permissions" for Networking, Compute, Storage, Security and Identity; "Virtual network: permissions" and the pages
"Permissions" of network security groups, NAT gateways, route tables and load balancers.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from sandbox.azure import names
from sandbox.permissions import REST, Permissions, Table

_NET, _COMPUTE = "Microsoft.Network", "Microsoft.Compute"
_SUBNET_JOIN = f"{_NET}/virtualNetworks/subnets/join/action"
_ADDRESS_JOIN = f"{_NET}/publicIPAddresses/join/action"
_RULES_JOIN = f"{_NET}/networkSecurityGroups/join/action"
_MEMBERS = f"{_NET}/applicationSecurityGroups"
_SERVICE_ENDPOINT = f"{_NET}/virtualNetworks/subnets/joinViaServiceEndpoint/action"
_ASSIGN = "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action"
_LIST_KEYS = "Microsoft.Storage/storageAccounts/listKeys/action"
_DISK_KEY = f"{_COMPUTE}/diskEncryptionSets/read"
_DISK = f"{_COMPUTE}/disks"
_STORE = "Microsoft.Storage/storageAccounts"
_APPROVALS = tuple(
    f"{type}/PrivateEndpointConnectionsApproval/action" for type in (_STORE, "Microsoft.KeyVault/vaults")
)
"""Asked of whoever makes an endpoint that its target accepts at once ("Azure RBAC permissions for Private Link")."""
_ZONE_JOIN = f"{_NET}/privateDnsZones/join/action"
_POLLED = {
    _NET: f"{_NET}/locations/operations/read {_NET}/locations/operationResults/read",
    _COMPUTE: f"{_COMPUTE}/locations/operations/read {_COMPUTE}/locations/diskOperations/read",
    "Microsoft.KeyVault": "Microsoft.KeyVault/locations/operationResults/read",
    "dns": f"{_NET}/privateDnsOperationStatuses/read {_NET}/privateDnsOperationResults/read",
}
"""What the provider asks until a write or a deletion has ended, by resource provider."""


def operation(kind: names.Kind) -> str:
    """Return the name of a type in operations: without the default names in paths, and A for records."""
    if kind is names.RECORD:
        return f"{kind.arm}/A"
    return re.sub(r"/default(?=/)", "", kind.arm)


def _own(type: str, polled: str = "", **given: str) -> Permissions:
    """Return the row of a type: its own operations, and those of what it refers to, by path of an input.

    In names of paths `__` stands for `[].` and `_` for a dot.
    """
    write, wait = f"{type}/write", f" {polled}" if polled else ""
    linked = " ".join(dict.fromkeys(word for words in given.values() for word in words.split()))
    paths = {path.replace("__", "[].").replace("_", "."): words for path, words in given.items()}
    return Permissions(
        f"{write}{wait}", f"{type}/read", f"{type}/delete{wait}", paths, {REST: f"{write} {linked}{wait}".strip()}
    )


def _of(kind: names.Kind, **given: str) -> Permissions:
    type = operation(kind)
    provider = "dns" if "/privateDnsZones" in type else type.partition("/")[0]
    return _own(type, _POLLED.get(provider, ""), **given)


def _without_delete(kind: names.Kind) -> Permissions:
    """Return the row of a type that has no operation to delete it: it goes with its parent."""
    return replace(_of(kind), delete="")


_TYPES = {
    names.NETWORK: _of(names.NETWORK),
    names.SUBNET: _of(
        names.SUBNET,
        natGateway=f"{_NET}/natGateways/join/action",
        networkSecurityGroup=_RULES_JOIN,
        routeTable=f"{_NET}/routeTables/join/action",
    ),
    names.RULES: _of(
        names.RULES,
        securityRules__sourceApplicationSecurityGroups=f"{_MEMBERS}/joinNetworkSecurityRule/action",
    ),
    names.MEMBERS: _of(names.MEMBERS),
    names.NAT: _of(names.NAT, publicIpAddresses=_ADDRESS_JOIN),
    names.ADDRESS: _of(names.ADDRESS),
    names.TABLE: _of(names.TABLE),
    names.INTERFACE: _of(
        names.INTERFACE,
        ipConfigurations__subnet=_SUBNET_JOIN,
        ipConfigurations__publicIPAddress=_ADDRESS_JOIN,
        ipConfigurations__applicationSecurityGroups=f"{_MEMBERS}/joinIpConfiguration/action",
        ipConfigurations__loadBalancerBackendAddressPools=f"{_NET}/loadBalancers/backendAddressPools/join/action",
        networkSecurityGroup=_RULES_JOIN,
    ),
    names.BASTION: _of(
        names.BASTION, ipConfigurations__subnet=_SUBNET_JOIN, ipConfigurations__publicIPAddress=_ADDRESS_JOIN
    ),
    names.BALANCER: _of(
        names.BALANCER,
        frontendIPConfigurations__subnet=_SUBNET_JOIN,
        frontendIPConfigurations__publicIPAddress=_ADDRESS_JOIN,
    ),
    names.ZONE: _of(names.ZONE),
    names.LINK: _of(names.LINK, virtualNetwork=f"{_NET}/virtualNetworks/join/action"),
    names.RECORD: _of(names.RECORD),
    names.MACHINE: _of(
        names.MACHINE,
        networkProfile=f"{_NET}/networkInterfaces/join/action",
        identity_userAssignedIdentities=_ASSIGN,
        storageProfile_osDisk=f"{_DISK}/read {_DISK}/write {_DISK}/delete",
        storageProfile_osDisk_managedDisk_diskEncryptionSet=_DISK_KEY,
        storageProfile_dataDisks=f"{_DISK}/read {_DISK}/write {_DISK}/delete",
        storageProfile_imageReference_id=f"{_COMPUTE}/galleries/images/read {_COMPUTE}/galleries/images/versions/read",
    ),
    names.DISK_KEY: _of(names.DISK_KEY, identity_userAssignedIdentities=_ASSIGN),
    names.EXTENSION: _of(names.EXTENSION),
    names.IDENTITY: _of(names.IDENTITY),
    names.CREDENTIAL: _of(names.CREDENTIAL),
    names.VAULT: _of(names.VAULT, properties_networkAcls_virtualNetworkRules=_SERVICE_ENDPOINT),
    names.SECRET: _without_delete(names.SECRET),
    names.STORE: _of(
        names.STORE,
        networkRuleSet_virtualNetworkRules=_SERVICE_ENDPOINT,
        identity_userAssignedIdentities=_ASSIGN,
    ),
    names.CONTAINER: _of(names.CONTAINER),
    names.PROPERTIES: _without_delete(names.PROPERTIES),
    names.POLICY: _of(names.POLICY),
    names.ENDPOINT: _of(names.ENDPOINT, subnet=_SUBNET_JOIN, privateLinkServiceConnections=" ".join(_APPROVALS)),
    names.ZONE_GROUP: _of(names.ZONE_GROUP, privateDnsZoneConfigs=_ZONE_JOIN),
}
_BLOB = f"{_LIST_KEYS} {_STORE}/read"
"""The provider reads and writes blobs with a key of their account (pulumi-azure-native#2015)."""
_SITE = f"{_STORE}/blobServices/write"
_SITE_READ = f"{_STORE}/blobServices/getInfo/action {_STORE}/blobServices/read"
"""The provider switches a website by the data service, as itself (pulumi-azure-native, custom_storage_azidentity.go;
Storage REST API, "Authorize with Microsoft Entra ID")."""
TYPES: Mapping[str, Permissions] = {
    **{kind.token: row for kind, row in _TYPES.items()},
    # what the cloud controller adds to the cluster's table
    names.ROUTE.token: Permissions(
        "", f"{operation(names.ROUTE)}/read", f"{operation(names.ROUTE)}/delete {_POLLED[_NET]}"
    ),
    names.RESOURCE_GROUP: _own(
        "Microsoft.Resources/subscriptions/resourceGroups", "Microsoft.Resources/subscriptions/operationresults/read"
    ),
    names.BLOB.token: Permissions(_BLOB, _BLOB, _BLOB, update={REST: _BLOB}),
    names.SITE.token: Permissions(_SITE, _SITE_READ, f"{_SITE_READ} {_SITE}", update={REST: _SITE}),
    **{
        f"azure-native:authorization:{name}": _own(f"Microsoft.Authorization/{name[0].lower()}{name[1:]}s")
        for name in ("RoleAssignment", "RoleDefinition")
    },
}

FUNCTIONS = {
    "azure-native:authorization:getClientConfig": "",
    "azure-native:compute:getVirtualMachine": f"{_COMPUTE}/virtualMachines/read"
    f" {_COMPUTE}/virtualMachines/instanceView/read",
    "azure-native:network:getBastionHost": f"{_NET}/bastionHosts/read",
    "azure-native:network:getSubnet": f"{_NET}/virtualNetworks/subnets/read",
    "azure-native:network:getVirtualNetwork": f"{_NET}/virtualNetworks/read",
    "azure-native:privatedns:getVirtualNetworkLink": f"{_NET}/privateDnsZones/virtualNetworkLinks/read",
    "azure-native:storage:getStorageAccount": f"{_STORE}/read",
    "azure-native:storage:listStorageAccountServiceSAS": f"{_STORE}/listServiceSas/action",
}

_PUBLISHERS = f"{_COMPUTE}/locations/publishers"
_OFFERS = f"{_PUBLISHERS}/artifacttypes/offers"
COMMANDS = {
    "az account show": "",
    "az keyvault list-deleted": "Microsoft.KeyVault/deletedVaults/read Microsoft.KeyVault/locations/deletedVaults/read",
    "az network bastion tunnel": f"{_NET}/bastionHosts/read {_COMPUTE}/virtualMachines/read"
    f" {_NET}/networkInterfaces/read",
    "az network list-usages": f"{_NET}/locations/usages/read",
    "az provider list": "Microsoft.Resources/subscriptions/providers/read",
    "az resource list": "Microsoft.Resources/subscriptions/resources/read",
    "az vm image list": f"{_PUBLISHERS}/read {_OFFERS}/read {_OFFERS}/skus/read {_OFFERS}/skus/versions/read",
    "az vm list-skus": f"{_COMPUTE}/skus/read",
    "az vm list-usage": f"{_COMPUTE}/locations/usages/read",
    # polled by the command line
    "az vm run-command invoke": f"{_COMPUTE}/virtualMachines/runCommand/action {_COMPUTE}/locations/operations/read",
}

_JOINED = "checked at the resource that is referred to, when the one that refers to it is written (Azure permissions)"
WITHOUT_CALL = {
    **dict.fromkeys(
        sorted(
            {
                *(_SUBNET_JOIN, _ADDRESS_JOIN, _RULES_JOIN, _SERVICE_ENDPOINT, _ASSIGN),
                *(f"{_MEMBERS}/joinNetworkSecurityRule/action", f"{_MEMBERS}/joinIpConfiguration/action"),
                *(f"{_NET}/{each}/join/action" for each in ("natGateways", "routeTables", "networkInterfaces")),
                *(f"{_NET}/{each}/join/action" for each in ("loadBalancers/backendAddressPools", "virtualNetworks")),
                *(f"{_COMPUTE}/galleries/images/read", f"{_COMPUTE}/galleries/images/versions/read"),
                *(_ZONE_JOIN, *_APPROVALS),
            }
        ),
        _JOINED,
    ),
    **dict.fromkeys(
        (f"{_DISK}/read", f"{_DISK}/write", f"{_DISK}/delete"),
        "a machine's disk is made and deleted with it (built-in role Virtual Machine Contributor has the same three)",
    ),
}

TABLE = Table(TYPES, FUNCTIONS, COMMANDS, WITHOUT_CALL)
