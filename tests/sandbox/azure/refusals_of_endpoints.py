"""Refusals about private endpoints, in the form of refusals.py.

Azure/azure-cli#15136 and #16750; DFE-Digital/terraform-azurerm-container-apps-hosting#352.
"""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import GROUP


def to(target: str, *parts: str) -> dict[str, Any]:
    connection = {"name": "bundles", "privateLinkServiceId": target, "groupIds": list(parts)}
    return {"privateLinkServiceConnections": [connection]}


def fixed(address: str, **fields: str) -> dict[str, Any]:
    own = {"name": "bundles", "groupId": "blob", "memberName": "blob", "privateIPAddress": address}
    return {"ipConfigurations": [{**own, **fields}]}


ENDPOINTS: dict[str, Row] = {
    "endpoint of nothing": ("endpoint", to(f"{GROUP}/no", "blob"), "ResourceNotFound", "/no' referenced by endpoint"),
    "endpoint without a sub-resource": (
        "endpoint",
        to("$store"),
        "MissingParameterOnPrivateLinkServiceConnection",
        "is missing required parameter 'group Id'",
    ),
    "endpoint of two sub-resources": (
        "endpoint",
        to("$store", "blob", "file"),
        "OnlyOneGroupIdPermitted",
        "has the following group Ids: blob, file. Only one",
    ),
    "endpoint of a vault's blobs": (
        "endpoint",
        to("$vault", "blob"),
        "InvalidValuesForRequestParameters",
        "Microsoft.KeyVault/vaults failed. Error message: Values for request parameters are invalid: GroupId: blob",
    ),
    "endpoint in no subnet": (
        "endpoint",
        {"subnet": {"id": f"{GROUP}/no"}},
        "InvalidResourceReference",
        "referenced by subnet.id was not found",
    ),
    "endpoint without a connection": (
        "endpoint",
        {"privateLinkServiceConnections": None},
        "InvalidRequestFormat",
        "one connection",
    ),
    "fixed address of another member": (
        "endpoint",
        fixed("10.20.9.6", memberName="default"),
        "PrivateEndpointInvalidIpConfiguration",
        "has group blob and member default",
    ),
    "fixed address of another sub-resource": (
        "endpoint",
        fixed("10.20.9.6", groupId="file"),
        "PrivateEndpointInvalidIpConfiguration",
        "has group file and member blob",
    ),
    "fixed address outside the subnet": (
        "endpoint",
        fixed("10.20.8.6"),
        "PrivateIPAddressNotInSubnet",
        "10.20.8.6 does not belong to the range of subnet prefix 10.20.9.0/28",
    ),
    "fixed address that Azure reserves": (
        "endpoint",
        fixed("10.20.9.3"),
        "PrivateIPAddressInReservedRange",
        "10.20.9.3 falls within reserved IP range",
    ),
    "names without a zone": ("names", {"privateDnsZoneConfigs": []}, "InvalidRequestFormat", "at least one zone"),
    "second group of zones of an endpoint": (
        "names",
        {"privateDnsZoneGroupName": "second"},
        "PrivateDnsZoneGroupLimitReached",
        "has a private DNS zone group already",
    ),
    "names of no endpoint": (
        "names",
        {"privateEndpointName": "no"},
        "ParentResourceNotFound",
        "privateEndpoints/no",
    ),
}
NAMED = {"second group of zones of an endpoint": "names"}
"""Further resources that a row needs in order to be refused."""
