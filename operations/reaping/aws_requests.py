"""Signed requests to AWS: Query, JSON and REST.

Source: IAM user guide, "Create a signed AWS API request" (Signature Version 4).
"""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx

from components.catalogue import regions
from operations.clouds.api import ApiError, Sender
from operations.console.exits import Exit, Stop

HOME = "us-east-1"
"""Region of the global services (AWS General Reference, "Service endpoints")."""
GLOBAL = ("iam", "route53")
OTHER_PARTITIONS = (*regions.APART["aws"], "us-gov-")
"""Beginnings of regions whose services have other hosts, or whose global services another region (botocore's
endpoints.json)."""
VERSIONS = {"ec2": "2016-11-15", "elbv2": "2015-12-01", "elb": "2012-06-01", "iam": "2010-05-08", "sts": "2011-06-15"}
"""Version of each Query API. elb is the API of classic load balancers, at the same host as elbv2."""
SIGNED = {"elbv2": "elasticloadbalancing", "elb": "elasticloadbalancing"}
"""Service name in host and signature, where it differs from the name of the API."""
_THROTTLED = (
    *("Throttl", "RequestThrottled", "EC2Throttled", "TooManyRequests", "RequestLimitExceeded", "SlowDown"),
    *("BandwidthLimitExceeded", "LimitExceededException", "ProvisionedThroughputExceeded", "PriorRequestNotComplete"),
    "TransactionInProgress",
)
"""Beginnings of the codes that botocore counts as throttling (botocore.retries.standard). The tagging API's own is
ThrottledException."""

EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
"""Codes of keys whose time is over (STS and S3; JSON APIs; EC2, "Error codes")."""


@dataclass(frozen=True)
class Keys:
    """Credentials of AWS. token: session token; empty for the keys of a user."""

    key_id: str
    secret: str
    token: str = ""


def keys() -> Keys:
    """Return the credentials of this environment. Raises Stop if there are none.

    Profiles, roles and single sign-on are resolved by the command line of AWS.
    """
    found = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    if all(found):
        return Keys(*found, os.environ.get("AWS_SESSION_TOKEN", ""))
    program = shutil.which("aws")
    if not program:
        raise Stop(Exit.USAGE, "no credentials of AWS: set AWS_ACCESS_KEY_ID, or install the AWS command line")
    command = [program, "configure", "export-credentials", "--format", "process"]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    try:
        said = json.loads(done.stdout)
        return Keys(said["AccessKeyId"], said["SecretAccessKey"], said.get("SessionToken") or "")
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip() or "it printed no keys").splitlines()[-1]
        raise Stop(Exit.USAGE, f"aws configure export-credentials: {last}") from None


