"""The services of AWS: routing by host, identity of the caller, and the answer.

The Host header names the service, as on AWS. Without a host name (a test on loopback) the request decides:
`/latest/...` is metadata, `x-amz-target` is Secrets Manager, a form at `/` is EC2, and the rest is S3 with the bucket
as the first part of the path.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote

from sandbox.cloud_state import CloudState
from sandbox.services.aws import ec2, metadata, s3, secretsmanager
from sandbox.services.aws.signature import Claimed, claimed, verify
from sandbox.services.calls import METADATA, Answer, Call, Refused, Target
from sandbox.services.credentials import LIFETIME, Caller, caller

S3, SECRETS, EC2 = "s3", "secretsmanager", "ec2"
REFUSALS: Mapping[str, Callable[[Refused], tuple[Answer, str]]] = {
    METADATA: metadata.refusal,
    S3: s3.refusal,
    SECRETS: secretsmanager.refusal,
    EC2: ec2.refusal,
}
"""Return a refusal in the service's format, with its error code."""
_METADATA_ADDRESS = "169.254.169.254"
_NAMED = re.compile(
    r"(?:(?P<bucket>[a-z0-9.-]+)\.)?(?P<service>s3|secretsmanager|ec2)\.(?P<region>[a-z0-9-]+)\.amazonaws\.com"
)


def target(call: Call) -> Target:
    """Return the service of a request, by its Host header or its content."""
    host = call.headers.get("host", "").partition(":")[0]
    path = unquote(call.path.removeprefix("/"))
    named = _NAMED.fullmatch(host)
    if named and named["service"] == S3 and named["bucket"]:
        return Target(S3, named["region"], named["bucket"], path)
    if named and named["service"] != S3:
        return Target(named["service"], named["region"])
    first = path.partition("/")[0]
    if host == _METADATA_ADDRESS or (not named and first in metadata.VERSIONS):
        return Target(METADATA)
    if not named and "x-amz-target" in call.headers:
        return Target(SECRETS)
    if not named and call.path == "/":
        return Target(EC2)
    return Target(S3, named["region"] if named else "", first, path.partition("/")[2])


@dataclass(frozen=True)
class Aws:
    """The services of one cloud state."""

    cloud_state: CloudState
    lifetime: int = LIFETIME
    """Lifetime of credentials in seconds."""

    def target(self, call: Call) -> Target:
        """Return the service of a request, by its Host header or its content."""
        return target(call)

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, tuple[Caller | None, str]]:
        """Return the caller (None for an unsigned call), and the region that the call is for."""
        if to.service == METADATA:
            return "", (None, "")
        if "authorization" not in call.headers:
            if to.service != S3:
                raise Refused("anonymous", "Request is missing Authentication Token")
            return "", (None, to.region or self._region(to.bucket))
        claim: Claimed = claimed(call)
        who, secret = caller(self.cloud_state, claim.key, call.headers.get("x-amz-security-token", ""), now)
        region = to.region or self._region(to.bucket) or claim.region
        verify(call, claim, secret, region=region, service=to.service, now=now)
        return who.instance.id, (replace(who, place=metadata.find(self.cloud_state, call)), region)

    def _region(self, bucket: str) -> str:
        record = self.cloud_state.find(s3.BUCKET, bucket)
        return record.region if record else ""

    def serve(self, call: Call, to: Target, caller: tuple[Caller | None, str], now: float) -> Answer:
        """Return the answer of the addressed service."""
        who, region = caller
        if to.service == METADATA:
            return metadata.Metadata(self.cloud_state, self.lifetime).answer(call, now)
        if to.service == S3:
            return s3.Store(self.cloud_state, region).answer(call, who, to.bucket, to.key)
        if to.service == SECRETS:
            return secretsmanager.Secrets(self.cloud_state, region).answer(call, who)
        return ec2.Compute(self.cloud_state, region).answer(call, who)

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the service's format."""
        return REFUSALS[to.service](refused)
