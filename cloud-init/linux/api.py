"""Asking an API server what it tells everyone, with its certificate judged by the cluster's own authority."""

import http.client
import ssl
from pathlib import Path

SECONDS = 5


def ask(host: str, port: int, path: str, authority: Path) -> tuple[int, bytes]:
    """Status and body. OSError when nobody answers, or somebody who is not of the cluster."""
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
