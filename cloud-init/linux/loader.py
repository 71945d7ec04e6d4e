"""Downloads this machine's bundle, checks its digest and makes it current; once per digest.

machine.json beside this file names the bundle. The executor uses these functions too.
Another cloud adds a row to CLOUDS. Python 3.10, standard library only.
"""

import hashlib
import hmac
import io
import json
import os
import re
import shutil
import sys
import time
import zipfile
from email.utils import formatdate, parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

HOME = Path("/opt/mullion")
METADATA = "http://169.254.169.254"
WAITS = (1, 2, 4, 8, 15, 30, 60)
SKEW = 240
"""Seconds; services refuse a signature that is 300 or 900 s off."""
ahead = 0.0
"""Seconds by which the services' clock is ahead of this machine's."""


class Refused(Exception):
    """A failure that a retry would not fix."""


class Oversized(OSError):
    """An answer with more bytes than its reader takes."""


class Stay(HTTPRedirectHandler):
    """Follows no redirect: signatures and tokens are for one address."""

    def redirect_request(self, req, fp, code, msg, headers, newurl) -> None:  # noqa: ANN001
        return None


direct = build_opener(ProxyHandler({}), Stay()).open


def metadata(path: str, headers: dict, method: str = "GET") -> str:
    """Return a value of the cloud's metadata service."""
    with direct(Request(METADATA + path, headers=headers, method=method), timeout=5) as answer:
        return answer.read().decode().strip()


def aws_metadata(path: str) -> str:
    """Return a value of AWS instance metadata, read with a token (IMDSv2)."""
    token = metadata("/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300"}, "PUT")
    return metadata(path, {"X-aws-ec2-metadata-token": token})


def aws(facts: dict, url: str, service: str, method: str, body: bytes, headers: dict) -> Request:
    """Return a request with an AWS Signature Version 4 of the machine's role."""
    roles = "/latest/meta-data/iam/security-credentials/"
    credentials = json.loads(aws_metadata(roles + aws_metadata(roles).split()[0]))
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + ahead))
    parts, digest = urlsplit(url), hashlib.sha256(body).hexdigest()
    named = S3_HOST.search(parts.netloc)
    region = named[1] if named else aws_metadata("/latest/meta-data/placement/region")
    sent = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
    sent |= {"x-amz-security-token": credentials["Token"]} | headers
    names = ";".join(sorted(sent))
    lines = [method, parts.path or "/", parts.query, *(f"{k}:{sent[k]}" for k in sorted(sent)), "", names, digest]
    scope = f"{now[:8]}/{region}/{AWS_SERVICES[service]}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n" + hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = ("AWS4" + credentials["SecretAccessKey"]).encode()
    for part in [*scope.split("/"), text]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    place = f"Credential={credentials['AccessKeyId']}/{scope}, SignedHeaders={names}"
    sent["authorization"] = f"AWS4-HMAC-SHA256 {place}, Signature={key.hex()}"
    return Request(url, data=body or None, headers=sent, method=method)


def gcp(facts: dict, url: str, service: str, method: str, body: bytes, headers: dict) -> Request:
    """Return a request with a token of the machine's service account. Generation 0 means that no object exists."""
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    token = json.loads(metadata(path, {"Metadata-Flavor": "Google"}))["access_token"]
    sent = {name: value for name, value in headers.items() if name != "if-none-match"}
    sent |= {"x-goog-if-generation-match": "0"} if "if-none-match" in headers else {}
    return Request(url, data=body or None, headers=sent | {"authorization": f"Bearer {token}"}, method=method)


def azure(facts: dict, url: str, service: str, method: str, body: bytes, headers: dict) -> Request:
    """Return a request with a token of the machine's managed identity for the service."""
    asked = {"api-version": "2018-02-01", "resource": AZURE_SERVICES[service], "client_id": facts["identity"]}
    token = json.loads(metadata(f"/metadata/identity/oauth2/token?{urlencode(asked)}", {"Metadata": "true"}))
    sent = headers | {"authorization": f"Bearer {token['access_token']}"}
    if service == "store":
        sent |= {"x-ms-version": "2023-11-03", "x-ms-date": formatdate(time.time() + ahead, usegmt=True)}
    if service == "store" and method == "PUT":
        sent["x-ms-blob-type"] = "BlockBlob"
    return Request(url, data=body or None, headers=sent, method=method)


