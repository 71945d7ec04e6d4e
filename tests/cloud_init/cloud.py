"""An imitation of what a machine on AWS talks to: metadata (version 2), object store, secrets; all on loopback.

Signatures are verified here from the documentation of Signature Version 4, apart from the code under test.
"""

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

KEY_ID, KEY, SESSION, REGION, ROLE = (
    "ASIAEXAMPLE",
    "wJalrXUtnFEMI/K7MDENG+example",
    "session/token==",
    "eu-west-1",
    "web",
)
TOKEN = "imds-token"
INSTANCE = "i-0123456789abcdef0"
METADATA = {
    "iam/security-credentials/": f"{ROLE}\n",
    "placement/region": REGION,
    "placement/availability-zone": f"{REGION}a",
    "instance-id": INSTANCE,
    f"iam/security-credentials/{ROLE}": json.dumps(
        {"Code": "Success", "AccessKeyId": KEY_ID, "SecretAccessKey": KEY, "Token": SESSION}
    ),
}

AUTHORIZATION = (
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=(.*)"
)


@dataclass
class Cloud:
    """Its content, answers to give instead (`faults`: path -> statuses, in order), and what it was asked."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    faults: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    asked: list[str] = field(default_factory=list[str])
    hang: set[str] = field(default_factory=set[str])
    """Paths whose answer stops in the middle."""
    gate: threading.Event = field(default_factory=threading.Event)

    def refused(self) -> list[str]:
        """Requests whose signature or token was wrong."""
        return [each for each in self.asked if each.startswith("refused")]


def hmac_sha256(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature_fault(method: str, target: str, headers: dict[str, str], body: bytes, service: str) -> str | None:
    """What is wrong with a request's signature, or None."""
    match = re.fullmatch(AUTHORIZATION, headers.get("authorization", ""))
    if not match:
        return "no signature"
    key_id, day, region, named, signed, signature = match.groups()
    now = headers.get("x-amz-date", "")
    age = abs((datetime.now(timezone.utc) - datetime.strptime(now + "+0000", "%Y%m%dT%H%M%SZ%z")).total_seconds())
    digest = hashlib.sha256(body).hexdigest()
    parts = urlsplit(target)
    names = signed.split(";")
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    request = "\n".join([method, parts.path, parts.query, lines, signed, digest])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = hmac_sha256(
        hmac_sha256(hmac_sha256(hmac_sha256(b"AWS4" + KEY.encode(), day), region), service), "aws4_request"
    )
    checks = {
        "key id": key_id == KEY_ID,
        "region": region == REGION,
        "service": named == service,
        "session": headers.get("x-amz-security-token") == SESSION,
        "date": age < 300 and now.startswith(day),
        "signed headers": names == sorted(names) and {"host", "x-amz-date", "x-amz-security-token"} <= set(names),
        "body digest": headers.get("x-amz-content-sha256") == digest,
        "signature": hmac.compare_digest(hmac_sha256(key, text).hex(), signature),
    }
    return next((name for name, right in checks.items() if not right), None)


class Answering(BaseHTTPRequestHandler):
    """One request."""

    cloud: Cloud

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def answer(self, status: int, content: bytes = b"") -> None:
        self.cloud.asked.append(f"{'refused ' if status in (401, 403) else ''}{self.command} {self.path} {status}")
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if urlsplit(self.path).path in self.cloud.hang and content:
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self.cloud.gate.wait(30)
            self.close_connection = True
            return
        self.wfile.write(content)

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        faults = self.cloud.faults.get(path)
        if faults:
            self.answer(faults.pop(0))
        elif path.startswith("/latest/"):
            self.metadata(path)
        elif path.startswith("/public/"):
            self.answer(200, self.cloud.objects[path]) if path in self.cloud.objects else self.answer(404)
        else:
            self.signed(path, body)

    def metadata(self, path: str) -> None:
        name = path.removeprefix("/latest/meta-data/")
        if path == "/latest/api/token":
            good = self.command == "PUT" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "").isdigit()
            self.answer(200, TOKEN.encode()) if good else self.answer(403)
        elif self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            self.answer(401)
        else:
            self.answer(200, METADATA[name].encode()) if name in METADATA else self.answer(404)

    def signed(self, path: str, body: bytes) -> None:
        service = "secretsmanager" if path == "/" else "s3"
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = signature_fault(self.command, self.path, headers, body, service)
        if fault:
            self.answer(403, fault.encode())
        elif service == "secretsmanager":
            name = json.loads(body)["SecretId"]
            text = json.dumps({"Name": name, "SecretString": self.cloud.secrets.get(name)})
            self.answer(200, text.encode()) if name in self.cloud.secrets else self.answer(400)
        elif self.command == "PUT":
            taken = headers.get("if-none-match") == "*" and path in self.cloud.objects
            self.cloud.objects |= {} if taken else {path: body}
            self.answer(412 if taken else 200)
        else:
            self.answer(200, self.cloud.objects[path]) if path in self.cloud.objects else self.answer(404)

    do_GET = do_PUT = do_POST = serve


@contextmanager
def serving() -> Iterator[Cloud]:
    """A cloud on a free port of 127.0.0.1."""
    cloud = Cloud()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answer", (Answering,), {"cloud": cloud}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.server_port}"
    yield cloud
    cloud.gate.set()
    server.shutdown()
    server.server_close()
    thread.join()
