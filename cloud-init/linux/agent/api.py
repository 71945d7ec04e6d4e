"""Client of the Kubernetes API with kubeadm's administrator kubeconfig; the key stays in memory."""

import base64
import json
import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SECONDS = 15
"""Timeout of the connection and of each read."""
JSON, MERGE = "application/json", "application/merge-patch+json"
FIELDS = ("server", "certificate-authority-data", "client-certificate-data", "client-key-data")
"""Fields that kubeadm's kubeconfigs have exactly once."""


class Unreachable(Exception):
    """The API does not answer, or its certificate is not the cluster's."""


class Refused(Exception):
    """The API answered a call with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Calls to one API server or to the cluster's endpoint."""

    def __init__(self, server: str, authority: str, certificate: bytes, key: bytes) -> None:
        """`server` is a URL; `authority`, certificate and key are PEM."""
        self.server, self.context = server, ssl.create_default_context(cadata=authority)
        with in_memory(certificate) as shown, in_memory(key) as secret:
            self.context.load_cert_chain(shown, secret)

    def call(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Any:
        """Return the answer, parsed if it is JSON. Raise Unreachable, or Refused with the API's message."""
        parts = urlsplit(self.server)
        connection = HTTPSConnection(parts.hostname or "", parts.port or 443, timeout=SECONDS, context=self.context)
        headers = {"Accept": JSON, **({"Content-Type": kind} if body is not None else {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self.server}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()
        try:
            document = json.loads(text)
        except ValueError:
            document = text
        if answer.status >= 400:
            said = document.get("message") if isinstance(document, dict) else text[:300]
            raise Refused(answer.status, f"{method} {path}: {said or answer.reason}")
        return document

    def find(self, path: str) -> Any:
        """Return the object, or None if it does not exist."""
        try:
            return self.call("GET", path)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    def at(self, address: str) -> "Api":
        """Return a client of one machine's API server with the same credentials."""
        other = object.__new__(Api)
        other.server, other.context = f"https://{address}:{urlsplit(self.server).port or 443}", self.context
        return other


def fault(server: Api) -> str:
    """Return why an API server is not ready; empty if it is. An API server without its own etcd is not."""
    try:
        server.call("GET", "/readyz")
    except (Unreachable, Refused) as error:
        return f"{error}"
    return ""


def from_kubeconfig(path: Path) -> Api:
    """Return the API of a kubeadm kubeconfig. Raise Unreachable if the file is missing or incomplete."""
    try:
        found = [re.findall(rf"(?m)^\s*{field}:\s*(\S+)\s*$", path.read_text()) for field in FIELDS]
        (server,), *encoded = found
        authority, certificate, key = (base64.b64decode(each) for (each,) in encoded)
    except (OSError, ValueError) as error:
        raise Unreachable(f"{path} is not a complete kubeconfig of kubeadm: {type(error).__name__}") from None
    return Api(server, authority.decode(), certificate, key)


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of a file in memory: ssl reads certificates and keys only from files."""
    end = os.memfd_create("pem")
    try:
        os.write(end, content)
        yield f"/proc/self/fd/{end}"
    finally:
        os.close(end)
