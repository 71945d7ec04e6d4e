"""The signature verifier against AWS's published examples, and against every kind of wrong signature."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from sandbox.services.aws.signature import claimed, verify
from sandbox.services.calls import Call, Refused

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def signed(names: str, signature: str, scope: str) -> str:
    return f"AWS4-HMAC-SHA256 Credential={scope}/aws4_request, SignedHeaders={names}, Signature={signature}"


def at(moment: str) -> float:
    return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()


VANILLA = Call(
    "GET",
    "/",
    "",
    {
        "host": "example.amazonaws.com",
        "x-amz-date": "20150830T123600Z",
        "authorization": signed(
            "host;x-amz-date",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            "AKIDEXAMPLE/20150830/us-east-1/service",
        ),
    },
    b"",
)
VANILLA_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
OBJECT = Call(
    "GET",
    "/test.txt",
    "",
    {
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": EMPTY,
        "x-amz-date": "20130524T000000Z",
        "authorization": signed(
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3",
        ),
    },
    b"",
)
OBJECT_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def check(call: Call, **changes: object) -> None:
    given = {"region": "us-east-1", "service": "s3", "now": at(OBJECT.headers["x-amz-date"])}
    verify(call, claimed(call), OBJECT_KEY, **(given | changes))  # type: ignore[arg-type]


def test_the_published_examples_verify() -> None:
    """AWS Signature Version 4 test suite, get-vanilla; Amazon S3 API reference, "Example: GET Object"."""
    verify(VANILLA, claimed(VANILLA), VANILLA_KEY, region="us-east-1", service="service", now=at("20150830T123600Z"))
    check(OBJECT)


WRONG = {
    "another method": ({"method": "HEAD"}, {}, "mismatch"),
    "another path": ({"path": "/test.txt2"}, {}, "mismatch"),
    "a query added": ({"query": "versionId=1"}, {}, "mismatch"),
    "a body added": ({"body": b"x"}, {}, "wrong-digest"),
    "another signed header": ({}, {"range": "bytes=0-8"}, "mismatch"),
    "another host": ({}, {"host": "other.s3.amazonaws.com"}, "mismatch"),
    "an amz header that is not signed": ({}, {"x-amz-meta-a": "b"}, "unsigned-headers"),
    "an unsigned payload": ({}, {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, "wrong-digest"),
    "no date": ({}, {"x-amz-date": ""}, "malformed"),
    "no signature": ({}, {"authorization": "Basic abc"}, "malformed"),
}


@pytest.mark.parametrize(("fields", "headers", "why"), WRONG.values(), ids=WRONG)
def test_a_changed_request_is_refused(fields: dict, headers: dict, why: str) -> None:
    with pytest.raises(Refused) as caught:
        check(replace(OBJECT, headers={**OBJECT.headers, **headers}, **fields))
    assert caught.value.why == why


def test_s3_refuses_a_request_without_payload_digest() -> None:
    headers = {name: value for name, value in OBJECT.headers.items() if name != "x-amz-content-sha256"}
    headers["authorization"] = headers["authorization"].replace(";x-amz-content-sha256", "")
    with pytest.raises(Refused, match="no-digest"):
        check(replace(OBJECT, headers=headers))


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"region": "eu-west-1"}, "scope"), ({"service": "ec2"}, "scope")]
    + [({"now": at("20130524T000000Z") + seconds}, "skewed") for seconds in (901, -901, 86400)],
)
def test_s3_refuses_another_region_or_service_and_15_minutes_of_skew(changes: dict, why: str) -> None:
    with pytest.raises(Refused) as caught:
        check(OBJECT, **changes)
    assert caught.value.why == why
    check(OBJECT, now=at("20130524T000000Z") + 899)


@pytest.mark.parametrize(("seconds", "said"), [(301, "Signature expired: "), (-301, "Signature not yet current: ")])
def test_other_services_accept_5_minutes_of_skew(seconds: int, said: str) -> None:
    given = {"region": "us-east-1", "service": "service"}
    start = at("20150830T123600Z")
    verify(VANILLA, claimed(VANILLA), VANILLA_KEY, **given, now=start + seconds * 0.99)
    with pytest.raises(Refused, match=said):
        verify(VANILLA, claimed(VANILLA), VANILLA_KEY, **given, now=start + seconds)


def test_s3_encodes_the_path_once_and_other_services_twice() -> None:
    from sandbox.services.aws.signature import canonical_request

    for path in ("/status/a%3Ab.json", "/status/a:b.json"):
        call = Call("PUT", path, "b=2&a=%7e", {"host": "h"}, b"")
        assert canonical_request(call, ("host",), "d", encode_twice=False).split("\n")[1:3] == [
            "/status/a%3Ab.json",
            "a=~&b=2",
        ]
        assert canonical_request(call, ("host",), "d", encode_twice=True).split("\n")[1] == "/status/a%253Ab.json"
