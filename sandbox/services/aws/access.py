"""Whether a caller may do what it asks for: policies of its role and of the bucket, together."""

from sandbox.aws import policies
from sandbox.aws.machine import policy_documents
from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.calls import Refused
from sandbox.services.credentials import Caller

NOBODY = "arn:aws:iam::nobody:anonymous"
"""The principal of an unsigned call: only a statement for everyone (*) is for it."""


def require(cloud_state: CloudState, caller: Caller | None, action: str, resource: str, bucket: str = "") -> None:
    """Refused("denied") unless some statement allows the action on the resource and none denies it."""
    # This is plain http: where the world's machines look for https, it is not what they should have used.
    context = {"aws:SecureTransport": str(cloud_state.setting(SERVICES) == "http").lower()}
    if caller:
        context["aws:userid"] = caller.user_id
    documents = policy_documents(cloud_state, caller.role if caller else None, bucket)
    principal = caller.role.outputs["arn"] if caller else NOBODY
    reason = policies.refused(documents, action, resource, principal, context)
    if reason:
        raise Refused("denied", reason)


def allowed(cloud_state: CloudState, caller: Caller | None, action: str, resource: str, bucket: str = "") -> bool:
    """Whether `require` would let it pass."""
    try:
        require(cloud_state, caller, action, resource, bucket)
    except Refused:
        return False
    return True
