"""The services of one world as HTTP servers: which service a request is for, who asks, and what goes back.

A request is for the service that its Host names, as on AWS. Where the services have no name (a test on loopback), the
request itself says it: `/latest/...` is metadata, `x-amz-target` is Secrets Manager, a form at `/` is EC2, and all else
is S3 with the bucket as the first part of the path.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import IP_TTL, IPPROTO_IP
from typing import Any, ClassVar
from urllib.parse import unquote

from sandbox.services import ec2, metadata, s3, secretsmanager
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.credentials import LIFETIME, Caller, caller
from sandbox.services.faults import INSTEAD, Fault, Faults
from sandbox.services.signature import Claimed, claimed, verify
from sandbox.world import World

METADATA, S3, SECRETS, EC2 = SERVICES = ("metadata", "s3", "secretsmanager", "ec2")
METADATA_ADDRESS = "169.254.169.254"
REFUSALS: Mapping[str, Callable[[Refused], tuple[Answer, str]]] = {
    METADATA: metadata.refusal,
    S3: s3.refusal,
    SECRETS: secretsmanager.refusal,
    EC2: ec2.refusal,
}
"""A refusal in each service's words, with its code."""
_NAMED = re.compile(
    r"(?:(?P<bucket>[a-z0-9.-]+)\.)?(?P<service>s3|secretsmanager|ec2)\.(?P<region>[a-z0-9-]+)\.amazonaws\.com"
)
LARGEST = 64 * 1024 * 1024
"""Bytes of a body; nothing that machines send is larger."""


@dataclass(frozen=True)
class Target:
    """What a request is for. region is empty where only its signature says it."""

    service: str
    region: str = ""
    bucket: str = ""
    key: str = ""


def target(call: Call) -> Target:
    """The service of a request, by its Host or by itself."""
    host = call.headers.get("host", "").partition(":")[0]
    path = unquote(call.path.removeprefix("/"))
    named = _NAMED.fullmatch(host)
    if named and named["service"] == S3 and named["bucket"]:
        return Target(S3, named["region"], named["bucket"], path)
    if named and named["service"] != S3:
        return Target(named["service"], named["region"])
    first = path.partition("/")[0]
    if host == METADATA_ADDRESS or (not named and first in metadata.VERSIONS):
        return Target(METADATA)
    if not named and "x-amz-target" in call.headers:
        return Target(SECRETS)
    if not named and call.path == "/":
        return Target(EC2)
    return Target(S3, named["region"] if named else "", first, path.partition("/")[2])


@dataclass(frozen=True)
class Asked:
    """One request and its answer. code is the service's error code in it, or empty; caller an instance id, or empty."""

    service: str
    method: str
    path: str
    status: int
    code: str
    caller: str


class Services:
    """The services of one world. `asked` has what came, `faults` what shall go wrong."""

    def __init__(self, world: Path, *, lifetime: int = LIFETIME, clock: Callable[[], float] = time.time) -> None:
        """lifetime: seconds that credentials are good for. clock: the time as AWS has it."""
        self.world = World(world)
        self.faults = Faults()
        self.asked: list[Asked] = []
        self.clock = clock
        self._metadata = metadata.Metadata(self.world, lifetime)
        self._lock = threading.RLock()
        self._servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def listen(self, address: str = "127.0.0.1", port: int = 0, *, machine: str = "") -> str:
        """Listen, and give the URL. machine: the instance that asks here; else the caller's address says which."""
        handler = type("Handler", (_Handler,), {"services": self, "machine": machine})
        server = ThreadingHTTPServer((address, port), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self._servers.append((server, thread))
        return f"http://{address}:{server.server_port}"

    def close(self) -> None:
        """Stop listening, and close the world's file."""
        self.faults.release()
        for server, thread in self._servers:
            server.shutdown()
            server.server_close()
            thread.join()
        self.world.close()

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, call: Call) -> tuple[Answer, list[Fault]]:
        """The answer to one request, and the faults that its sending shall meet."""
        to = target(call)
        due = self.faults.due(f"{to.service} {call.method} {unquote(call.path)}")
        asking, code = "", ""
        for fault in due:
            if fault.kind == "delay":
                time.sleep(float(fault.value))
        with self._lock:
            try:
                instead = next((INSTEAD[fault.kind](fault) for fault in due if fault.kind in INSTEAD), None)
                if to.service == METADATA:
                    answer = instead or self._metadata.answer(call, self.clock())
                else:
                    who, region = self._identified(call, to)
                    asking = who.instance.id if who else ""
                    answer = instead or self._served(call, to, who, region)
            except Refused as refused:
                answer, code = REFUSALS[to.service](refused)
            self.asked.append(Asked(to.service, call.method, unquote(call.path), answer.status, code, asking))
        return answer, due

    def _identified(self, call: Call, to: Target) -> tuple[Caller | None, str]:
        """Whose call it is (None: nobody signed it), and the region it is for."""
        if "authorization" not in call.headers:
            if to.service != S3:
                raise Refused("anonymous", "Request is missing Authentication Token")
            return None, to.region or self._region(to.bucket)
        claim: Claimed = claimed(call)
        token, now = call.headers.get("x-amz-security-token", ""), self.clock()
        who, secret = caller(self.world, claim.key, token, now)
        region = to.region or self._region(to.bucket) or claim.region
        verify(call, claim, secret, region=region, service=to.service, now=now)
        return who, region

    def _region(self, bucket: str) -> str:
        record = self.world.find(s3.BUCKET, bucket)
        return record.region if record else ""

    def _served(self, call: Call, to: Target, who: Caller | None, region: str) -> Answer:
        if to.service == S3:
            return s3.Store(self.world, region).answer(call, who, to.bucket, to.key)
        if to.service == SECRETS:
            return secretsmanager.Secrets(self.world, region).answer(call, who)
        return ec2.Compute(self.world, region).answer(call, who)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    services: ClassVar[Services]
    machine: ClassVar[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Services.asked has it."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The Date of an answer is by the services' clock."""
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
