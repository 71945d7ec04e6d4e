"""Calls of a cluster's Kubernetes API as its administrator: HTTP by httpx, WebSockets by websockets, keys in memory.

Both libraries are imported with the first call, so that a run without one starts as fast and as small as before.

No Kubernetes client replaces this module. The HTTP calls were moved to kr8s 0.20.15 with keys given as kubeconfig data,
and measured at a local TLS server:
- it left the administrator's key in a file of the temporary folder with every client, and one more with every repeat
- by default it repeated a request three times if the API answered with 403; each client sent GET /version first
- it sent calls of a tunnel on 127.0.0.1 to the proxy of HTTPS_PROXY, and its client has no argument against it
- its import took 0.75 s; httpx and websockets took 0.4 s

The others were only read: lightkube 1.0.1 has no port-forward, and verifies another server name than the URL's at most
through a transport of one's own. kubernetes 37.0.2 (126 MB installed) and kubernetes_asyncio 36.1.0 (48 MB) write keys
of a kubeconfig to files as well.
"""

import json
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from components.machine.pki import KeyPair
from components.sdk.registration import run_in_thread

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

TIMEOUT = 10
"""Seconds for one call: connecting, and each wait for bytes."""
PATCH = "application/strategic-merge-patch+json"


class Unreachable(Exception):
    """Nothing answers at the API's address, or its certificate is not of the cluster."""


class Unresolved(Unreachable):
    """The API's host name has no address here."""


class Refused(Exception):
    """The API answered a call with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True)
class Access:
    """Address and keys of a cluster's API for its administrator.

    server_name: name in its certificate, which may differ from the URL's. administrator: secret; None with a token.
    token: of a ServiceAccount, secret; empty with a certificate.
    """

    url: str
    server_name: str
    ca_certificate: str
    administrator: KeyPair | None = field(repr=False)
    token: str = field(repr=False, default="")


class KubernetesApi:
    """Calls of one cluster's API."""

    def __init__(self, access: Access) -> None:
        self.url, self._name = access.url, access.server_name
        self._context = ssl.create_default_context(cadata=access.ca_certificate)
        # Python 3.13 sets this flag: it refuses certificates of authorities without key identifiers, which kubeadm made
        # for clusters that have existed for years. The cluster's own authority is the only one trusted here.
        self._context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if access.administrator:
            _load_pair(self._context, access.administrator)
        self._authorization = {"Authorization": f"Bearer {access.token}"} if access.token else {}

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Return the answer's document. Raises Unreachable, or Refused with the API's message."""
        return await run_in_thread(self.ask, method, path, body, kind)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """As `call`, but blocking."""
        document: Any = None
        with suppress(ValueError):  # a proxy between may answer with text
            document = json.loads(self._exchange(method, path, body, kind))
        if method == "GET" and not _is_of_the_api(document, path):
            raise Unreachable(f"{self.url}: the answer to {path} is no object of Kubernetes")
        return cast(dict[str, Any], document) if isinstance(document, dict) else {}

    def text(self, path: str) -> str:
        """Return a text at a path, such as a pod's log. Blocks, and raises as `call` does."""
        return self._exchange("GET", path, None, "").decode(errors="replace")

    def websocket(self, path: str, protocol: str) -> "ClientConnection":
        """Open a WebSocket with this subprotocol; the caller closes it. Blocks, and raises as `call` does."""
        from websockets.exceptions import InvalidHandshake, InvalidStatus
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol

        try:
            return connect(
                self.url.replace("https://", "wss://", 1) + path,
                ssl=self._context,
                server_hostname=self._name,
                subprotocols=[Subprotocol(protocol)],
                additional_headers=self._authorization,
                compression=None,
                open_timeout=TIMEOUT,
                close_timeout=TIMEOUT,
                proxy=None,
            )
        except InvalidStatus as error:
            reason = _message(bytes(error.response.body or b"")) or error.response.reason_phrase
            raise Refused(error.response.status_code, reason) from error
        except (OSError, InvalidHandshake) as error:
            raise self._unreachable(error) from error

    def _exchange(self, method: str, path: str, body: Any, kind: str) -> bytes:
        import httpx

        content = {"Content-Type": kind} if body is not None else {}
        headers = {"Accept": "application/json, */*", **content, **self._authorization}
        try:
            with httpx.Client(verify=self._context, timeout=TIMEOUT, trust_env=False) as client:
                answer = client.request(
                    method,
                    f"{self.url}{path}",
                    content=None if body is None else json.dumps(body),
                    headers=headers,
                    extensions={"sni_hostname": self._name},
                )
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if answer.status_code >= 400:
            raise Refused(answer.status_code, _message(answer.content) or answer.reason_phrase)
        return answer.content

    def _unreachable(self, error: Exception) -> Unreachable:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, socket.gaierror):
            cause = cause.__cause__ or cause.__context__
        kind = Unresolved if cause is not None else Unreachable
        return kind(f"{self.url}: {str(error) or type(error).__name__}")


