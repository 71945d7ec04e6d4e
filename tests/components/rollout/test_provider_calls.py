"""Status records read through a provider: absent, wrong, of another instance."""

import asyncio
import json

import pytest

from components.rollout.provider_calls import NO_RECORD, ProviderError, status_record

GOOD = {"state": "ready", "instance": "i-1", "kubernetes": "1.36.4"}

MISSING = {
    "aws": "reading S3 Bucket (small-bundles-1) Object (status/AROA:i-1.json): couldn't find resource",
    "older aws": "reading S3 Bucket (small-bundles-1) Object (status/AROA:i-1.json): operation error S3: HeadObject,"
    " https response error StatusCode: 404, RequestID: T0AB12, HostID: 8yZ/aa0=, NotFound: Not Found",
    "azure": "https://smallbundles.blob.core.windows.net/bundles/status/1:2.json: BlobNotFound",
    "gcp": "Error retrieving object: googleapi: Error 404: No such object: small-bundles/status/1:2.json, notFound",
}


async def _fails(message: str) -> str:
    raise ProviderError(message)


async def _text(text: str) -> str:
    return text


@pytest.mark.parametrize("cloud", MISSING)
def test_a_record_that_does_not_exist_is_absent_without_the_providers_message(cloud: str) -> None:
    record = asyncio.run(status_record(_fails(MISSING[cloud]), "i-1"))
    assert record == {"state": "absent", "message": NO_RECORD}


def test_another_failure_of_the_provider_is_kept() -> None:
    record = asyncio.run(status_record(_fails("api error AccessDenied: Access Denied"), "i-1"))
    assert record == {"state": "absent", "message": "api error AccessDenied: Access Denied", "unread": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is no JSON"),
        ("[]", "it is not a status record"),
        (json.dumps({**GOOD, "state": 3}), "it is not a status record"),
        (json.dumps({**GOOD, "instance": "i-2"}), "it is of another instance"),
    ],
)
def test_a_record_that_is_not_the_machines_own_is_absent(text: str, message: str) -> None:
    record = asyncio.run(status_record(_text(text), "i-1"))
    assert record["state"] == "absent"
    assert record["message"].startswith(message)


def test_a_record_of_the_instance_is_returned() -> None:
    assert asyncio.run(status_record(_text(json.dumps(GOOD)), "i-1")) == GOOD
