"""Refusals of vaults, storage accounts, private zones and roles."""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import GROUP, NET, TENANT

NOBODY = "11111111-1111-4111-8111-111111111111"
READER = "/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"


def admitting(subnet: str) -> dict[str, Any]:
    return {"networkRuleSet": {"defaultAction": "Deny", "virtualNetworkRules": [{"virtualNetworkResourceId": subnet}]}}


def properties(**more: Any) -> dict[str, Any]:
    plain = {"tenantId": TENANT, "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True}
    return {"properties": plain | more}


STORES: dict[str, Row] = {
    "another tenant": ("vault", properties(tenantId=NOBODY), "BadRequest", "'tenantId'"),
    "kept for a day": ("vault", properties(softDeleteRetentionInDays=1), "BadRequest", "between 7 and 90"),
    "no soft deletion": ("vault", properties(enableSoftDelete=False), "BadRequest", "enableSoftDelete"),
    "no purge protection": ("vault", properties(enablePurgeProtection=False), "BadRequest", "enablePurgeProtection"),
    "vault without rights": ("vault", properties(enableRbacAuthorization=False), "BadRequest", "accessPolicies"),
    "secret of no vault": ("secret", {"vaultName": "no-vault"}, "ParentResourceNotFound", "vaults/no-vault"),
    "secret with 16 tags": ("secret", {"tags": {f"t{number}": "x" for number in range(16)}}, "BadRequest", "is 16"),
    "large secret": ("secret", {"properties": {"value": "x" * 25601}}, "BadRequest", "at most 25600 bytes"),
    "kind of an account": ("store", {"kind": "V2"}, "InvalidRequestPropertyValue", "'V2'"),
    "sku of an account": ("store", {"sku": {"name": "LRS"}}, "InvalidRequestPropertyValue", "'LRS'"),
    "old TLS": ("store", {"minimumTlsVersion": "TLS1_0"}, "InvalidRequestPropertyValue", "retired"),
    "private address in an account's rules": (
        "store",
        {"networkRuleSet": {"defaultAction": "Deny", "ipRules": [{"iPAddressOrRange": "10.20.0.0/24"}]}},
        "InvalidValuesForRequestParameters",
        "public addresses",
    ),
    "virtual network rule of no subnet": (
        "store",
        admitting(f"{NET}/virtualNetworks/net/subnets/no"),
        "NetworkAclsValidationFailure",
        "ParentResourceNotFound",
    ),
    "virtual network rule without a service endpoint": (
        "store",
        admitting("$sub"),
        "NetworkAclsValidationFailure",
        "Subnets sub of virtual network",
    ),
    "public container": ("container", {"publicAccess": "Blob"}, "PublicAccessNotPermitted", "not permitted"),
    "container of no account": ("container", {"accountName": "no1"}, "ParentResourceNotFound", "storageAccounts/no1"),
    "zone in a region": (
        "zone",
        {"location": "westeurope"},
        "LocationNotAvailableForResourceType",
        "'westeurope' is not available",
    ),
    "tag that private DNS drops": ("zone", {"tags": {"mullion:urn": "x"}}, "BadRequest", "drop the tag 'mullion:urn'"),
    "more tags than private DNS takes": (
        "zone",
        {"tags": {f"key-{number}": "x" for number in range(16)}},
        "BadRequest",
        "16; the maximum is 15",
    ),
    "record without values": ("record", {"aRecords": None}, "BadRequest", "no records"),
    "record of a name": ("record", {"aRecords": [{"ipv4Address": "x"}]}, "BadRequest", "'x' is no valid"),
    "record without a time": ("record", {"ttl": None}, "BadRequest", "TTL None"),
    "no such principal": (
        "RoleAssignment",
        {"scope": "$rg", "roleDefinitionId": READER, "principalId": NOBODY},
        "PrincipalNotFound",
        "does not exist in the directory",
    ),
    "no such role": (
        "RoleAssignment",
        {"scope": "$rg", "roleDefinitionId": f"x/{NOBODY}", "principalId": NOBODY},
        "RoleDefinitionDoesNotExist",
        NOBODY,
    ),
    "no such scope": ("role", {"scope": f"{GROUP}x"}, "ResourceNotFound", "rgx' was not found"),
    "role for nowhere": ("role", {"assignableScopes": None}, "InvalidRoleDefinitionAssignableScopes", "at least one"),
    "no such action": (
        "role",
        {"permissions": [{"actions": ["compute:read"]}]},
        "InvalidActionOrNotAction",
        "'compute:read' does not match",
    ),
}
