"""Storage accounts, blob containers, blobs, and their settings."""

import base64
import hashlib
import ipaddress
import re
from collections.abc import Callable
from typing import Any

from sandbox.azure import keys, websites
from sandbox.azure.identities import assigned
from sandbox.azure.names import BLOB, CONTAINER, POLICY, PROPERTIES, STORE, SUBNET, part_of, row
from sandbox.azure.networks import quota
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.content import content
from sandbox.records import Record
from sandbox.values import select

NAME_LIMIT = 1024
"""Longest blob name in characters ("Naming and referencing containers, blobs, and metadata")."""
KINDS = ("StorageV2", "BlobStorage", "BlockBlobStorage", "FileStorage", "Storage")
SKUS = (
    *("Standard_LRS", "Standard_GRS", "Standard_RAGRS", "Standard_ZRS", "Standard_GZRS", "Standard_RAGZRS"),
    *("Premium_LRS", "Premium_ZRS"),
)
SERVICES = {"Microsoft.Storage", "Microsoft.Storage.Global"}
"""Service endpoints of a subnet; each lets virtual network rules of storage accounts name it."""
_RULES = "networkRuleSet.virtualNetworkRules[].virtualNetworkResourceId"
CALLER = "azure/caller"
"""Setting: the public address of the computer that calls the stores; without it all of them admit it."""
_PATH = "{account}/{container}"


def _account(request: Request) -> None:
    given = request.inputs
    if given["kind"] not in KINDS:
        raise Refusal("InvalidRequestPropertyValue", f"The value '{given['kind']}' is not allowed for property kind.")
    if given["sku"]["name"] not in SKUS:
        raise Refusal(
            "InvalidRequestPropertyValue", f"The value '{given['sku']['name']}' is not allowed for property sku."
        )
    if given.get("minimumTlsVersion") not in (None, "TLS1_2", "TLS1_3"):
        raise Refusal(
            "InvalidRequestPropertyValue", "TLS 1.0 and 1.1 are retired; minimumTlsVersion is TLS1_2 or TLS1_3."
        )
    for rule in (given.get("networkRuleSet") or {}).get("ipRules") or []:
        text = rule["iPAddressOrRange"]
        if re.match(r"(10|127|169\.254|172\.(1[6-9]|2\d|3[01])|192\.168)\.", text) or re.search(r"/(3[12])$", text):
            raise Refusal(
                "InvalidValuesForRequestParameters",
                f"Values for request parameters are invalid: networkAcls.ipRule[*].value ({text}): public addresses,"
                " and"
                " ranges of four addresses or more.",
            )


def admitted(account: Record | None) -> set[str]:
    """Return the ids of the subnets that an account's virtual network rules admit, in lower case."""
    return {each.lower() for each in select(account.inputs if account else {}, _RULES)}


def shut_out(cloud_state: CloudState, account: str) -> Refusal | None:
    """Return the refusal of a request for an object of this account; None if its rules admit this computer.

    Source: Azure Storage, "Storage error codes". Resource Manager itself has no such rules.
    """
    caller = cloud_state.setting(CALLER)
    store = next((one for one in cloud_state.resources(STORE.token) if one.inputs["accountName"] == account), None)
    rules = (store.inputs.get("networkRuleSet") or {}) if store else {}
    refusal = Refusal("AuthorizationFailure", "This request is not authorized to perform this operation.")
    if store and store.inputs.get("publicNetworkAccess") == "Disabled":
        return refusal
    if caller is None or rules.get("defaultAction") != "Deny":
        return None
    ranges = [ipaddress.ip_network(rule["iPAddressOrRange"]) for rule in rules.get("ipRules") or []]
    if any(ipaddress.ip_address(caller) in each for each in ranges):
        return None
    return refusal


def _admit(request: Request) -> None:
    if refusal := shut_out(request.cloud_state, request.inputs["accountName"]):
        raise refusal


