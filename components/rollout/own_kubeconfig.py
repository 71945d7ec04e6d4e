"""A kubeconfig that somebody else wrote: address and keys of its current context."""

import base64
import binascii
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from components.machine.pki import KeyPair
from components.rollout.kubernetes_api import Access

VARIABLE = "KUBECONFIG"
"""Environment variable with the path of the kubeconfig by which a cluster of somebody else is called, as by kubectl."""
FLATTEN = "kubectl config view --minify --flatten --raw > FILE"

PLUGIN = (
    "Write a kubeconfig with a token of a ServiceAccount (kubectl create token) or a client certificate"
    " (kubeadm kubeconfig user): docs/existing-cluster.md"
)


class Unusable(Exception):
    """A kubeconfig that cannot be used; the message has the path, the reason and what to do."""


def read(path: str | Path) -> Access:
    """Return address and keys of the current context. Raises Unusable if they are not in the file itself."""
    if not str(path):
        raise Unusable("no kubeconfig is named")
    try:
        return parse(Path(path).read_text("utf-8"), str(path))
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no text") from error


def parse(text: str, path: str) -> Access:
    """Return address and keys of the current context of a kubeconfig. path: in messages. Raises Unusable as `read`."""
    import yaml

    try:
        document = yaml.safe_load(text)
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        user = _named(document, "users", context["user"])["user"]
    except (yaml.YAMLError, KeyError, TypeError, StopIteration) as error:
        raise Unusable(f"{path} is no kubeconfig with a current context, its cluster and its user") from error

    def pem(where: dict[str, Any], name: str) -> str:
        try:
            return base64.b64decode(where[name], validate=True).decode()
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            message = f"{path} has no {name}, which Mullion needs in the file itself. Write one: {FLATTEN}"
            raise Unusable(message) from error

    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise Unusable(f"{path}: the server {server or '(none)'} is no https:// address")
    authority = pem(cluster, "certificate-authority-data")
    name = cluster.get("tls-server-name") or urlsplit(server).hostname or ""
    if isinstance(token := user.get("token"), str) and token:
        return Access(server.rstrip("/"), name, authority, None, token)
    if "client-certificate-data" not in user and ("exec" in user or "auth-provider" in user):
        raise Unusable(f"{path}: its user signs in by a plug-in, which Mullion does not run. {PLUGIN}")
    pair: KeyPair = {"certificate": pem(user, "client-certificate-data"), "key": pem(user, "client-key-data")}
    return Access(server.rstrip("/"), name, authority, pair)


def written(access: Access) -> str:
    """Return a kubeconfig (YAML, secret) of this access alone, for kubectl."""
    import yaml

    def encoded(pem: str) -> str:
        return base64.b64encode(pem.encode()).decode()

    pair, user = access.administrator, {"token": access.token}
    if pair:
        user = {"client-certificate-data": encoded(pair["certificate"]), "client-key-data": encoded(pair["key"])}
    cluster = {
        "server": access.url,
        "tls-server-name": access.server_name,
        "certificate-authority-data": encoded(access.ca_certificate),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "cluster",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
        "users": [{"name": "user", "user": user}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _named(document: Any, kind: str, name: str) -> dict[str, Any]:
    return cast(dict[str, Any], next(each for each in document[kind] if each["name"] == name))