class Asks(Protocol):
    """What asks an API: KubernetesApi, or its stand-in in a test."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer's document. Raises Unreachable, or Refused with the API's message."""
        ...


def objects(api: Asks, path: str) -> list[dict[str, Any]]:
    """Return the objects of a list at a path. Raises as `ask`, and Unreachable if the answer is no list."""
    found = api.ask("GET", path).get("items")
    if not isinstance(found, list):
        raise Unreachable(f"the answer to {path} is no list of Kubernetes")
    return cast(list[dict[str, Any]], found)


def _is_of_the_api(document: Any, path: str) -> bool:
    """Return whether a document is an object, a list of objects, or the API's version.

    What a kubelet, pod or Service answers through the API's proxy has a form of its own.
    """
    if "/proxy/" in path:
        return document is not None
    if not isinstance(document, dict):
        return False
    fields = cast(dict[str, Any], document)
    if path == "/version":
        return "gitVersion" in fields
    listed = fields.get("items", [])
    if not isinstance(listed, list) or not fields.keys() & {"kind", "metadata", "items"}:
        return False
    return all(isinstance(each, dict) and "metadata" in each for each in cast(list[Any], listed))


def _message(content: bytes) -> str:
    """Return the message of a Status document; empty if the content is none."""
    with suppress(ValueError, AttributeError):
        return str(json.loads(content).get("message") or "")
    return ""


async def ready_nodes(api: KubernetesApi, query: str = "") -> dict[str, bool]:
    """Return whether each Node is Ready, by name; `query`: ?labelSelector=... Raises Unreachable or Refused."""
    nodes = await api.call("GET", f"/api/v1/nodes{query}")
    return {node["metadata"]["name"]: _is_ready(node) for node in nodes["items"]}


def node_fault(nodes: Mapping[str, bool] | None, name: str, *, ready: bool) -> str:
    """Return what is wrong with a machine's Node; empty if nothing, or if the Nodes are unknown (None).

    nodes: of `ready_nodes`. ready: whether the Node must be Ready.
    """
    if nodes is None:
        return ""
    if name not in nodes:
        return "the cluster has no Node of this name"
    return "its Node is not Ready" if ready and not nodes[name] else ""


def _is_ready(node: dict[str, Any]) -> bool:
    status: dict[str, Any] = node.get("status") or {}
    conditions: list[dict[str, str]] = status.get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a client certificate and its key. ssl reads them from files only: from pipes, so no key is on a disk."""
    ends = [_pipe(pair["certificate"]), _pipe(pair["key"])]
    try:
        context.load_cert_chain(*(f"/dev/fd/{end}" for end in ends))
    finally:
        for end in ends:
            os.close(end)


def _pipe(text: str) -> int:
    """Return the reading end of a pipe that holds a short text."""
    end, begin = os.pipe()
    os.write(begin, text.encode())
    os.close(begin)
    return end
