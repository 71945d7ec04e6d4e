"""Compute Engine and a machine's metadata service on one port of loopback."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

from tests.lab.agent.compute_engine import PROJECT, ZONE, ComputeEngine, Refused

_METADATA = {
    "instance/zone": f"projects/1/zones/{ZONE}",
    "project/project-id": PROJECT,
    "universe/universe-domain": "googleapis.com",
    "instance/service-accounts/default/token": json.dumps(
        {"access_token": "of-the-control-plane", "expires_in": 3600, "token_type": "Bearer"}
    ),
}
"""What the metadata service says of the control plane's machine, by path."""


class Server:
    """The API and the metadata service on one port."""

    def __init__(self, cloud: ComputeEngine) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cloud))
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(cloud: ComputeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            given = self.rfile.read(length)
            if self.path.startswith("/computeMetadata/v1/"):
                self._metadata(urlsplit(self.path).path.removeprefix("/computeMetadata/v1/"))
                return
            try:
                if self.headers.get("authorization") != "Bearer of-the-control-plane":
                    raise Refused(401, "unauthorized", "Login Required.")
                self._send(200, json.dumps(cloud.answer(self.command, self.path, json.loads(given or b"{}"))))
            except Refused as refusal:
                if refusal.status != 404:
                    cloud.refused.append(f"{self.command} {self.path}: {refusal.message}")
                error = {"reason": refusal.reason, "message": refusal.message, "domain": "global"}
                whole = {"code": refusal.status, "message": refusal.message, "errors": [error]}
                self._send(refusal.status, json.dumps({"error": whole}))

        def _metadata(self, path: str) -> None:
            known = path in _METADATA and self.headers.get("metadata-flavor") == "Google"
            self._send(200 if known else 404, _METADATA.get(path, "") if known else "")

        def _send(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json" if text.startswith("{") else "text/plain")
            self.send_header("metadata-flavor", "Google")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = do_PATCH = _serve

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
