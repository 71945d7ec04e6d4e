"""Refusals about private endpoints, in the form of refusals.py.

Azure/azure-cli#15136 and #16750; DFE-Digital/terraform-azurerm-container-apps-hosting#352.
"""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import GROUP


def to(target: str, *parts: str) -> dict[str, Any]:
    connection = {"name": "bundles", "privateLinkServiceId": target, "groupIds": list(parts)}
    return {"privateLinkServiceConnections": [connection]}


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