def _readable(cloud_state: CloudState, blob: Record) -> dict[str, Any]:
    """Add nothing to a blob's outputs, but refuse the read if the account does not admit this computer."""
    if refusal := shut_out(cloud_state, blob.inputs["accountName"]):
        raise refusal
    return {}


def _subnets(request: Request) -> None:
    """Check that subnets of virtual network rules exist and have a service endpoint of storage.

    Sources: Azure/azure-cli#18112, hashicorp/terraform-provider-azurerm#16547.
    """
    known = {one.id.lower(): one for one in request.cloud_state.resources(SUBNET.token)}
    for id in select(request.inputs, _RULES):
        network, _, name = id.partition("/subnets/")
        failed = "Validation of network acls failure: "
        if id.lower() not in known:
            reason = f"ParentResourceNotFound:Parent resource of subnet '{id}' not found, or it has no such subnet."
            raise Refusal("NetworkAclsValidationFailure", failed + reason)
        if not set(select(known[id.lower()].inputs, "serviceEndpoints[].service")) & SERVICES:
            raise Refusal(
                "NetworkAclsValidationFailure",
                f"{failed}SubnetsHaveNoServiceEndpointsConfigured:Subnets {name} of virtual network {network} do not"
                " have ServiceEndpoints for Microsoft.Storage resources configured.",
            )


def _endpoints(request: Request) -> dict[str, Any]:
    scheme, name = request.place.scheme or "https", request.inputs["accountName"]
    return {
        "primaryEndpoints": {
            kind: f"{scheme}://{name}.{websites.ZONE if kind == 'web' else kind}.core.windows.net/"
            for kind in ("blob", "dfs", "file", "web")
        },
        "primaryLocation": request.region,
        "statusOfPrimary": "available",
        "creationTime": "2026-01-01T00:00:00.0000000Z",
    }


def _of_account(request: Request) -> dict[str, Any]:
    record = request.cloud_state.find(STORE.token, part_of(STORE).ids(request)[0])
    return record.inputs if record else {}


def _container(request: Request) -> None:
    public = request.inputs.get("publicAccess", "None") != "None"
    if public and not _of_account(request).get("allowBlobPublicAccess"):
        raise Refusal("PublicAccessNotPermitted", "Public access is not permitted on this storage account.")


def bucket(inputs: dict[str, Any]) -> str:
    """Return the key of a container in the cloud state."""
    return _PATH.format(account=inputs["accountName"], container=inputs["containerName"])


def is_versioned(cloud_state: CloudState, container: str) -> bool:
    """Return whether a container's account keeps older versions of blobs."""
    account = container.partition("/")[0]
    settings = [one for one in cloud_state.resources(PROPERTIES.token) if one.inputs["accountName"] == account]
    return any(one.inputs.get("isVersioningEnabled") for one in settings)


def _blob(request: Request) -> None:
    """Require account keys: the provider writes blobs with them (pulumi-azure-native issue #2015)."""
    name = request.inputs["blobName"]
    if len(name) > NAME_LIMIT:
        raise Refusal(
            "OutOfRangeInput", f"One of the request inputs is out of range: a name of {len(name)} characters."
        )
    if _of_account(request).get("allowSharedKeyAccess") is False:
        raise Refusal(
            "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account."
        )
    claimed, actual = request.inputs.get("contentMd5"), _md5(request)
    if claimed not in (None, actual):
        raise Refusal(
            "Md5Mismatch", "The MD5 value specified in the request did not match the value that was calculated."
        )


def _md5(request: Request) -> str:
    return base64.b64encode(hashlib.md5(content(request.inputs), usedforsecurity=False).digest()).decode()


def _store(request: Request) -> None:
    container, kind = bucket(request.inputs), request.inputs.get("contentType") or "application/octet-stream"
    versioned = is_versioned(request.cloud_state, container)
    request.cloud_state.put_object(
        container, request.inputs["blobName"], content(request.inputs), kind, versioned=versioned
    )


