"""Unauthenticated requests to an API server, whose certificate must be signed by the cluster's CA."""

import http.client
import ssl
from pathlib import Path

SECONDS = 5


def ask(host: str, port: int, path: str, authority: Path) -> tuple[int, bytes]:
    """Return status and body. Raise OSError if the server does not answer or its certificate is not the cluster's."""
    context = ssl.create_default_context(cafile=str(authority))
    connection = http.client.HTTPSConnection(host, port, timeout=SECONDS, context=context)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    finally:
        connection.close()
