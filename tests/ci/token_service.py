"""GitHub's service of OIDC tokens for jobs, on loopback."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REQUEST_TOKEN = "of-the-job"
"""Bearer token that a job sends to get an OIDC token."""


@contextmanager
def serving(fails: int = 0) -> Iterator[dict[str, str]]:
    """Serve token-1, token-2, ... to jobs; yield the variables of a job that may write id-token.

    fails: number of the request that ends with an error of the server; 0: none does.
    """

    class Handler(BaseHTTPRequestHandler):
        count = 0

        def do_GET(self) -> None:
            assert self.path == "/token?api-version=2.0&audience=api%3A%2F%2FAzureADTokenExchange"
            assert self.headers["Authorization"] == f"Bearer {REQUEST_TOKEN}"
            Handler.count += 1
            self.send_response(500 if Handler.count == fails else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"value": f"token-{Handler.count}"}).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"http://127.0.0.1:{server.server_port}/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN,
        }
    finally:
        server.shutdown()
        server.server_close()
