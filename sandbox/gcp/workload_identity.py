"""Workload identity pools and their providers.

Source: IAM API reference, projects.locations.workloadIdentityPools and its providers (discovery document iam.v1): the
form of ids, the limits of each field, keys of an uploaded JWKS, and that a deleted pool keeps its id for 30 days.
"""

import json
import re
from urllib.parse import urlsplit

from sandbox.cloud import Reference, Request, ResourceType, Unique
from sandbox.gcp.iam import bad_request
from sandbox.gcp.regions import NUMBER

POOL = "gcp:iam/workloadIdentityPool:WorkloadIdentityPool"
PROVIDER = "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider"
_ID = (re.compile(r"(?!gcp-)[a-z0-9-]{4,32}"), "4 to 32 lower-case letters, digits and hyphens, and not gcp- first")
_FIELDS = frozenset({"kty", "alg", "use", "kid", "n", "e", "x", "y", "crv"})
"""Fields that a key of an uploaded JWKS may have."""
_NUMBERED = f"projects/{NUMBER}/locations/global/workloadIdentityPools/{{in_.workloadIdentityPoolId}}"
_POOL_ID = "projects/{account}/locations/global/workloadIdentityPools/{in_.workloadIdentityPoolId}"


def _oidc(request: Request) -> None:
    """Refuse an issuer, keys, a mapping or a condition that Google would not take."""
    inputs, oidc = request.inputs, request.inputs.get("oidc") or {}
    parts = urlsplit(str(oidc.get("issuerUri") or ""))
    if parts.scheme != "https" or not parts.hostname:
        raise bad_request("The issuer URI must be a valid URI with the HTTPS scheme.")
    if len(inputs.get("attributeCondition") or "") > 4096:
        raise bad_request("The attribute condition must have at most 4096 characters.")
    if "google.subject" not in (inputs.get("attributeMapping") or {}):
        raise bad_request("The attribute mapping must contain google.subject.")
    if oidc.get("jwksJson"):
        _keys(oidc["jwksJson"])


def _keys(text: str) -> None:
    try:
        keys = json.loads(text)["keys"]
    except (ValueError, TypeError, KeyError):
        raise bad_request("The JWKS is not a JSON object with keys.") from None
    for key in keys:
        if key.keys() - _FIELDS or key.get("kty") not in ("RSA", "EC") or not key.get("kid"):
            raise bad_request("The JWKS has a key that is not supported.")
    if not keys:
        raise bad_request("The JWKS has no keys.")


TYPES: dict[str, ResourceType] = {
    POOL: ResourceType(
        id=_POOL_ID,
        immutable=("workloadIdentityPoolId", "project", "mode"),
        chosen=("project",),
        outputs={"project": "{account}", "name": _NUMBERED, "state": "ACTIVE"},
        at_least_one=(("workloadIdentityPoolId",),),
        patterns={"workloadIdentityPoolId": _ID},
        unique=(
            Unique(
                "workload identity pool",
                ("workloadIdentityPoolId",),
                "alreadyExists",
                "googleapi: Error 409: Requested entity already exists",
            ),
        ),
    ),
    PROVIDER: ResourceType(
        id=f"{_POOL_ID}/providers/{{in_.workloadIdentityPoolProviderId}}",
        immutable=("workloadIdentityPoolId", "workloadIdentityPoolProviderId", "project"),
        chosen=("project",),
        outputs={
            "project": "{account}",
            "name": f"{_NUMBERED}/providers/{{in_.workloadIdentityPoolProviderId}}",
            "state": "ACTIVE",
        },
        references=(
            Reference(
                "workloadIdentityPoolId",
                POOL,
                "notFound",
                "googleapi: Error 404: Requested entity was not found",
                "vanish",
                id=lambda request, value: f"projects/{request.account}/locations/global/workloadIdentityPools/{value}",
            ),
        ),
        patterns={"workloadIdentityPoolProviderId": _ID},
        rules=(_oidc,),
    ),
}
