"""Throttled requests, over loopback: no form in which a cloud throttles means that nothing is there."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from operations.clouds import api, bearer
from operations.clouds.api import ApiError
from operations.console.exits import Exit, Stop
from operations.reaping import accounts, aws_requests, sweep
from operations.reaping.azure import Azure
from operations.reaping.gcp import Gcp

Answer = tuple[int, dict[str, str], str]
JSON = {"content-type": "application/json"}
XML = {"content-type": "text/xml"}


def google(status: int, reason: str, name: str = "") -> Answer:
    """A refusal of Compute Engine (errors) with a status of google.rpc."""
    error = {"code": status, "message": "Rate Limit Exceeded", "errors": [{"reason": reason}], "status": name}
    return status, JSON, json.dumps({"error": {key: value for key, value in error.items() if value}})


def info(reason: str) -> Answer:
    """A refusal of a newer API, with google.rpc.ErrorInfo."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]
    error = {"code": 403, "message": "Quota exceeded", "status": "PERMISSION_DENIED", "details": details}
    return 403, JSON, json.dumps({"error": error})


def azure(code: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return 429, {**JSON, **named}, json.dumps({"error": {"code": code, "message": "Too many requests"}})


def query(code: str) -> Answer:
    """A refusal of EC2 and of the other Query APIs."""
    body = f"<Response><Errors><Error><Code>{code}</Code><Message>Rate exceeded</Message></Error></Errors></Response>"
    return 503 if code in ("RequestLimitExceeded", "SlowDown") else 400, XML, body


def target(code: str) -> Answer:
    """A refusal of a JSON API."""
    return 400, {"content-type": "application/x-amz-json-1.1"}, json.dumps({"__type": f"com.amazonaws#{code}"})


@dataclass
class Cloud:
    """A server whose first answers to each path are refusals. pauses: seconds that the client waited."""

    refusals: list[Answer] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    url: str = ""

    def answer(self, method: str, path: str) -> Answer:
        count = self.seen.get(path, 0)
        self.seen[path] = count + 1
        if count < len(self.refusals):
            return self.refusals[count]
        found = self.answers.get(path.rpartition("/")[2], "{}")
        return (200, XML, found) if isinstance(found, str) and found.startswith("<") else (200, JSON, found)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    served = Cloud()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, headers, body = served.answer(self.command, urlsplit(self.path).path)
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(api.time, "sleep", served.pauses.append)
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture
def token(cloud: Cloud) -> Iterator[bearer.Requests]:
    requests = bearer.Requests("token", cloud.url)
    yield requests
    requests.close()


@pytest.fixture
def signed(cloud: Cloud) -> Iterator[aws_requests.Requests]:
    requests = aws_requests.Requests(aws_requests.Keys("AKIA", "secret"), cloud.url)
    yield requests
    requests.close()


@pytest.mark.parametrize("code", ThrottledRetryableChecker._THROTTLED_ERROR_CODES)
@pytest.mark.parametrize("form", [query, target])
def test_a_code_that_botocore_counts_as_throttling_is_tried_again(
    code: str, form: Callable[[str], Answer], cloud: Cloud, signed: aws_requests.Requests
) -> None:
    cloud.refusals, cloud.answers = [form(code)] * 7, {"": "<Response><ok>1</ok></Response>"}
    assert signed.query("ec2", "eu-west-1", "DescribeVpcs").findtext("ok") == "1"
    assert len(cloud.pauses) == 7 and max(cloud.pauses) <= api.LONGEST_PAUSE


@pytest.mark.parametrize(
    "refusal",
    [
        google(403, "rateLimitExceeded"),
        google(403, "userRateLimitExceeded", "PERMISSION_DENIED"),
        google(429, "rateLimitExceeded", "RESOURCE_EXHAUSTED"),
        info("RATE_LIMIT_EXCEEDED"),
        azure("SubscriptionRequestsThrottled"),
    ],
    ids=["compute", "with a status", "429", "ErrorInfo", "azure"],
)
def test_a_throttled_read_is_tried_again_for_minutes(refusal: Answer, cloud: Cloud, token: bearer.Requests) -> None:
    cloud.refusals, cloud.answers = [refusal] * 11, {"things": json.dumps({"items": [1]})}
    assert token.call("GET", "host", "/things") == {"items": [1]}
    assert sum(cloud.pauses) > 60, "Google counts by the minute"


def test_a_refusal_for_another_reason_is_not_tried_again(cloud: Cloud, token: bearer.Requests) -> None:
    cloud.refusals = [google(403, "forbidden", "PERMISSION_DENIED")]
    with pytest.raises(ApiError, match="PERMISSION_DENIED") as refused:
        token.call("GET", "host", "/things")
    assert not cloud.pauses and not refused.value.throttled


@pytest.mark.parametrize(("header", "seconds"), [("retry_after", 37), ("x_ms_retry_after_ms", 37000)])
def test_the_time_that_azure_names_is_waited_for(
    header: str, seconds: int, cloud: Cloud, token: bearer.Requests
) -> None:
    cloud.refusals = [azure("TooManyRequests", **{header: str(seconds)})]
    token.call("GET", "host", "/things")
    assert cloud.pauses == [37]


def test_an_hour_is_not_waited_for(cloud: Cloud, token: bearer.Requests) -> None:
    cloud.refusals = [azure("TooManyRequests", retry_after="3600")]
    with pytest.raises(ApiError, match="TooManyRequests"):
        token.call("GET", "host", "/things")
    assert not cloud.pauses


def test_a_throttled_list_ends_the_removal_instead_of_an_empty_one(cloud: Cloud, token: bearer.Requests) -> None:
    """An inventory without a cluster means that it is gone."""
    cloud.refusals = [azure("SubscriptionRequestsThrottled")] * 50
    with pytest.raises(Stop, match="cannot be listed: SubscriptionRequestsThrottled") as stopped:
        sweep.removed(Azure(token, "sub", ()), "ci", lambda _: "")
    assert stopped.value.code is Exit.FAILED


LABELS = {"mullion_cluster": "ci", "mullion_owner": "qa", "mullion_expires": "2026-01-01t00_00_00z"}


def of_google(cloud: Cloud, kind: str, scopes: dict[str, Any]) -> None:
    """Have the project's machines in these scopes; the network is of another project."""
    cloud.answers = {kind: json.dumps({"items": scopes})}


def test_a_throttled_list_of_a_shared_networks_project_is_not_taken_for_a_missing_right(
    cloud: Cloud, token: bearer.Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """403 is also what a project says whose firewall rules may not be listed."""
    network = "https://www.googleapis.com/compute/v1/projects/host/global/networks/shared"
    machine = {
        "selfLink": "https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b/instances/ci-web-0",
        "labels": LABELS,
        "networkInterfaces": [{"network": network}],
        "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
    }
    of_google(cloud, "instances", {"zones/europe-west1-b": {"instances": [machine]}})
    throttled = google(403, "rateLimitExceeded")
    answer = cloud.answer
    cloud.answer = lambda method, path: (  # type: ignore[method-assign]
        throttled if "/projects/host/" in path else answer(method, path)
    )
    with pytest.raises(ApiError, match="rateLimitExceeded"):
        Gcp(token, "p", ()).inventory()


def test_a_scope_that_google_cannot_list_is_unknown_and_not_empty(cloud: Cloud, token: bearer.Requests) -> None:
    warning = {"code": "UNREACHABLE", "message": "zone is unreachable"}
    of_google(cloud, "instances", {"zones/europe-west1-b": {"warning": warning}})
    with pytest.raises(ApiError, match="instances of zones/europe-west1-b cannot be listed"):
        Gcp(token, "p", ()).inventory()
    of_google(cloud, "instances", {"zones/europe-west1-b": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}})
    assert Gcp(token, "p", ()).inventory() == []


def test_a_throttled_deletion_is_not_final(cloud: Cloud, token: bearer.Requests) -> None:
    cloud.refusals = [azure("TooManyRequests")] * api.THROTTLED_ATTEMPTS
    with pytest.raises(ApiError) as refused:
        token.call("DELETE", "host", "/things")
    assert refused.value.throttled


def test_expired_credentials_are_a_message_and_no_fault_of_ours(
    cloud: Cloud, signed: aws_requests.Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.refusals = [query("ExpiredToken")] * 3
    monkeypatch.setattr(aws_requests, "keys", lambda: aws_requests.Keys("AKIA", "secret"))
    monkeypatch.setattr(aws_requests, "Requests", lambda keys, **_: signed)
    with pytest.raises(Stop, match="ExpiredToken") as stopped, accounts.opened("aws", ["eu-west-1"], sandbox=False):
        pass
    assert stopped.value.code is Exit.FAILED
