"""Fetches this machine's bundle, checks its digest and makes it current; done once per digest.

machine.json beside this file says where the bundle is. The executor uses the functions too.
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
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

HOME = Path("/opt/mullion")
METADATA = "http://169.254.169.254"
WAITS = (1, 2, 4, 8, 15, 30, 60)
SKEW = 240
"""Seconds; services refuse a signature whose time is 300 or 900 s from theirs."""
ahead = 0.0
"""Seconds that the services' clock is ahead of this machine's."""


class Refused(Exception):
    """Trying again would not help."""


class Stay(HTTPRedirectHandler):
    """A signature and a token are for one address alone."""

    def redirect_request(self, req, fp, code, msg, headers, newurl) -> None:  # noqa: ANN001
        return None


direct = build_opener(ProxyHandler({}), Stay()).open


def metadata(path: str) -> str:
    """A value of the AWS metadata service, version 2: a token first."""
    put = Request(METADATA + "/latest/api/token", method="PUT")
    put.add_header("X-aws-ec2-metadata-token-ttl-seconds", "300")
    with direct(put, timeout=5) as answer:
        token = answer.read().decode()
    get = Request(METADATA + path, headers={"X-aws-ec2-metadata-token": token})
    with direct(get, timeout=5) as answer:
        return answer.read().decode().strip()


def aws(url: str, service: str, method: str, body: bytes, headers: dict) -> Request:
    """A request with AWS Signature Version 4, made with the credentials of the machine's role."""
    roles = "/latest/meta-data/iam/security-credentials/"
    credentials = json.loads(metadata(roles + metadata(roles).split()[0]))
    region = metadata("/latest/meta-data/placement/region")
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + ahead))
    parts, digest = urlsplit(url), hashlib.sha256(body).hexdigest()
    sent = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
    sent |= {"x-amz-security-token": credentials["Token"]} | headers
    names = ";".join(sorted(sent))
    lines = [method, parts.path or "/", parts.query, *(f"{k}:{sent[k]}" for k in sorted(sent)), "", names, digest]
    scope = f"{now[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n" + hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = ("AWS4" + credentials["SecretAccessKey"]).encode()
    for part in [*scope.split("/"), text]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    place = f"Credential={credentials['AccessKeyId']}/{scope}, SignedHeaders={names}"
    sent["authorization"] = f"AWS4-HMAC-SHA256 {place}, Signature={key.hex()}"
    return Request(url, data=body or None, headers=sent, method=method)


CLOUDS = {"aws": aws}
"""How the machine's identity signs a request, by facts.cloud."""


def ask(cloud: str, url: str, service: str, method="GET", body=b"", headers=None, wait=60.0) -> bytes:  # noqa: ANN001
    """What one of the cloud's services answers to this machine; OSError (HTTPError) with the service's own word."""
    try:
        with direct(CLOUDS[cloud](url, service, method, body, headers or {}), timeout=wait) as answer:
            return answer.read()
    except HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    except HTTPError as error:
        with error:
            word = re.search(rb'(?:<Code>|"__type": *"(?:[^"]*#)?)(\w+)', error.read(4096))
        error.msg += f" {word[1].decode()}" if word else ""
        if not wrong_clock(error):
            raise
    return ask(cloud, url, service, method, body, headers, wait)


def wrong_clock(error: HTTPError) -> bool:
    """The service may have refused the time of the signature: from now on, its clock counts."""
    global ahead  # noqa: PLW0603  a machine has one clock
    try:
        theirs = parsedate_to_datetime(error.headers["Date"]).timestamp() - time.time()
    except (TypeError, ValueError):
        return False
    far = error.code in (400, 401, 403) and abs(theirs - ahead) > SKEW
    ahead = theirs if far else ahead
    return far


def fetch(cloud: str, url: str) -> bytes:
    """The bundle's bytes. Waits as long as it takes: network and identity come up after the machine."""
    tries = 0
    while True:
        try:
            return ask(cloud, url, "s3")
        except Exception as error:
            wait = WAITS[min(tries, len(WAITS) - 1)]
            print(f"mullion: {url}: {type(error).__name__}: {error}; again in {wait} s", flush=True)
            time.sleep(wait)
            tries += 1


def unpack(content: bytes, digest: str, home: Path) -> None:
    """Unpack under the digest's name, beside what is current."""
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
    """Make an unpacked bundle the current one."""
    link = home / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(Path("bundles") / digest)
    link.replace(home / "current")


def main(home: Path = HOME) -> None:
    """Install the bundle that machine.json names, unless that was done."""
    document = json.loads((home / "machine.json").read_text())
    url, digest, facts = document["bundle"]["url"], document["bundle"]["sha256"], document["facts"]
    installed = home / "installed"
    if installed.exists() and installed.read_text() == digest:
        return
    if urlsplit(url).scheme != "https" and facts.get("world") != "sandbox":
        raise Refused(f"{url} is not https")
    unpack(fetch(facts["cloud"], url), digest, home)
    switch(digest, home)
    installed.write_text(digest)
    print(f"mullion: bundle {digest} is current", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"mullion: {refused}")
