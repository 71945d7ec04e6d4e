"""Keys of Cloud KMS that disks, buckets and secrets name, and what Google answers if its service cannot use one.

The services' own agents use the key (service agents: Compute Engine, Cloud Storage and Secret Manager documentation,
"customer-managed encryption keys"), so the machines' accounts need no right on it.
"""

from typing import Any

from sandbox import keys
from sandbox.cloud import Refusal, Request, Rule
from sandbox.gcp.regions import NUMBER

COMPUTE, STORAGE, SECRETS = "compute", "storage", "secretmanager"
AGENTS = {
    COMPUTE: f"service-{NUMBER}@compute-system.iam.gserviceaccount.com",
    STORAGE: f"service-{NUMBER}@gs-project-accounts.iam.gserviceaccount.com",
    SECRETS: f"service-{NUMBER}@gcp-sa-secretmanager.iam.gserviceaccount.com",
}
"""Account with which each service uses keys; it needs roles/cloudkms.cryptoKeyEncrypterDecrypter on the key."""
_RIGHT = "cloudkms.cryptoKeyVersions.useToEncrypt"


def disk(request: Request) -> None:
    """Refuse a boot disk whose key Compute Engine cannot use."""
    _disk(request, request.inputs["bootDisk"].get("kmsKeySelfLink"))


def volume(request: Request) -> None:
    """Refuse a further disk whose key Compute Engine cannot use."""
    _disk(request, (request.inputs.get("diskEncryptionKey") or {}).get("kmsKeySelfLink"))


def _disk(request: Request, key: str | None) -> None:
    if key and request.old is None:
        why = _problem(request, key, COMPUTE, str(request.inputs["zone"]).rpartition("-")[0])
        if why:
            raise Refusal("badRequest", f"googleapi: Error 400: Cloud KMS error when using key {key}: {why}")


def bucket(request: Request) -> None:
    """Refuse a bucket whose key Cloud Storage cannot use."""
    key = (request.inputs.get("encryption") or {}).get("defaultKmsKeyName")
    why = _problem(request, key, STORAGE, str(request.inputs["location"]).lower()) if key else ""
    if why:
        message = "Permission denied on Cloud KMS key. Please ensure that your Cloud Storage service account has been"
        raise Refusal("forbidden", f"googleapi: Error 403: {message} authorized to use this key. ({why})")


def replicas(request: Request) -> None:
    """Refuse a secret with a replica whose key is in another place."""
    for place, key in _replicas(request.inputs):
        if _location(key) != place:
            message = f"The KMS key {key} must be in the location of its replica, {place}"
            raise Refusal("badRequest", f"googleapi: Error 400: {message}.")


def version(secret_type: str, secret_of: Any) -> Rule:
    """Return a rule that refuses a secret's value if Secret Manager cannot use the key of a replica."""

    def rule(request: Request) -> None:
        secret = request.cloud_state.find(secret_type, secret_of(request))
        for place, key in _replicas(secret.inputs) if secret else ():
            if why := _problem(request, key, SECRETS, place):
                raise Refusal("failedPrecondition", f"googleapi: Error 400: {why}")

    return rule


def _replicas(inputs: dict[str, Any]) -> list[tuple[str, str]]:
    """Return location and key of the replicas that have a key."""
    found = (inputs["replication"].get("userManaged") or {}).get("replicas") or []
    pairs = [(each["location"], (each.get("customerManagedEncryption") or {}).get("kmsKeyName")) for each in found]
    return [(place, key) for place, key in pairs if key]


def _location(key: str) -> str:
    parts = key.split("/")
    return parts[3] if len(parts) == 8 else ""


def _problem(request: Request, id: str, service: str, place: str) -> str:
    """Return why a service cannot use a key for something in a place; empty if it can."""
    if _location(id) != place:
        return f"the key is in {_location(id) or 'no location'}, which cannot be used in {place}."
    key = keys.find(request.cloud_state, id)
    if key is None or service in key.lacking:
        return f"Permission '{_RIGHT}' denied on resource '{id}' (or it may not exist) for {AGENTS[service]}."
    return "" if key.enabled else f"{id}/cryptoKeyVersions/1 is not enabled, current state is: DISABLED."
