"""The Kubernetes API as the program itself calls it: as the administrator, over TLS, without a file."""

import base64
import json
import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from components.machine.pki import KeyPair
from components.sdk.registration import run_in_thread

TIMEOUT = 10
"""Seconds for one call: connecting, and each wait for bytes."""
PATCH = "application/strategic-merge-patch+json"


class Unreachable(Exception):
    """Nothing answers at the API's address, or not with a certificate of the cluster."""


class Refused(Exception):
    """The API answers a call with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True)
class Access:
    """How to reach a cluster's API as its administrator.

    server_name: what its certificate has, whatever name the URL has. administrator: secret.
    """

    url: str
    server_name: str
    ca_certificate: str
    administrator: KeyPair = field(repr=False)


class KubernetesApi:
    """Calls of one cluster's API."""

    def __init__(self, access: Access) -> None:
        self.url, self._name = access.url, access.server_name
        self._context = ssl.create_default_context(cadata=access.ca_certificate)
        _present(self._context, access.administrator)

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """The answer's document. Unreachable, or Refused with the API's own words."""
        return await run_in_thread(self._call, method, path, body, kind)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """As `call`, for who does nothing else meanwhile."""
        return self._call(method, path, body, kind)

    def text(self, path: str) -> str:
        """What a path gives that is no document, such as a pod's log. Raises as `call` does."""
        return self._exchange("GET", path, None, "").decode(errors="replace")

    def upgraded(self, path: str, protocol: str) -> socket.socket:
        """The connection once the API speaks a subprotocol of websockets over it. Raises as `call` does."""
        parts = urlsplit(self.url)
        connection = _Connection(parts.hostname or "", parts.port or 443, self._context, self._name)
        key = base64.b64encode(os.urandom(16)).decode()
        asked = (
            f"GET {path} HTTP/1.1",
            f"Host: {self._name}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            f"Sec-WebSocket-Protocol: {protocol}",
        )
        head = b""
        try:
            connection.connect()
            connection.sock.sendall("\r\n".join((*asked, "", "")).encode())
            # a byte at a time: what follows the head is the caller's
            while not head.endswith(b"\r\n\r\n") and (one := connection.sock.recv(1)):
                head += one
        except OSError as error:
            connection.close()
            raise Unreachable(f"{self.url}: {error}") from error
        status = head.partition(b"\r\n")[0].decode(errors="replace").partition(" ")[2]
        if not status.startswith("101"):
            connection.close()
            raise Refused(int(status[:3] or 0), status[4:] or "the connection ended")
        return connection.sock

    def _call(self, method: str, path: str, body: Any, kind: str) -> Any:
        document: dict[str, Any] = {}
        with suppress(ValueError):  # a proxy on the way answers with text
            document = json.loads(self._exchange(method, path, body, kind))
        return document

    def _exchange(self, method: str, path: str, body: Any, kind: str) -> bytes:
        parts = urlsplit(self.url)
        connection = _Connection(parts.hostname or "", parts.port or 443, self._context, self._name)
        headers = {"Accept": "application/json, */*", **({"Content-Type": kind} if body is not None else {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self.url}: {error}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            reason = answer.reason
            with suppress(ValueError, AttributeError):
                reason = json.loads(content).get("message") or reason
            raise Refused(answer.status, reason)
        return content


async def ready_nodes(api: KubernetesApi, query: str = "") -> dict[str, bool]:
    """Whether each Node is Ready, by name; `query`: ?labelSelector=... Unreachable or Refused as of any call."""
    found = await api.call("GET", f"/api/v1/nodes{query}")
    return {each["metadata"]["name"]: _is_ready(each) for each in found["items"]}


def _is_ready(node: dict[str, Any]) -> bool:
    status: dict[str, Any] = node.get("status") or {}
    conditions: list[dict[str, str]] = status.get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


class _Connection(HTTPSConnection):
    """Checks the server's certificate for a name that need not be the URL's."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT, context=context)
        self._tls, self._name = context, name

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock: socket.socket = self._tls.wrap_socket(self.sock, server_hostname=self._name)


def _present(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Have the context present a client certificate. It reads files alone, so it is given pipes: no key on a disk."""
    ends = [_pipe(pair["certificate"]), _pipe(pair["key"])]
    try:
        context.load_cert_chain(*(f"/dev/fd/{end}" for end in ends))
    finally:
        for end in ends:
            os.close(end)


def _pipe(text: str) -> int:
    """The end of a pipe to read a short text from."""
    end, begin = os.pipe()
    os.write(begin, text.encode())
    os.close(begin)
    return end
