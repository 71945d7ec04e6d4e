"""What a node takes from the cluster's stores: the CA bundle, encryption keys, who founds the cluster."""

import base64
import binascii
import hashlib
import json
import re
import urllib.error
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import loader
from failure import Failure
from run import Run, Step, write_whole

from kinds.files import MODES, written

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
VERSION = 0xA0
"""DER tag of the version field."""
TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
BEFORE_KEY = 5
"""Fields of a TBSCertificate before subjectPublicKeyInfo, without the version (RFC 5280, 4.1): serial number,
signature, issuer, validity, subject."""


def elements(der: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields (tag, body, whole) of each DER element in a row."""
    while der:
        length, start = der[1], 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        yield der[0], der[start : start + length], der[: start + length]
        der = der[start + length :]


def key_hashes(pem: str) -> list[str]:
    """sha256:<hex> of the public key of each certificate, as kubeadm writes it."""
    found = []
    for part in pem.split(BEGIN)[1:]:
        certificate = next(elements(base64.b64decode(part.partition(END)[0])))[1]
        fields = [whole for tag, _, whole in elements(next(elements(certificate))[1]) if tag != VERSION]
        found.append(f"sha256:{hashlib.sha256(fields[BEFORE_KEY]).hexdigest()}")
    return found


def trusted(pem: str, expected: str) -> bool:
    """One of the bundle's certificates has the key."""
    try:
        return expected in key_hashes(pem)
    except (binascii.Error, IndexError, StopIteration):
        return False


def stored(url: str, method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None) -> str:
    """The answer of the bundle or snapshot store, asked with the machine's identity."""
    with urlopen(loader.signed(url, "s3", method, body, headers), timeout=30) as answer:
        return answer.read().decode()


def authority_holds(run: Run, step: Step) -> bool:
    """The file has a certificate with the key."""
    path = run.path(step["path"])
    return path.is_file() and path.stat().st_mode & 0o777 == MODES[None] and trusted(path.read_text(), step["hash"])


def make_authority(run: Run, step: Step) -> None:
    """Fetches the bundle; what it says counts only with the key that the plan knows."""
    try:
        pem = stored(step["url"])
    except OSError as error:
        raise Failure("download-failed", f"{step['url']}: {type(error).__name__}: {error}") from None
    if not trusted(pem, step["hash"]):
        raise Failure("digest-mismatch", f"{step['url']} has no certificate whose key has {step['hash']}")
    write_whole(run.path(step["path"]), pem.encode(), MODES[None])


def encryption(run: Run, step: Step) -> bytes:
    """The API server's EncryptionConfiguration; keys are named by age, so that a new one renames none."""
    keys: list[str] = json.loads(run.secret(step["secret"], step["member"]))
    run.unsaid |= set(keys)
    named = [{"name": f"key{len(keys) - place}", "secret": key} for place, key in enumerate(keys)]
    providers: list[dict[str, Any]] = [{"secretbox": {"keys": named}}, {"identity": {}}]
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": step["resources"], "providers": providers}],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def encryption_holds(run: Run, step: Step) -> bool:
    """The private file has the keys as the store has them now."""
    return written(run.path(step["path"]), encryption(run, step), MODES["private"])


def make_encryption(run: Run, step: Step) -> None:
    """Writes it for root alone."""
    write_whole(run.path(step["path"]), encryption(run, step), MODES["private"])


def token_holds(run: Run, step: Step) -> bool:
    """The secret's token is one that the cluster knows, for at least half of its lifetime."""
    try:
        token = run.secret(step["secret"])
    except Failure:
        return False
    identifier, _, secret = token.strip().partition(".")
    if not TOKEN.fullmatch(token.strip()):
        return False
    name = f"bootstrap-token-{identifier}"
    words = (
        "--kubeconfig",
        step["kubeconfig"],
        "--namespace",
        "kube-system",
        "get",
        "secret",
        name,
        "--output",
        "json",
    )
    known = run.command("kubectl", *words, check=False)
    if known.returncode:
        return False
    fields = {key: base64.b64decode(value).decode() for key, value in json.loads(known.stdout)["data"].items()}
    end = datetime.strptime(fields["expiration"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z")
    left = end - datetime.now(timezone.utc)
    return fields["token-secret"] == secret and left > timedelta(hours=step["lifetime_hours"]) / 2


def make_token(run: Run, step: Step) -> None:
    """Has the cluster make one, then stores it. The token is in no argument and in no message."""
    words = ("token", "create", "--kubeconfig", step["kubeconfig"], "--ttl", f"{step['lifetime_hours']}h")
    token = run.command("kubeadm", *words).stdout.strip()
    run.unsaid.add(token)
    run.secret_service("PutSecretValue", SecretId=step["secret"], SecretString=token, ClientRequestToken=str(uuid4()))
    run.stored[step["secret"]] = token


def claim_holds(run: Run, step: Step) -> bool:
    """This machine knows whether it founds the cluster."""
    return run.path(step["founder"]).exists() or run.path(step["member"]).exists()


def make_claim(run: Run, step: Step) -> None:
    """Writes the marker if there is none; whose id it holds is the founder. A cut after the write changes nothing."""
    instance = loader.metadata("/latest/meta-data/instance-id")
    url = f"{step['store'].rstrip('/')}/{step['marker']}"
    try:
        stored(url, "PUT", instance.encode(), {"if-none-match": "*"})
        owner = instance
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 412:
            raise Failure("store-failed", f"{url}: {error}") from None
        owner = stored(url).strip()
    except OSError as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    write_whole(run.path(step["founder" if owner == instance else "member"]), f"{owner}\n".encode(), 0o644)
