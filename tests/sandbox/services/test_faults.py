"""Planned faults of the services happen at their call, as often as planned."""

import http.client
import threading
import time
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import botocore.exceptions
import pytest

from sandbox.services.faults import Faults
from tests.sandbox.services.aws.test_s3 import code
from tests.sandbox.services.conftest import ServedAccount

OBJECT = {"Bucket": "bundles", "Key": "bundles/web.zip"}
ROUTE = "s3 GET */bundles/web.zip"


def test_each_service_throttles_in_its_own_format(served: ServedAccount) -> None:
    for route in ("s3 *", "secretsmanager *", "ec2 *"):
        served.services.faults.plan(route, "throttle")
    clients = {name: served.client(name) for name in ("s3", "secretsmanager", "ec2")}
    calls = {
        "SlowDown": lambda: clients["s3"].get_object(**OBJECT),
        "ThrottlingException": lambda: clients["secretsmanager"].get_secret_value(SecretId="pki"),
        "RequestLimitExceeded": lambda: clients["ec2"].describe_instances(),
    }
    assert [code(call) for call in calls.values()] == list(calls)
    for call in calls.values():
        call()
    assert served.services.faults.left() == []


def test_a_fault_starts_at_its_call_and_repeats_as_planned(served: ServedAccount) -> None:
    s3 = served.client("s3")
    served.services.faults.plan(ROUTE, "status", 500, nth=2, times=2)
    answers = []
    for _ in range(4):
        try:
            answers.append(s3.get_object(**OBJECT)["ResponseMetadata"]["HTTPStatusCode"])
        except botocore.exceptions.ClientError as error:
            answers.append(error.response["ResponseMetadata"]["HTTPStatusCode"])
    assert answers == [200, 500, 500, 200]


def test_a_service_refuses_with_the_planned_reason(served: ServedAccount) -> None:
    served.services.faults.plan("s3 PUT *", "refuse", "expired")
    assert code(lambda: served.client("s3").put_object(Bucket="bundles", Key="k", Body=b"x")) == "ExpiredToken"
    assert "k" not in served.account.cloud_state.objects("bundles"), "it did not act"


def test_a_delayed_identity_is_not_found_at_first(served: ServedAccount) -> None:
    served.services.faults.plan("metadata GET /latest/meta-data/iam/*", "status", 404, times=2)
    assert [served.credentials("web") for _ in range(2)] == [{}, {}]
    assert served.credentials("web")["role_name"] == "web"


def test_a_cut_answer_is_shorter_than_its_length(served: ServedAccount) -> None:
    served.services.faults.plan(ROUTE, "truncate")
    body = served.client("s3").get_object(**OBJECT)["Body"]
    with pytest.raises(botocore.exceptions.ResponseStreamingError):
        body.read()


def test_a_call_without_an_answer_may_have_taken_effect(served: ServedAccount) -> None:
    served.services.faults.plan("s3 PUT *", "close")
    with pytest.raises(botocore.exceptions.ConnectionClosedError):
        served.client("s3").put_object(Bucket="bundles", Key="k", Body=b"x")
    assert served.account.cloud_state.objects("bundles")["k"].content == b"x"


def test_a_stalled_answer_continues_only_after_release(served: ServedAccount) -> None:
    served.account.create("Bucket", "open", bucket="open")
    served.services.faults.plan("metadata GET /latest/meta-data/", "stall")
    place = urlsplit(served.urls["web"])
    token = http.client.HTTPConnection(place.netloc)
    token.request("PUT", "/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
    given = token.getresponse().read().decode()
    token.close()
    connection = http.client.HTTPConnection(place.netloc)
    connection.request("GET", "/latest/meta-data/", headers={"X-aws-ec2-metadata-token": given})
    answer = connection.getresponse()
    size = int(answer.headers["Content-Length"])
    assert len(answer.read(size // 2)) == size // 2
    releasing = threading.Timer(0.2, served.services.faults.release)
    releasing.start()
    with pytest.raises(http.client.IncompleteRead):
        answer.read()
    releasing.join()
    connection.close()


def test_a_redirect_has_another_location(served: ServedAccount) -> None:
    served.services.faults.plan("s3 GET *", "redirect", f"{served.urls['web']}/bundles/elsewhere")
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{served.urls['web']}/bundles/bundles/web.zip")
    with caught.value as error:
        assert error.code == 403, "it went to where nobody may read"
    assert [one.path for one in served.services.asked][-2:] == ["/bundles/bundles/web.zip", "/bundles/elsewhere"]


def test_a_late_answer_is_still_correct(served: ServedAccount) -> None:
    s3, start = served.client("s3"), time.monotonic()
    served.services.faults.plan(ROUTE, "delay", 0.3)
    assert s3.get_object(**OBJECT)["Body"].read() == b"0123456789"
    assert time.monotonic() - start >= 0.3


@pytest.mark.parametrize(("kind", "more"), [("explode", {}), ("throttle", {"nth": 0}), ("throttle", {"times": 0})])
def test_an_invalid_fault_is_refused(kind: str, more: dict) -> None:
    with pytest.raises(ValueError, match=r"no fault|at least once"):
        Faults().plan("s3 *", kind, **more)