CLOUDS = {"aws": aws, "gcp": gcp, "azure": azure}
"""Function that signs a request with the machine's identity, by facts.cloud."""
AWS_SERVICES = {"store": "s3", "secrets": "secretsmanager", "compute": "ec2"}
S3_HOST = re.compile(r"\.s3\.([a-z0-9-]+)\.amazonaws\.com")
"""Host of a bucket, whose region the signature has to name; it may be another one than the machine's."""
AZURE_SERVICES = {
    "store": "https://storage.azure.com/",
    "secrets": "https://vault.azure.net",
    "compute": "https://management.azure.com/",
}
"""Audience of the token."""
WORD = re.compile(rb'(?:<Code>|"(?:__type|code|status|error)": *"(?:[^"]*#)?)(\w+)')


def ask(facts: dict, url, service, method="GET", body=b"", headers=None, wait=60.0, most=0) -> bytes:  # noqa: ANN001
    """Return the answer of a cloud service (store, secrets, compute). Raise OSError, with the service's error code.

    most: maximum bytes, 0 for no limit; Oversized if the answer has more.
    """
    try:
        request = CLOUDS[facts["cloud"]](facts, url, service, method, body, headers or {})
        with direct(request, timeout=wait) as answer:
            content = answer.read(most + 1 if most else None)
        if most and len(content) > most:
            raise Oversized(f"{url} has more than {most} bytes")
        return content
    except HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    except HTTPError as error:
        with error:
            word = WORD.search(error.read(4096))
        error.msg += f" {word[1].decode()}" if word else ""
        if not wrong_clock(error):
            raise
    return ask(facts, url, service, method, body, headers, wait, most)


def wrong_clock(error: HTTPError) -> bool:
    """Return whether the service may have refused the request's time; then use the service's clock from now on."""
    global ahead  # noqa: PLW0603  a machine has one clock
    try:
        theirs = parsedate_to_datetime(error.headers["Date"]).timestamp() - time.time()
    except (TypeError, ValueError):
        return False
    far = error.code in (400, 401, 403) and abs(theirs - ahead) > SKEW
    ahead = theirs if far else ahead
    return far


def fetch(facts: dict, url: str) -> bytes:
    """Return the bundle's bytes. Retry without end: network and identity come up after the machine."""
    tries = 0
    while True:
        try:
            return ask(facts, url, "store")
        except Exception as error:
            wait = WAITS[min(tries, len(WAITS) - 1)]
            print(f"mullion: {url}: {type(error).__name__}: {error}; again in {wait} s", flush=True)
            time.sleep(wait)
            tries += 1


def unpack(content: bytes, digest: str, home: Path) -> None:
    """Unpack into a folder named by the digest, beside the current bundle."""
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise Refused(f"the bundle has sha256 {found}, not {digest}: it was changed or is another one")
    target, partial = home / "bundles" / digest, home / "bundles" / f".{digest}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        outside = [name for name in names if not (partial / name).resolve().is_relative_to(partial.resolve())]
        if outside:
            raise Refused(f"the bundle has entries that leave its folder: {outside}")
        for name in names:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(archive.read(name))
    os.sync()
    if target.exists():
        shutil.rmtree(partial)
    else:
        partial.rename(target)


def switch(digest: str, home: Path) -> None:
    """Make an unpacked bundle current."""
    link = home / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(Path("bundles") / digest)
    link.replace(home / "current")


def main(home: Path = HOME) -> None:
    """Install the bundle in machine.json unless it was installed before."""
    document = json.loads((home / "machine.json").read_text())
    url, digest, facts = document["bundle"]["url"], document["bundle"]["sha256"], document["facts"]
    installed = home / "installed"
    if installed.exists() and installed.read_text() == digest:
        return
    if urlsplit(url).scheme != "https" and facts.get("world") != "sandbox":
        raise Refused(f"{url} is not https")
    unpack(fetch(facts, url), digest, home)
    switch(digest, home)
    installed.write_text(digest)
    print(f"mullion: bundle {digest} is current", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"mullion: {refused}")
