"""Fetches this machine's bundle, checks its digest and makes it current; done once per digest.

machine.json beside this file says where the bundle is. Another cloud adds its way to a token and a request;
the rest stays. The executor uses the functions too. Python 3.10, standard library only.
"""

import hashlib
import hmac
import io
import json
import os
import shutil
import sys
import time
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener, urlopen

HOME = Path("/opt/mullion")
METADATA = "http://169.254.169.254"
WAITS = (1, 2, 4, 8, 15, 30, 60)


class Refused(Exception):
    """Trying again would not help."""


def metadata(path: str) -> str:
    """A value of the metadata service, version 2: a token first. Never through a proxy."""
    direct = build_opener(ProxyHandler({}))
    put = Request(METADATA + "/latest/api/token", method="PUT")
    put.add_header("X-aws-ec2-metadata-token-ttl-seconds", "300")
    with direct.open(put, timeout=5) as answer:
        token = answer.read().decode()
    get = Request(METADATA + path, headers={"X-aws-ec2-metadata-token": token})
    with direct.open(get, timeout=5) as answer:
        return answer.read().decode().strip()


def identity() -> tuple[dict, str]:
    """Credentials of the machine's role, and its region."""
    roles = "/latest/meta-data/iam/security-credentials/"
    credentials = json.loads(metadata(roles + metadata(roles).split()[0]))
    return credentials, metadata("/latest/meta-data/placement/region")


def signed(url: str, service: str, method: str = "GET", body: bytes = b"", headers: dict | None = None) -> Request:
    """A request with AWS Signature Version 4, made with the machine's identity."""
    credentials, region = identity()
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parts, digest = urlsplit(url), hashlib.sha256(body).hexdigest()
    sent = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
    sent |= {"x-amz-security-token": credentials["Token"]} | (headers or {})
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


def fetch(url: str) -> bytes:
    """The bundle's bytes. Waits as long as it takes: network, identity and clock come up after the machine."""
    tries = 0
    while True:
        try:
            with urlopen(signed(url, "s3"), timeout=60) as answer:
                return answer.read()
        except Exception as error:
            wait = WAITS[min(tries, len(WAITS) - 1)]
            print(f"mullion: {url}: {type(error).__name__}: {error}; again in {wait} s", flush=True)
            time.sleep(wait)
            tries += 1


def install(content: bytes, digest: str, home: Path) -> None:
    """Unpack under the digest's name and switch to it; what was current stays so until the last step."""
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
    link = home / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(target.relative_to(home))
    link.replace(home / "current")
    (home / "installed").write_text(digest)


def main(home: Path = HOME) -> None:
    """Install the bundle that machine.json names, unless that was done."""
    document = json.loads((home / "machine.json").read_text())
    url, digest = document["bundle"]["url"], document["bundle"]["sha256"]
    installed = home / "installed"
    if installed.exists() and installed.read_text() == digest:
        return
    if urlsplit(url).scheme != "https" and document["facts"].get("world") != "sandbox":
        raise Refused(f"{url} is not https")
    install(fetch(url), digest, home)
    print(f"mullion: bundle {digest} is current", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"mullion: {refused}")
