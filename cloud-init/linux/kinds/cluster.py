"""The cluster's CA bundle and bootstrap token."""

import base64
import json
import re
from datetime import datetime, timedelta, timezone

import authorities
from failure import Failure
from run import Run, Step
from writing import write_whole
from x509 import every, key_hash
from x509 import pem as as_pem

from kinds.files import MODES, bits_of, plain

TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
LARGEST = 65536
"""Maximum bytes of the CA bundle: some thirty certificates."""
NOBODY = "system:bootstrappers:mullion:none"
"""Group without rights; kubeadm makes no token without a group."""


def pinned(pem: str, expected: str) -> str | None:
    """Return the certificates alone, as PEM. Return None if there is none, or if one has another key than expected.

    The kubelet accepts clients of every authority in the file, so one that was added beside the cluster's own would
    be as good as the cluster's own.
    """
    try:
        certificates = every(pem)
        if not certificates or {key_hash(der) for der in certificates} != {expected}:
            return None
    except ValueError:
        return None
    return "".join(map(as_pem, certificates))


def authority_holds(run: Run, step: Step) -> bool:
    """Return whether the file has certificates with the key hash, or those that this machine follows; nothing else."""
    path = run.path(step["path"])
    if not plain(path) or bits_of(path) != MODES["public"]:
        return False
    pem = path.read_text(errors="replace")
    return pem == pinned(pem, step["hash"]) or authorities.followed(run.root, pem)


def make_authority(run: Run, step: Step) -> None:
    """Fetch the bundle and write its certificates if each has the plan's key hash."""
    try:
        said = run.ask("store", step["url"], most=LARGEST).decode(errors="replace")
    except OSError as error:
        raise Failure("download-failed", f"{step['url']}: {type(error).__name__}: {error}") from None
    pem = pinned(said, step["hash"])
    if pem is None:
        raise Failure("digest-mismatch", f"{step['url']} has no certificate, or one whose key is not {step['hash']}")
    write_whole(run.path(step["path"]), pem.encode(), MODES["public"])


def token_holds(run: Run, step: Step) -> bool:
    """Return whether the stored token is valid in the cluster for at least half its lifetime, or is not due.

    Raise Failure secret-unavailable if the cloud does not say which token is stored: it may be a valid one.
    """
    if step.get("requires") and not run.path(step["requires"]).exists():
        return True
    try:
        identifier, _, secret = run.secret(step["secret"]).strip().partition(".")
    except Failure as failure:
        if not failure.absent:
            raise
        return False
    if not TOKEN.fullmatch(f"{identifier}.{secret}"):
        return False
    words = ("--kubeconfig", step["kubeconfig"], "--namespace", "kube-system", "get", "secret")
    known = run.command("kubectl", *words, f"bootstrap-token-{identifier}", "--output", "json", check=False)
    if known.returncode:
        return False
    fields = {key: base64.b64decode(value).decode() for key, value in json.loads(known.stdout)["data"].items()}
    end = datetime.strptime(fields["expiration"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S%z")
    left = end - datetime.now(timezone.utc)
    return fields["token-secret"] == secret and left > timedelta(hours=step["lifetime_hours"]) / 2


def make_token(run: Run, step: Step) -> None:
    """Create a token with kubeadm whose group has no rights, and store it; it is in no argument and no message.

    Each machine derives its own token from it (announcing.py).
    """
    words = ("token", "create", "--kubeconfig", step["kubeconfig"], "--ttl", f"{step['lifetime_hours']}h")
    words += ("--groups", NOBODY)
    token = run.command("kubeadm", *words).stdout.strip()
    run.keep_unsaid(token)
    run.put_secret(step["secret"], token)
