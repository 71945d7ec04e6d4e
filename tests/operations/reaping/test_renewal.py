"""Credentials that end while a removal goes on: they are fetched again, once for each refusal, over loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from operations.clouds import bearer
from operations.clouds.api import ApiError
from operations.reaping import accounts, aws_requests, azure, gcp_deletion


class Cloud:
    """APIs that accept one token. seen: the credentials of each request."""

    def __init__(self) -> None:
        self.accepted, self.url, self.seen = "second", "", list[str]()


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    served = Cloud()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.seen.append(self.headers["authorization"].removeprefix("Bearer "))
            accepted = served.seen[-1] == served.accepted
            error = {"error": {"code": "ExpiredAuthenticationToken", "message": "the access token expired"}}
            self._answer(200 if accepted else 401, json.dumps({} if accepted else error))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            served.seen.append(self.headers["x-amz-security-token"])
            accepted = served.seen[-1] == served.accepted
            error = "<Errors><Error><Code>RequestExpired</Code><Message>expired</Message></Error></Errors>"
            self._answer(200 if accepted else 400, f"<Response>{'' if accepted else error}</Response>")

        def _answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()


def test_a_token_that_has_expired_is_fetched_again_and_then_kept(cloud: Cloud) -> None:
    requests = bearer.Requests("first", cloud.url, renewed=lambda: "second")
    for _ in range(2):
        assert requests.call("GET", "management.azure.com", "/subscriptions") == {}
    requests.close()
    assert cloud.seen == ["first", "second", "second"]


def test_a_refusal_of_the_new_token_ends_the_request(cloud: Cloud) -> None:
    cloud.accepted = "none"
    for renewed, seen in ((lambda: "second", ["first", "second"]), (None, ["first"])):
        cloud.seen.clear()
        requests = bearer.Requests("first", cloud.url, renewed=renewed)
        with pytest.raises(ApiError, match="the access token expired"):
            requests.call("GET", "management.azure.com", "/subscriptions")
        requests.close()
        assert cloud.seen == seen


def test_keys_of_a_role_that_have_expired_are_fetched_again(cloud: Cloud) -> None:
    first, second = (aws_requests.Keys("AKIA", "secret", token) for token in ("first", "second"))
    requests = aws_requests.Requests(first, cloud.url, renewed=lambda: second)
    for _ in range(2):
        requests.query("ec2", "eu-west-1", "DescribeVpcs")
    requests.close()
    assert cloud.seen == ["first", "second", "second"]


def test_the_reaper_renews_the_credentials_of_each_real_account(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["first", "second"])
    for module in (azure, gcp_deletion):
        monkeypatch.setattr(module, "token", lambda: (next(tokens), "mine"))
    for name in ("azure", "gcp"):
        tokens = iter(["first", "second"])
        cloud.seen.clear()
        account = accounts.real(name, [])
        requests = account._requests  # type: ignore[attr-defined] # pyright: ignore
        requests._endpoint = cloud.url
        requests.call("GET", "host", "/")
        account.close()
        assert cloud.seen == ["first", "second"], name
