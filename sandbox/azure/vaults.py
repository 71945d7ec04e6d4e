"""Key Vault: vaults and secrets. Deleted names stay taken during soft deletion."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

from sandbox.azure.names import SECRET, VAULT, part_of, row
from sandbox.azure.regions import TENANT
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.values import Secret, plain

VALUE_LIMIT = 25600
"""Largest secret value in bytes (Key Vault, "About Azure Key Vault secrets")."""
KEPT_DAYS = (7, 90)
"""Least and most days of soft deletion; the most is the default (Key Vault, "Soft-delete overview")."""
MOST_TAGS = 15
"""Tags of a secret ("About Azure Key Vault secrets")."""
_NAME = re.compile(r"(?!.*--)[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]")
_GLOBAL = Unique(
    "vault name",
    ("vaultName",),
    "VaultAlreadyExists",
    "The vault name '{in_.vaultName}' is already in use. Vault names are globally unique so it is possible that the"
    " name is"
    " already taken.",
    kept=(
        "ConflictError",
        (
            "A vault with the same name already exists in deleted state. You need to either recover or purge existing"
            " key"
            " vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft"
            " delete."
        ),
    ),
)
_IN_VAULT = Unique(
    "secret name",
    ("vaultName", "secretName"),
    "AlreadyExists",
    f"cannot create already existing resource '{SECRET.id}'",
    kept=(
        "ObjectIsDeletedButRecoverable",
        (
            "Secret is currently in a deleted but recoverable state, and its name cannot be reused; in this state, the"
            " secret"
            " can only be recovered or purged."
        ),
    ),
)


def _properties(request: Request) -> dict[str, Any]:
    return request.inputs["properties"]


def _vault(request: Request) -> None:
    given = _properties(request)
    if given["tenantId"] != TENANT:
        raise Refusal("BadRequest", "An invalid value was provided for 'tenantId'.")
    days = given.get("softDeleteRetentionInDays", KEPT_DAYS[1])
    if not KEPT_DAYS[0] <= days <= KEPT_DAYS[1]:
        raise Refusal("BadRequest", f'The property "softDeleteRetentionInDays" must be between 7 and 90, not {days}.')
    if given.get("enableSoftDelete") is False:
        raise Refusal("BadRequest", 'The property "enableSoftDelete" can be set to false no more.')
    if given.get("enablePurgeProtection") is False:
        raise Refusal(
            "BadRequest",
            'The property "enablePurgeProtection" cannot be set to false. Enabling the purge protection for a vault is'
            " an irreversible action.",
        )
    if (given["sku"].get("family"), given["sku"].get("name")) not in (("A", "standard"), ("A", "premium")):
        raise Refusal("BadRequest", "A vault's sku is of family A, standard or premium.")
    if not given.get("enableRbacAuthorization") and given.get("accessPolicies") is None:
        raise Refusal("BadRequest", "A vault without RBAC authorization needs accessPolicies.")


def _kept(request: Request, unique: Unique, days: int) -> None:
    until = datetime.now(timezone.utc) + timedelta(days=days)
    request.cloud_state.keep_claim(unique.kind, str(unique.key(request)), until.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _deleted(request: Request) -> None:
    _kept(request, _GLOBAL, _properties(request).get("softDeleteRetentionInDays", KEPT_DAYS[1]))


def host(request: Request) -> str:
    """Return the vault's URL without a trailing slash."""
    name = request.inputs["vaultName"]
    return f"{request.place.scheme or 'https'}://{name}.vault.azure.net"


def key(vault: str, secret: str) -> str:
    """Return the key of the secret's values in the cloud state."""
    return f"https://{vault}.vault.azure.net/secrets/{secret}"


def _value(request: Request) -> str:
    return str(plain(_properties(request).get("value")) or "")


def _size(request: Request) -> None:
    if len(_value(request).encode()) > VALUE_LIMIT:
        raise Refusal("BadRequest", f"The value of a secret has at most {VALUE_LIMIT} bytes.")


def _tags(request: Request) -> None:
    count = len(request.inputs.get("tags") or {})
    if count > MOST_TAGS:
        raise Refusal("BadRequest", f"The number of tags of a secret is {count}; the maximum is {MOST_TAGS}.")


def _version(request: Request) -> str:
    return request.digits(32, f"version {len(request.cloud_state.secret_values(_key(request)))}")


def _key(request: Request) -> str:
    return key(request.inputs["vaultName"], request.inputs["secretName"])


def _secret(request: Request) -> dict[str, Any]:
    uri = f"{host(request)}/secrets/{request.inputs['secretName']}"
    known = {name: value for name, value in _properties(request).items() if name != "value"}
    value = {"value": Secret(_value(request))}
    return {"properties": {**known, **value, "secretUri": uri, "secretUriWithVersion": f"{uri}/{_version(request)}"}}


def _store(request: Request) -> None:
    """Add a version if the value changed."""
    values = list(request.cloud_state.secret_values(_key(request)).values())
    if _value(request) != (values or [None])[-1]:
        request.cloud_state.put_secret(_key(request), _version(request), _value(request))


def _removed(request: Request) -> None:
    vault = request.cloud_state.find(VAULT.token, part_of(VAULT).ids(request)[0])
    days = vault.inputs["properties"].get("softDeleteRetentionInDays", KEPT_DAYS[1]) if vault else KEPT_DAYS[1]
    request.cloud_state.remove_secret(_key(request))
    _kept(request, _IN_VAULT, days)


def _gone(request: Request) -> None:
    """Delete a vault's secrets with it."""
    for name in _secrets(request.cloud_state, request.inputs["vaultName"]):
        request.cloud_state.remove_secret(name)
    _deleted(request)


def _secrets(cloud_state: CloudState, vault: str) -> list[str]:
    start = key(vault, "")
    rows = cloud_state.connection.execute("SELECT DISTINCT secret FROM secrets.versions").fetchall()
    return [secret for (secret,) in rows if secret.startswith(start)]


TYPES: dict[str, ResourceType] = {
    VAULT.token: row(
        VAULT,
        outputs={"type": VAULT.arm},
        derive=lambda request: {
            "properties": {
                "enableSoftDelete": True,
                "softDeleteRetentionInDays": KEPT_DAYS[1],
                **_properties(request),
                "vaultUri": f"{host(request)}/",
                "provisioningState": "Succeeded",
            }
        },
        completed=("properties",),
        immutable=("properties.tenantId",),
        patterns={
            "vaultName": (
                _NAME,
                "3 to 24 letters, digits and hyphens, a letter first, no hyphen last and no two in a row",
            )
        },
        unique=(_GLOBAL,),
        rules=(_vault,),
        deleted=_gone,
    ),
    SECRET.token: row(
        SECRET,
        located=False,
        outputs={"type": SECRET.arm, "location": "{region}"},
        derive=_secret,
        completed=("properties",),
        patterns={"secretName": (re.compile(r"[0-9A-Za-z-]{1,127}"), "1 to 127 letters, digits and hyphens")},
        references=(part_of(VAULT),),
        unique=(_IN_VAULT,),
        rules=(_size, _tags),
        created=_store,
        deleted=_removed,
    ),
}
