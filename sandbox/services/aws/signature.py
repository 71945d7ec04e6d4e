"""Verifies AWS Signature Version 4 from its specification; shares no code with the signers.

Sources: IAM user guide, "Create a signed AWS API request"; Amazon S3 API reference, "Authenticating Requests: Using the
Authorization Header" (paths are encoded once, the payload's digest is a header, 15 minutes of skew); elsewhere 5
minutes ("Signature expired: ... is now earlier than ...").
"""

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from urllib.parse import quote, unquote_to_bytes

from sandbox.services.calls import Call, Refused

SKEW = {"s3": 900}
"""Largest clock skew of a caller in seconds, by service; OTHERS for the rest."""
OTHERS = 300
ALGORITHM = "AWS4-HMAC-SHA256"
_HEADER = re.compile(
    rf"{ALGORITHM} Credential=(?P<key>[A-Z0-9]+)/(?P<day>\d{{8}})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z0-9]+)"
    r"/aws4_request,\s*SignedHeaders=(?P<names>[a-z0-9;-]+),\s*Signature=(?P<signature>[0-9a-f]{64})"
)
_MOMENT = re.compile(r"\d{8}T\d{6}Z")


@dataclass(frozen=True)
class Claimed:
    """The claims of a signature; true once `verify` accepted it."""

    key: str
    day: str
    region: str
    service: str
    names: tuple[str, ...]
    signature: str
    moment: str
    """Value of x-amz-date."""

    @property
    def scope(self) -> str:
        """Credential scope."""
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def claimed(call: Call) -> Claimed:
    """Parse the Authorization header. Raises Refused if it is malformed or lacks a signed header."""
    found = _HEADER.fullmatch(call.headers.get("authorization", ""))
    if not found:
        raise Refused("malformed", "the authorization header is not one of Signature Version 4")
    moment = call.headers.get("x-amz-date", "")
    if not _MOMENT.fullmatch(moment):
        raise Refused("malformed", "x-amz-date is not of the form 20260102T030405Z")
    names = tuple(found["names"].split(";"))
    parts = {name: found[name] for name in ("key", "day", "region", "service", "signature")}
    return Claimed(**parts, names=names, moment=moment)


def verify(call: Call, claim: Claimed, secret: str, *, region: str, service: str, now: float) -> None:
    """Raise Refused unless the secret key signed exactly this call, for this region and service, at about this time."""
    if (claim.region, claim.service) != (region, service):
        raise Refused("scope", f"the credential is scoped to {claim.region}/{claim.service}, not {region}/{service}")
    _refuse_skew(claim.moment, service, now)
    if not claim.moment.startswith(claim.day):
        raise Refused("mismatch", f"the credential is of {claim.day}, the request of {claim.moment}")
    if list(claim.names) != sorted(set(claim.names)):
        raise Refused("malformed", "SignedHeaders is not in alphabetic order")
    lacking = {"host", *(name for name in call.headers if name.startswith("x-amz-"))} - set(claim.names)
    if lacking:
        raise Refused("unsigned-headers", f"headers are present that were not signed: {', '.join(sorted(lacking))}")
    digest = _payload(call, service)
    request = canonical_request(call, claim.names, digest, encode_twice=service != "s3")
    text = "\n".join((ALGORITHM, claim.moment, claim.scope, hashlib.sha256(request.encode()).hexdigest()))
    if not hmac.compare_digest(_signature(secret, claim, text), claim.signature):
        raise Refused("mismatch", "The request signature we calculated does not match the signature you provided.")


def _refuse_skew(moment: str, service: str, now: float) -> None:
    sent = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()
    here = datetime.fromtimestamp(now, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    if abs(now - sent) <= SKEW.get(service, OTHERS):
        return
    if service in SKEW:
        raise Refused("skewed", "The difference between the request time and the current time is too large.")
    which = "expired: {} is now earlier" if sent < now else "not yet current: {} is still later"
    raise Refused("skewed", f"Signature {which.format(moment)} than what is allowed at {here}, 5 min.")


def canonical_request(call: Call, names: tuple[str, ...], digest: str, *, encode_twice: bool) -> str:
    """Return the canonical request: method, path, query, headers, header names, digest of the payload."""
    path = _encoded(call.path or "/", "/")
    path = quote(path, safe="/-_.~") if encode_twice else path
    lines = [f"{name}:{' '.join(call.headers.get(name, '').split())}" for name in names]
    return "\n".join((call.method, path, _canonical_query(call.query), *lines, "", ";".join(names), digest))


def _payload(call: Call, service: str) -> str:
    """Return the signed payload digest; S3 requires it as a header too. Raises Refused if the payload is unsigned."""
    digest, said = hashlib.sha256(call.body).hexdigest(), call.headers.get("x-amz-content-sha256")
    if said is None and service == "s3":
        raise Refused("no-digest", "Missing required header for this request: x-amz-content-sha256")
    if said not in (None, digest):
        raise Refused("wrong-digest", "The provided 'x-amz-content-sha256' header does not match what was computed.")
    return digest


def _canonical_query(query: str) -> str:
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    return "&".join(sorted(f"{_encoded(name)}={_encoded(value)}" for name, _, value in pairs))


def _encoded(text: str, safe: str = "") -> str:
    """Percent-encode every byte but the unreserved ones, even if it was encoded before."""
    return quote(unquote_to_bytes(text), safe=f"{safe}-_.~")


def _signature(secret: str, claim: Claimed, text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in (claim.day, claim.region, claim.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
