"""Keys of Key Vault that disk encryption sets and storage accounts name, and what Azure answers if it cannot use one.

Both use a key as their user-assigned identity. Published logs show the two error codes for an identity without
the role. The sandbox also returns them for a missing or disabled key, for which no published code was found.
"""

import re

from sandbox import keys
from sandbox.azure.identities import assigned
from sandbox.azure.names import DISK_KEY, in_use, row
from sandbox.cloud import Refusal, Request, ResourceType

_URL = re.compile(r"https://(?P<vault>[\w-]+)\.vault\.azure\.net/keys/(?P<key>[\w-]+)/(?P<version>[0-9a-f]{32})")
ENCRYPTION = ("EncryptionAtRestWithCustomerKey", "EncryptionAtRestWithPlatformAndCustomerKeys")
"""Types of a disk encryption set for virtual machines that are not confidential."""


def _set(request: Request) -> None:
    """Refuse a disk encryption set whose key its identity cannot use."""
    url = (request.inputs.get("activeKey") or {}).get("keyUrl") or ""
    found = _URL.fullmatch(url)
    if not found:
        raise Refusal("InvalidParameter", f"The value '{url}' of activeKey.keyUrl is not the URL of a key's version.")
    if request.inputs.get("encryptionType") not in ENCRYPTION:
        raise Refusal("InvalidParameter", f"encryptionType is one of {', '.join(ENCRYPTION)}.")
    why = _problem(request, _identity(request), found["vault"], found["key"], found["version"])
    if why and request.old is None:
        name = request.inputs["diskEncryptionSetName"]
        raise Refusal(
            "KeyVaultAccessForbidden",
            f"Unable to access key vault resource '{url}' to enable encryption at rest. Please grant get, wrap and"
            f" unwrap key permissions to disk encryption set '{name}'. ({why})",
        )


def account(request: Request) -> None:
    """Refuse a storage account whose key its identity cannot use."""
    settings = request.inputs.get("encryption") or {}
    if str(settings.get("keySource", "")).lower() != "microsoft.keyvault":
        return
    named = settings.get("keyVaultProperties") or {}
    user = (settings.get("encryptionIdentity") or {}).get("encryptionUserAssignedIdentity") or ""
    if user != _identity(request):
        raise Refusal("InvalidRequestPropertyValue", "encryptionIdentity is not an identity of the storage account.")
    vault = str(named.get("keyVaultUri") or "").removeprefix("https://").partition(".")[0]
    if why := _problem(request, user, vault, named.get("keyName") or "", named.get("keyVersion")):
        raise Refusal(
            "KeyVaultAuthenticationFailure",
            f"The operation failed because of authentication issue on the keyvault. ({why})",
        )


def _identity(request: Request) -> str:
    """Return the one user-assigned identity of a resource. Raises Refusal if it has none, or several."""
    given = (request.inputs.get("identity") or {}).get("userAssignedIdentities") or []
    if len(given) != 1:
        raise Refusal("InvalidRequestPropertyValue", "Encryption with a key needs one user-assigned identity.")
    return str(given[0])


def _problem(request: Request, identity: str, vault: str, name: str, version: str | None) -> str:
    """Return why an identity cannot use a key; empty if it can. version: None is the newest."""
    wanted = f"/vaults/{vault}/keys/{name}/versions/{version or ''}".lower()
    matching = [id for id in keys.ids(request.cloud_state) if wanted in id.lower()]
    key = keys.find(request.cloud_state, matching[0]) if matching else None
    if key is None:
        return f"the vault {vault} has no such version of a key {name}"
    if key.identity.lower() != identity.lower():
        return f"{identity} does not have the role Key Vault Crypto Service Encryption User on the key"
    return "" if key.enabled else "the key is disabled"


TYPES: dict[str, ResourceType] = {
    DISK_KEY.token: row(
        DISK_KEY,
        outputs={"provisioningState": "Succeeded", "type": DISK_KEY.arm},
        derive=assigned,
        completed=("identity",),
        immutable=("encryptionType",),
        rules=(_set,),
        in_use=in_use("OperationNotAllowed", "Disk encryption set"),
    ),
}
