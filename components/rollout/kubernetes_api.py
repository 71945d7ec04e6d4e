"""Client of the Kubernetes API for the program: as administrator, with TLS, without kubeconfig or key files."""

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
"""Seconds for connecting, and for each read."""
PATCH = "application/strategic-merge-patch+json"


class Unreachable(Exception):
    """No answer from the API's address, or one without a certificate of the cluster."""


class Refused(Exception):
    """The API answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True)
class Access:
    """How to reach a cluster's API as its administrator.

    server_name: name in the API's certificate, which the URL's host need not be. administrator: secret.
    """

    url: str
    server_name: str
    ca_certificate: str
    administrator: KeyPair = field(repr=False)


class KubernetesApi:
    """Client of one cluster's API."""

    def __init__(self, access: Access) -> None:
        self.url, self._name = access.url, access.server_name
        self._context = ssl.create_default_context(cadata=access.ca_certificate)
        _present(self._context, access.administrator)

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Return the answer's JSON document. Raises Unreachable, or Refused with the API's message."""
        return await run_in_thread(self._call, method, path, body, kind)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Blocking `call`."""
        return self._call(method, path, body, kind)

    def text(self, path: str) -> str:
        """Return the text at a path, such as a pod's log. Raises as `call` does."""
        return self._exchange("GET", path, None, "").decode(errors="replace")

    def upgraded(self, path: str, protocol: str) -> socket.socket:
        """Return a connection upgraded to a subprotocol of WebSockets. Raises as `call` does."""
        parts = urlsplit(self.url)
        connection = _Connection(parts.hostname or "", parts.port or 443, self._context, self._name)
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
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
            connection.sock.sendall("\r\n".join((*request, "", "")).encode())
            # byte by byte: the bytes after the head belong to the caller
            while not head.endswith(b"\r\n\r\n") and (byte := connection.sock.recv(1)):
                head += byte
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
        with suppress(ValueError):  # a proxy in between may answer with text
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
    """Return whether each Node is Ready, by name. query: ?labelSelector=... Raises as `call` does."""
    nodes = await api.call("GET", f"/api/v1/nodes{query}")
    return {node["metadata"]["name"]: _is_ready(node) for node in nodes["items"]}


def _is_ready(node: dict[str, Any]) -> bool:
    status: dict[str, Any] = node.get("status") or {}
    conditions: list[dict[str, str]] = status.get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


class _Connection(HTTPSConnection):
    """HTTPS connection that verifies the certificate against another name than the URL's host."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT, context=context)
        self._tls, self._name = context, name

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock: socket.socket = self._tls.wrap_socket(self.sock, server_hostname=self._name)


def _present(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load a client certificate into the context through pipes, because it reads only files: no key on a disk."""
    ends = [_pipe(pair["certificate"]), _pipe(pair["key"])]
    try:
        context.load_cert_chain(*(f"/dev/fd/{end}" for end in ends))
    finally:
        for end in ends:
            os.close(end)


def _pipe(text: str) -> int:
    """Return the read end of a pipe that holds a short text."""
    read_end, write_end = os.pipe()
    os.write(write_end, text.encode())
    os.close(write_end)
    return read_end
