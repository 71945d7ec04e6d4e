"""The Kubernetes API as the agent calls it: as the administrator that kubeadm made, the key in memory alone."""

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
"""For connecting, and for each wait for bytes."""
JSON, MERGE = "application/json", "application/merge-patch+json"
FIELDS = ("server", "certificate-authority-data", "client-certificate-data", "client-key-data")
"""What kubeadm's kubeconfigs have once each."""


class Unreachable(Exception):
    """Nothing answers at the API's address, or not with a certificate of the cluster."""


class Refused(Exception):
    """The API answers a call with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Calls of one API server, or of the cluster's endpoint."""

    def __init__(self, server: str, authority: str, certificate: bytes, key: bytes) -> None:
        """`server` is its URL; `authority` PEM of who signs it; certificate and key, PEM, say who calls."""
        self.server, self.context = server, ssl.create_default_context(cadata=authority)
        with in_memory(certificate) as shown, in_memory(key) as secret:
            self.context.load_cert_chain(shown, secret)

    def call(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Any:
        """The answer's document, or its text where it is none. Unreachable, or Refused with the API's own words."""
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
        """The object, or None where there is none."""
        try:
            return self.call("GET", path)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    def at(self, address: str) -> "Api":
        """The same caller at the API server of one machine."""
        other = object.__new__(Api)
        other.server, other.context = f"https://{address}:{urlsplit(self.server).port or 443}", self.context
        return other


def from_kubeconfig(path: Path) -> Api:
    """The API that a kubeconfig of kubeadm's names. Unreachable where it is not there or not whole."""
    try:
        found = [re.findall(rf"(?m)^\s*{field}:\s*(\S+)\s*$", path.read_text()) for field in FIELDS]
        (server,), *encoded = found
        authority, certificate, key = (base64.b64decode(each) for (each,) in encoded)
    except (OSError, ValueError) as error:
        raise Unreachable(f"{path} is no kubeconfig of kubeadm's: {type(error).__name__}") from None
    return Api(server, authority.decode(), certificate, key)


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """Path of a file that is on no disk: ssl reads certificates and keys from files alone."""
    end = os.memfd_create("pem")
    try:
        os.write(end, content)
        yield f"/proc/self/fd/{end}"
    finally:
        os.close(end)
