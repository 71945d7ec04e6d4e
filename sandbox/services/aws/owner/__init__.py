"""The management APIs of AWS, for the account's owner: what a reaper by tags lists and deletes.

All requests come to one address; the scope of the signature names service and region, as it does on AWS.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.cloud_state import CloudState
from sandbox.services.aws import ec2, s3, secretsmanager
from sandbox.services.aws.owner import balancers, compute, identities, secrets, storage, zones
from sandbox.services.aws.owner.holdings import Holdings
from sandbox.services.aws.signature import claimed, verify
from sandbox.services.calls import Answer, Call, Refused, Target
from sandbox.services.credentials import signing_key

KEY_ID = "AKIAMULLIONSANDBOXED"
SERVICES: Mapping[str, Callable[[Holdings, Call], Answer]] = {
    "ec2": compute.answer,
    "elasticloadbalancing": balancers.answer,
    "iam": identities.answer,
    "sts": identities.answer,
    "route53": zones.answer,
    "s3": storage.answer,
    "secretsmanager": secrets.answer,
    "tagging": secrets.answer,
}
_REFUSALS = {"ec2": ec2.refusal, "s3": s3.refusal, "secretsmanager": secretsmanager.refusal}
_REFUSALS["tagging"] = secretsmanager.refusal


def secret_key(cloud_state: CloudState) -> str:
    """Return the secret key of the account's owner."""
    return signing_key(cloud_state).hex()[:40]


@dataclass(frozen=True)
class AwsOwner:
    """The management APIs of one cloud state. lifetime: unused, because an owner's keys do not expire."""

    cloud_state: CloudState
    lifetime: int = 0

    def target(self, call: Call) -> Target:
        """Return service and region by the signature's scope. An unsigned call is for STS, which refuses it."""
        if "authorization" not in call.headers:
            return Target("sts")
        try:
            claim = claimed(call)
        except Refused:
            return Target("sts")
        return Target(claim.service, claim.region)

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, None]:
        """Verify the owner's signature. Raises Refused."""
        claim = claimed(call)
        if claim.key != KEY_ID:
            raise Refused("InvalidClientTokenId", "The security token included in the request is invalid.", 403)
        verify(call, claim, secret_key(self.cloud_state), region=to.region, service=to.service, now=now)
        return "owner", None

    def serve(self, call: Call, to: Target, caller: None, now: float) -> Answer:
        """Return the answer of the addressed service."""
        if to.service not in SERVICES:
            raise Refused("InvalidAction", f"the sandbox does not have the service {to.service}")
        return SERVICES[to.service](Holdings(self.cloud_state, to.region), call)

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the service's format."""
        return _REFUSALS.get(to.service, identities.refusal)(refused)