def _url(request: Request) -> dict[str, str]:
    scheme, name = request.place.scheme or "https", request.inputs["accountName"]
    path = f"{request.inputs['containerName']}/{request.inputs['blobName']}"
    return {"url": f"{scheme}://{name}.blob.core.windows.net/{path}", "contentMd5": _md5(request)}


def _emptied(request: Request) -> None:
    request.cloud_state.empty_bucket(bucket(request.inputs))


def _all_emptied(request: Request) -> None:
    for (name,) in request.cloud_state.connection.execute("SELECT DISTINCT bucket FROM objects").fetchall():
        if name.startswith(f"{request.inputs['accountName']}/"):
            request.cloud_state.empty_bucket(name)


def _policy(request: Request) -> None:
    for rule in request.inputs["policy"]["rules"]:
        filters = (rule.get("definition") or {}).get("filters")
        if filters is not None and not set(filters.get("blobTypes") or []) <= {"blockBlob", "appendBlob"}:
            raise Refusal(
                "InvalidRequestPropertyValue", f"Rule {rule['name']} has blobTypes other than blockBlob, appendBlob."
            )


def _gone(code: str, message: str) -> Callable[[CloudState, str], tuple[str, str] | None]:
    """Return what a read of a part of an account gets; without the account, the provider knows the code."""

    def why(cloud_state: CloudState, id: str) -> tuple[str, str] | None:
        return (code, message) if cloud_state.find(STORE.token, "/".join(id.split("/")[:9])) else None

    return why


TYPES: dict[str, ResourceType] = {
    STORE.token: row(
        STORE,
        outputs={"provisioningState": "Succeeded", "type": STORE.arm},
        immutable=("kind", "isHnsEnabled", "dnsEndpointType"),
        chosen=("accessTier",),
        derive=lambda request: {"accessTier": "Hot", **_endpoints(request), **assigned(request)},
        completed=("identity",),
        patterns={"accountName": (re.compile(r"[a-z0-9]{3,24}"), "3 to 24 lower-case letters and digits")},
        unique=(
            Unique(
                "storage account",
                ("accountName",),
                "StorageAccountAlreadyTaken",
                "The storage account named {in_.accountName} is already taken.",
            ),
        ),
        rules=(_account, _subnets, keys.account, quota("storage accounts per location")),
        deleted=_all_emptied,
    ),
    CONTAINER.token: row(
        CONTAINER,
        located=False,
        outputs={"type": CONTAINER.arm},
        patterns={
            "containerName": (
                re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"),
                "3 to 63 lower-case letters, digits and single hyphens, a letter or digit at each end",
            )
        },
        references=(part_of(STORE),),
        rules=(_container,),
        deleted=_emptied,
        gone=_gone("ContainerNotFound", "The specified container does not exist."),
    ),
    BLOB.token: row(
        BLOB,
        located=False,
        immutable=("type", "source", "contentMd5"),
        chosen=("accessTier", "contentType"),
        derive=lambda request: {
            **_url(request),
            "accessTier": "Hot",
            "type": "Block",
            "contentType": "application/octet-stream",
        },
        volatile=("contentMd5",),
        patterns={"blobName": (re.compile(r".+", re.DOTALL), "a name")},
        references=websites.HOLDERS,
        rules=(_admit, _blob),
        delete_rules=(_admit,),
        shown=_readable,
        created=_store,
        deleted=lambda request: request.cloud_state.remove_object(bucket(request.inputs), request.inputs["blobName"]),
    ),
    **websites.table(_admit),
    PROPERTIES.token: row(
        PROPERTIES,
        located=False,
        patterns={"blobServicesName": (re.compile("default"), "default")},
        references=(part_of(STORE),),
    ),
    POLICY.token: row(
        POLICY,
        located=False,
        patterns={"managementPolicyName": (re.compile("default"), "default")},
        references=(part_of(STORE),),
        rules=(_policy,),
        gone=_gone("ManagementPolicyNotFound", "No ManagementPolicy found for account."),
    ),
}
