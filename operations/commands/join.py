"""`mullion join --check`: judge whether Windows workers can join an existing cluster. Changes nothing."""

import base64
import binascii
import sys
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml

from components.machine.pki import KeyPair
from components.releases.order import is_version
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from operations.console.exits import Exit, Stop
from operations.joining import judge, reading

FLATTEN = "kubectl config view --minify --flatten --raw > FILE"


def check(path: Path, *, kubernetes: str | None, as_json: bool) -> None:
    """Print the checks of the cluster of a kubeconfig. Raises Stop if Windows nodes cannot join yet."""
    wanted = _version(kubernetes)
    access = _access(path)
    if not as_json:
        print(f"mullion: reading the cluster at {access.url}", file=sys.stderr, flush=True)
    try:
        cluster = reading.read(KubernetesApi(access))
    except (Unreachable, Refused) as error:
        raise Stop(Exit.FAILED, f"the API at {access.url} failed: {error}") from error
    rows, taken = judge.judge(cluster, wanted), judge.values(cluster, wanted)
    print((judge.as_json if as_json else judge.as_text)(rows, taken), flush=True)
    if bad := judge.failing(rows):
        raise Stop(Exit.FAILED, f"{len(bad)} of {len(rows)} checks say that Windows nodes cannot join yet")


def _version(text: str | None) -> str | None:
    """Return the version without its v. Raises Stop if it is none."""
    plain = (text or "").removeprefix("v")
    if text is not None and not is_version(plain):
        raise Stop(Exit.USAGE, f"--kubernetes {text} is not a version such as 1.37.1")
    return plain or None


def _access(path: Path) -> Access:
    """Return address and keys of the current context. Raises Stop if they are not in the file itself."""
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        user = _named(document, "users", context["user"])["user"]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, StopIteration) as error:
        raise Stop(Exit.USAGE, f"{path} is no kubeconfig with a current context, its cluster and its user") from error

    def pem(where: dict[str, Any], name: str) -> str:
        try:
            return base64.b64decode(where[name], validate=True).decode()
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            message = f"{path} has no {name}, which `mullion join` needs in the file itself. Write one: {FLATTEN}"
            raise Stop(Exit.USAGE, message) from error

    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise Stop(Exit.USAGE, f"{path}: the server {server or '(none)'} is no https:// address")
    authority = pem(cluster, "certificate-authority-data")
    pair: KeyPair = {"certificate": pem(user, "client-certificate-data"), "key": pem(user, "client-key-data")}
    name = cluster.get("tls-server-name") or urlsplit(server).hostname or ""
    return Access(server.rstrip("/"), name, authority, pair)


def _named(document: Any, kind: str, name: str) -> dict[str, Any]:

    return cast(dict[str, Any], next(each for each in document[kind] if each["name"] == name))
