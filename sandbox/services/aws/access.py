"""Permission checks: the policies of the caller's role and of the bucket, evaluated together, and those of endpoints.

Requests without a signature show no machine, so the policies of its endpoints are not asked.
"""

from collections.abc import Mapping
from types import MappingProxyType

from sandbox.aws import keys, policies, private_ways
from sandbox.aws.machine import key_refused, policy_documents
from sandbox.aws.s3 import is_blocked
from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.calls import Refused
from sandbox.services.credentials import Caller

NOBODY = "arn:aws:iam::nobody:anonymous"
"""Principal of an unsigned call; only statements for everyone (*) match it."""


def require(
    cloud_state: CloudState,
    caller: Caller | None,
    action: str,
    resource: str,
    bucket: str = "",
    about: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise Refused("denied") unless some statement allows the action on the resource and none denies it.

    about: keys of conditions that the service adds. The same holds for the key that encrypts the bucket or secret, if
    it is the user's; it must also be usable.
    """
    # The services speak plain http; conditions on TLS hold if machines of this cloud state would use https.
    context = {"aws:SecureTransport": str(cloud_state.setting(SERVICES) == "http").lower(), **about}
    if caller:
        context["aws:userid"] = caller.user_id
    if caller and caller.place:
        context |= private_ways.source(cloud_state, caller.place, action, resource)
    documents = policy_documents(cloud_state, caller.role if caller else None, bucket)
    principal = caller.role.outputs["arn"] if caller else NOBODY
    context |= private_ways.accounts(cloud_state, action, resource, principal) if caller else {}
    reason = policies.refused(documents, action, resource, principal, context)
    if caller is None and bucket and is_blocked(cloud_state, bucket, "restrictPublicBuckets"):
        reason = reason or f"the public access block of {bucket} keeps everybody else out"
    if caller and caller.place and not reason:
        reason = private_ways.refused(cloud_state, caller.place, action, resource, principal, context)
    if not reason and (key := keys.of_bucket(cloud_state, bucket) or keys.of_secret(cloud_state, resource)):
        reason = key_refused(cloud_state, documents, principal, action, key)
    if reason:
        raise Refused("denied", reason)


def allowed(cloud_state: CloudState, caller: Caller | None, action: str, resource: str, bucket: str = "") -> bool:
    """Return whether `require` lets the call pass."""
    try:
        require(cloud_state, caller, action, resource, bucket)
    except Refused:
        return False
    return True
