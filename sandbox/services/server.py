"""The services of one cloud state as HTTP servers: requests, identities, answers, and faults on the way.

The resource types in the cloud state decide which cloud's services they are.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import IP_TTL, IPPROTO_IP
from typing import Any, ClassVar
from urllib.parse import unquote

from sandbox.cloud_state import CloudState
from sandbox.services.aws import Aws
from sandbox.services.azure import Azure
from sandbox.services.calls import Answer, Call, Front, Refused
from sandbox.services.credentials import LIFETIME
from sandbox.services.faults import INSTEAD, Fault, Faults
from sandbox.services.gcp import Gcp

METADATA_ADDRESS = "169.254.169.254"
FRONTS: Mapping[str, Callable[[CloudState, int], Front]] = {"aws:": Aws, "azure-native:": Azure, "gcp:": Gcp}
"""Services by the prefix of a cloud's resource types; an empty cloud state gets the first."""
LARGEST = 64 * 1024 * 1024
"""Largest request body in bytes; machines send nothing larger."""


@dataclass(frozen=True)
class Asked:
    """One request and its answer. code: the service's error code, or empty. caller: instance id, or empty."""

    service: str
    method: str
    path: str
    status: int
    code: str
    caller: str


class Services:
    """The services of one cloud state. `asked` lists the requests so far, `faults` the pending faults."""

    def __init__(
        self,
        cloud_state: Path,
        *,
        lifetime: int = LIFETIME,
        clock: Callable[[], float] = time.time,
        fronts: Mapping[str, Callable[[CloudState, int], Front]] = FRONTS,
    ) -> None:
        """lifetime: lifetime of credentials in seconds. clock: returns the services' time. fronts: as FRONTS."""
        self.cloud_state = CloudState(cloud_state)
        self.faults = Faults()
        self.asked: list[Asked] = []
        self.clock = clock
        self._lifetime = lifetime
        self._known = fronts
        self._fronts: dict[str, Front] = {}
        self._lock = threading.RLock()
        self._servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def listen(self, address: str = "127.0.0.1", port: int = 0, *, machine: str = "") -> str:
        """Listen, and return the URL. machine: the instance that calls here; by default, the caller's address
        decides.
        """
        handler = type("Handler", (_Handler,), {"services": self, "machine": machine})
        server = ThreadingHTTPServer((address, port), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self._servers.append((server, thread))
        return f"http://{address}:{server.server_port}"

    def close(self) -> None:
        """Stop listening, and close the cloud state."""
        self.faults.release()
        for server, thread in self._servers:
            server.shutdown()
            server.server_close()
            thread.join()
        self.cloud_state.close()

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def front(self) -> Front:
        """Return the services of the cloud that the oldest resource belongs to."""
        oldest = self.cloud_state.oldest()
        known = self._known
        start = next((each for each in known if oldest and oldest.type.startswith(each)), next(iter(known)))
        if start not in self._fronts:
            self._fronts[start] = known[start](self.cloud_state, self._lifetime)
        return self._fronts[start]

    def answer(self, call: Call) -> tuple[Answer, list[Fault]]:
        """Return the answer to one request, and the faults that its sending must meet."""
        with self._lock:
            front = self.front()
            to = front.target(call)
        due = self.faults.due(f"{to.service} {call.method} {unquote(call.path)}")
        asking, code = "", ""
        for fault in due:
            if fault.kind == "delay":
                time.sleep(float(fault.value))
        with self._lock:
            try:
                now = self.clock()
                asking, who = front.caller(call, to, now)
                instead = next((INSTEAD[fault.kind](fault) for fault in due if fault.kind in INSTEAD), None)
                answer = instead or front.serve(call, to, who, now)
            except Refused as refused:
                answer, code = front.refusal(to, refused)
            self.asked.append(Asked(to.service, call.method, unquote(call.path), answer.status, code, asking))
        return answer, due


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets, and the client acknowledges the first one late
    services: ClassVar[Services]
    machine: ClassVar[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: Services.asked keeps every request."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Return the Date header by the services' clock."""
        return super().date_time_string(self.services.clock())  # type: ignore[arg-type]

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if size > LARGEST or "Transfer-Encoding" in self.headers:
            self.send_error(411 if size <= LARGEST else 413)
            return
        names = {name.lower() for name in self.headers}
        headers = {name: ",".join(self.headers.get_all(name, [])) for name in names}
        path, _, query = self.path.partition("?")
        call = Call(self.command, path, query, headers, self.rfile.read(size), self.machine, self.client_address[0])
        answer, faults = self.services.answer(call)
        kinds = {fault.kind for fault in faults}
        if "close" in kinds:
            self.close_connection = True
            return
        if answer.hops is not None:
            self.connection.setsockopt(IPPROTO_IP, IP_TTL, answer.hops)
        self._send(answer, kinds)

    def _send(self, answer: Answer, faults: set[str]) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        body = b"" if self.command == "HEAD" or answer.status == 304 else answer.body
        if faults & {"stall", "truncate"}:
            body, self.close_connection = body[: len(body) // 2], True
        self.wfile.write(body)
        if "stall" in faults:
            self.wfile.flush()
            self.services.faults.hold()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815