class Requests:
    """Signed requests of one account. renewed: returns new keys, once AWS no longer accepts those of a role. endpoint:
    URL of all services in a test; else their public hosts.
    """

    def __init__(self, keys: Keys, endpoint: str = "", renewed: Callable[[], Keys] | None = None) -> None:
        self._keys, self._renewed, self._endpoint = keys, renewed, endpoint.rstrip("/")
        self._sender = Sender(_refusal)
        self.close = self._sender.close

    def query(self, service: str, region: str, action: str, /, **parameters: Any) -> ET.Element:
        """Call an action of a Query API. Lists in parameters are numbered (Filter.1, ...); dicts name their parts."""
        fields = {"Action": action, "Version": VERSIONS[service], **dict(_flat(parameters))}
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        return _xml(self._sent(service, region, "POST", "/", "", urlencode(fields).encode(), headers))

    def pages(self, service: str, region: str, action: str, /, **parameters: Any) -> Iterator[ET.Element]:
        """Yield all pages of an answer."""
        more: dict[str, str] = {}
        while True:
            page = self.query(service, region, action, **parameters, **more)
            token = page.findtext("nextToken") or ""
            marker = page.findtext(".//NextMarker") or page.findtext("./*/Marker") or ""
            more = {"NextToken": token} if token else {"Marker": marker} if marker else {}
            yield page
            if not more:
                return

    def json(self, service: str, region: str, target: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation of a JSON API. target: value of x-amz-target."""
        headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": target}
        return self._sent(service, region, "POST", "/", "", json.dumps(body).encode(), headers).json()

    def rest(
        self,
        service: str,
        region: str,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> ET.Element:
        """Call an operation of a REST API with XML bodies; an answer without body is an empty element."""
        digest = hashlib.md5(body, usedforsecurity=False).digest()
        headers = {"content-md5": base64.b64encode(digest).decode(), "content-type": "application/xml"} if body else {}
        return _xml(self._sent(service, region, method, path, _sorted(query or {}), body, headers))

    def _sent(
        self, service: str, region: str, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]
    ) -> httpx.Response:
        name = SIGNED.get(service, service)
        region = HOME if name in GLOBAL else region
        host = f"{name}.amazonaws.com" if name in GLOBAL else f"{name}.{region}.amazonaws.com"
        url = (self._endpoint or f"https://{host}") + path + (f"?{query}" if query else "")

        def make() -> httpx.Request:
            signed = signature(self._keys, name, region, method, url, body, headers, time.time())
            return httpx.Request(method, url, content=body, headers=signed)

        try:
            return self._sender.send(make)
        except ApiError as error:
            if error.code not in EXPIRED or not self._renewed:
                raise
            self._keys = self._renewed()
            return self._sender.send(make)


def signature(
    keys: Keys, service: str, region: str, method: str, url: str, body: bytes, headers: Mapping[str, str], now: float
) -> dict[str, str]:
    """Return the headers of a signed request. The URL's path and query must be percent-encoded and sorted."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    parts, digest = urlsplit(url), hashlib.sha256(body).hexdigest()
    sent = {**headers, "host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": moment}
    sent |= {"x-amz-security-token": keys.token} if keys.token else {}
    names = ";".join(sorted(sent))
    path = parts.path if service == "s3" else quote(parts.path, safe="/-_.~")  # S3 encodes once, the others twice
    lines = [method, path or "/", parts.query, *(f"{name}:{sent[name].strip()}" for name in sorted(sent))]
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    request = hashlib.sha256("\n".join([*lines, "", names, digest]).encode()).hexdigest()
    key = f"AWS4{keys.secret}".encode()
    for part in [*scope.split("/"), f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{request}"]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    credential = f"Credential={keys.key_id}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    return {**sent, "authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _sorted(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='-_.~')}={quote(query[name], safe='-_.~')}" for name in sorted(query))


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a Query API's parameters."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}.{key}" if name else key)
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value, 1):
            yield from _flat(each, f"{name}.{number}")
    else:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _xml(answer: httpx.Response) -> ET.Element:
    """Return the root of an XML body, with names without their namespace."""
    root = ET.fromstring(answer.content) if answer.content.strip() else ET.Element("Empty")  # noqa: S314  # expat reads no external entities
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    return root


def _refusal(answer: httpx.Response) -> ApiError:
    code, message = _said(answer)
    return ApiError(answer.status_code, code, message, throttled=code.startswith(_THROTTLED))


def _said(answer: httpx.Response) -> tuple[str, str]:
    """Read code and message of a refusal: XML of Query and REST APIs, JSON of the others."""
    try:
        if "json" in answer.headers.get("content-type", ""):
            said = answer.json()
            code = str(said.get("__type") or said.get("code") or answer.status_code).rpartition("#")[2]
            return code, str(said.get("message") or said.get("Message") or "")
        root = _xml(answer)
        found = root if root.tag == "Error" else root.find(".//Error")
        if found is not None:
            return found.findtext("Code") or "", found.findtext("Message") or ""
    except (ValueError, ET.ParseError):
        pass
    return str(answer.status_code), answer.text[:200]
