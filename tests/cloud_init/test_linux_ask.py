"""Requests of the Linux loader, which node.py uses too: signed for one address, dated by the services' clock."""

import json
import threading
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.cloud_init.cloud import FakeCloud

HOUR = 3600


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_wrong_clock_is_corrected_by_the_date_of_the_stores_answer(
    cloud: FakeCloud, loader: ModuleType, ahead: int
) -> None:
    cloud.objects["/bundles/x"] = b"content"
    cloud.services.clock = lambda: time.time() + ahead
    assert [loader.ask({"cloud": "aws"}, f"{cloud.url}/bundles/x", "store") for _ in range(2)] == [b"content"] * 2
    assert len(cloud.refused()) == 1, "the second request comes at once, and all later ones have the right time"
    assert abs(loader.ahead - ahead) < 5


def test_another_refusal_is_raised_with_the_stores_error_code_and_not_retried(
    cloud: FakeCloud, loader: ModuleType
) -> None:
    with pytest.raises(OSError, match=r"404: .*NoSuchKey"):
        loader.ask({"cloud": "aws"}, f"{cloud.url}/bundles/none", "store")
    assert len([each for each in cloud.asked if "/bundles/none" in each]) == 1


class Redirecting(BaseHTTPRequestHandler):
    """Redirects every request to another address."""

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", "http://127.0.0.1:9/stolen")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def test_a_signature_and_a_session_token_are_sent_to_no_other_address(cloud: FakeCloud, loader: ModuleType) -> None:
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(OSError, match="HTTP Error 307"):
            loader.ask({"cloud": "aws"}, f"http://127.0.0.1:{server.server_port}/bundles/x", "store")
        thread.join()


def test_a_proxy_in_the_environment_is_not_used(
    cloud: FakeCloud, loader: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    cloud.objects["/bundles/x"] = b"content"
    assert loader.ask({"cloud": "aws"}, f"{cloud.url}/bundles/x", "store") == b"content"


def test_an_answer_that_ends_too_early_raises_a_network_error(cloud: FakeCloud, loader: ModuleType) -> None:
    cloud.objects["/bundles/x"] = b"0123456789"
    cloud.services.faults.plan("* /bundles/x", "truncate")
    with pytest.raises(OSError, match="IncompleteRead"):
        loader.ask({"cloud": "aws"}, f"{cloud.url}/bundles/x", "store")


def test_a_cloud_without_a_signer_is_named_in_the_error(loader: ModuleType) -> None:
    with pytest.raises(KeyError, match="nowhere"):
        loader.ask({"cloud": "nowhere"}, "https://example.org", "store")


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("copies.s3.eu-central-1.amazonaws.com", "eu-central-1"),
        ("copies.s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("secretsmanager.eu-west-1.amazonaws.com", "eu-west-1"),
    ],
)
def test_a_request_to_a_bucket_of_another_region_has_the_signature_of_botocore(
    loader: ModuleType, monkeypatch: pytest.MonkeyPatch, host: str, region: str
) -> None:
    keys = {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "wJalrXUtnFEMI", "Token": "session"}
    roles = "/latest/meta-data/iam/security-credentials/"
    known = {roles: "web", f"{roles}web": json.dumps(keys), "/latest/meta-data/placement/region": "eu-west-1"}
    monkeypatch.setattr(loader, "aws_metadata", known.__getitem__)
    url, kind = f"https://{host}/shop/etcd/x.db?uploads=", {"content-type": "text/plain"}
    ours = dict(loader.aws({}, url, "store", "POST", b"body", kind).header_items())
    theirs = AWSRequest("POST", url, data=b"body", headers=kind)
    at = datetime.strptime(ours["X-amz-date"] + "+0000", "%Y%m%dT%H%M%SZ%z")
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: at)
    S3SigV4Auth(Credentials(*keys.values()), "s3", region).add_auth(theirs)
    assert ours["Authorization"] == theirs.headers["Authorization"]
