"""S3, called by a real SDK."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from botocore.exceptions import ClientError

from tests.sandbox.services.conftest import ServedAccount


def code(call) -> str:
    """Return the error code that a call ends with."""
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value.response["Error"]["Code"]


def test_objects_are_written_read_listed_and_deleted(served: ServedAccount) -> None:
    s3 = served.client("s3")
    made = s3.put_object(Bucket="bundles", Key="a b/ä:1.txt", Body=b"hello", ContentType="text/plain")
    got = s3.get_object(Bucket="bundles", Key="a b/ä:1.txt")
    assert (got["Body"].read(), got["ETag"], got["ContentType"]) == (b"hello", made["ETag"], "text/plain")
    assert "VersionId" not in got
    head = s3.head_object(Bucket="bundles", Key="a b/ä:1.txt")
    assert (head["ContentLength"], head["ETag"]) == (5, made["ETag"])
    assert served.account.cloud_state.objects("bundles")["a b/ä:1.txt"].content == b"hello"
    s3.delete_object(Bucket="bundles", Key="a b/ä:1.txt")
    s3.delete_object(Bucket="bundles", Key="a b/ä:1.txt")
    assert code(lambda: s3.get_object(Bucket="bundles", Key="a b/ä:1.txt")) == "NoSuchKey"


RANGES = {"bytes=2-4": b"234", "bytes=7-": b"789", "bytes=-3": b"789", "bytes=8-99": b"89", "bytes=0-0": b"0"}


@pytest.mark.parametrize(("wanted", "part"), RANGES.items())
def test_a_range_reads_part_of_an_object(served: ServedAccount, wanted: str, part: bytes) -> None:
    got = served.client("s3").get_object(Bucket="bundles", Key="bundles/web.zip", Range=wanted)
    start = b"0123456789".index(part)
    assert (got["Body"].read(), got["ResponseMetadata"]["HTTPStatusCode"]) == (part, 206)
    assert got["ContentRange"] == f"bytes {start}-{start + len(part) - 1}/10"


def test_a_range_beyond_the_end_is_refused(served: ServedAccount) -> None:
    asked = {"Bucket": "bundles", "Key": "bundles/web.zip", "Range": "bytes=10-"}
    assert code(lambda: served.client("s3").get_object(**asked)) == "InvalidRange"


def test_conditional_headers_decide_reads_and_writes(served: ServedAccount) -> None:
    s3 = served.client("s3")
    first = s3.put_object(Bucket="snapshots", Key="founded", Body=b"cp-0", IfNoneMatch="*")
    assert code(lambda: s3.put_object(Bucket="snapshots", Key="founded", Body=b"cp-1", IfNoneMatch="*")) == (
        "PreconditionFailed"
    )
    assert code(lambda: s3.put_object(Bucket="snapshots", Key="founded", Body=b"x", IfMatch='"other"')) == (
        "PreconditionFailed"
    )
    assert code(lambda: s3.put_object(Bucket="snapshots", Key="new", Body=b"x", IfMatch='"other"')) == "NoSuchKey"
    s3.put_object(Bucket="snapshots", Key="founded", Body=b"cp-0 again", IfMatch=first["ETag"])
    assert code(lambda: s3.get_object(Bucket="snapshots", Key="founded", IfMatch=first["ETag"])) == (
        "PreconditionFailed"
    )
    newest = s3.head_object(Bucket="snapshots", Key="founded")["ETag"]
    assert code(lambda: s3.get_object(Bucket="snapshots", Key="founded", IfNoneMatch=newest)) == "304"


def test_one_of_many_concurrent_conditional_writes_wins(served: ServedAccount) -> None:
    s3 = served.client("s3")

    def write(number: int) -> bool:
        try:
            s3.put_object(Bucket="snapshots", Key="founded", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, wrote in enumerate(pool.map(write, range(24))) if wrote]
    assert len(won) == 1
    assert s3.get_object(Bucket="snapshots", Key="founded")["Body"].read() == str(won[0]).encode()


def test_a_versioned_bucket_keeps_overwritten_and_deleted_versions(served: ServedAccount) -> None:
    s3 = served.client("s3")
    ids = [s3.put_object(Bucket="snapshots", Key="s", Body=text)["VersionId"] for text in (b"1", b"2")]
    marker = s3.delete_object(Bucket="snapshots", Key="s")
    assert marker["DeleteMarker"]
    assert code(lambda: s3.get_object(Bucket="snapshots", Key="s")) == "NoSuchKey"
    assert "Contents" not in s3.list_objects_v2(Bucket="snapshots")
    assert s3.put_object(Bucket="snapshots", Key="s", Body=b"3", IfNoneMatch="*")["VersionId"] not in ids
    read = [s3.get_object(Bucket="snapshots", Key="s", VersionId=each)["Body"].read() for each in ids]
    assert read == [b"1", b"2"]
    s3.delete_object(Bucket="snapshots", Key="s", VersionId=ids[0])
    gone = code(lambda: s3.get_object(Bucket="snapshots", Key="s", VersionId=ids[0]))
    assert gone == "NoSuchVersion"


def test_noncurrent_versions_prevent_deleting_a_bucket(served: ServedAccount) -> None:
    s3, account = served.client("s3"), served.account
    bucket = account.create("Bucket", "kept", bucket="kept")
    account.create("BucketVersioning", "k", bucket="kept", versioningConfiguration={"status": "Enabled"})
    version = s3.put_object(Bucket="kept", Key="s", Body=b"1")["VersionId"]
    marker = s3.delete_object(Bucket="kept", Key="s")["VersionId"]
    assert account.cloud_state.objects("kept") == {}
    assert account.refused(lambda: account.delete(bucket)).code == "BucketNotEmpty"
    for each in (version, marker):
        s3.delete_object(Bucket="kept", Key="s", VersionId=each)
    account.delete(bucket)


def test_keys_are_listed_in_order_by_prefix_delimiter_and_page(served: ServedAccount) -> None:
    s3 = served.client("s3")
    keys = [f"etcd/{number:02}.db" for number in range(7)] + ["etcd/old/a&b", "etcd/old/c", "other"]
    for key in keys:
        s3.put_object(Bucket="snapshots", Key=key, Body=b"x")
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket="snapshots", Prefix="etcd/", PaginationConfig={"PageSize": 2}
    )
    assert [one["Key"] for page in pages for one in page.get("Contents", [])] == keys[:-1]
    page = s3.list_objects_v2(Bucket="snapshots", Prefix="etcd/", Delimiter="/", StartAfter="etcd/04.db")
    assert [one["Key"] for one in page["Contents"]] == ["etcd/05.db", "etcd/06.db"]
    assert page["CommonPrefixes"] == [{"Prefix": "etcd/old/"}]
    assert (page["KeyCount"], page["IsTruncated"]) == (3, False)


def test_a_machine_has_exactly_the_rights_of_its_role(served: ServedAccount) -> None:
    s3, user = served.client("s3", "web"), served.account.cloud_state.find("aws:iam/role:Role", "web")
    assert s3.get_object(Bucket="bundles", Key="bundles/web.zip")["Body"].read() == b"0123456789"
    assert user is not None
    mine = f"status/{user.outputs['uniqueId']}:{served.machines['web'].id}.json"
    s3.put_object(Bucket="bundles", Key=mine, Body=b"{}")
    assert served.account.cloud_state.objects("bundles")[mine].content == b"{}"
    others = {
        "the record of another machine": lambda: s3.put_object(
            Bucket="bundles", Key=mine.replace(served.machines["web"].id, served.machines["cp"].id), Body=b"{}"
        ),
        "an object elsewhere": lambda: s3.put_object(Bucket="bundles", Key="bundles/web.zip", Body=b"evil"),
        "reading what is not for it": lambda: s3.get_object(Bucket="bundles", Key=mine),
        "what is missing, which only those hear who may list": lambda: s3.get_object(
            Bucket="bundles", Key="bundles/none"
        ),
        "listing": lambda: s3.list_objects_v2(Bucket="bundles"),
        "deleting": lambda: s3.delete_object(Bucket="bundles", Key="bundles/web.zip"),
        "another bucket": lambda: s3.get_object(Bucket="snapshots", Key="founded"),
    }
    assert {what: code(call) for what, call in others.items()} == dict.fromkeys(others, "AccessDenied")


def test_credentials_of_no_machine_are_refused(served: ServedAccount) -> None:
    asked = {"Bucket": "bundles", "Key": "bundles/web.zip"}
    other = served.credentials("cp")
    cases = {
        "SignatureDoesNotMatch": {"secret_key": other["secret_key"]},
        "InvalidAccessKeyId": {"access_key": other["access_key"]},
        "InvalidToken": {"token": "x" + other["token"]},
    }
    for expected, changes in cases.items():
        s3 = served.client("s3", "web", **changes)
        assert code(partial(s3.get_object, **asked)) == expected
    assert not [one for one in served.services.asked if one.code and one.caller], "none of them got past its signature"


@pytest.mark.parametrize(
    ("bucket", "more", "expected"),
    [("nobodys", {}, "NoSuchBucket"), ("bundles", {"Key": "k" * 1025}, "KeyTooLongError")],
)
def test_invalid_writes_get_s3s_error(served: ServedAccount, bucket: str, more: dict[str, str], expected: str) -> None:
    asked = {"Bucket": bucket, "Key": "k", "Body": b"x", **more}
    assert code(lambda: served.client("s3").put_object(**asked)) == expected


def test_a_bucket_policy_denies_plain_http_if_machines_use_tls(served: ServedAccount) -> None:
    s3 = served.client("s3")
    with served.account.cloud_state.transaction():
        served.account.cloud_state.set_setting("services", "")
    assert code(lambda: s3.get_object(Bucket="bundles", Key="bundles/web.zip")) == "AccessDenied"


def test_an_unsigned_call_has_the_rights_of_everyone(served: ServedAccount) -> None:
    from urllib.error import HTTPError
    from urllib.request import urlopen

    from tests.sandbox.services.conftest import policy

    served.account.create("Bucket", "open", bucket="open")
    document = policy(("Allow", ["s3:GetObject"], "arn:aws:s3:::open/public/*"), Principal="*")
    opened = {"blockPublicPolicy": False, "restrictPublicBuckets": False}
    block = served.account.create("BucketPublicAccessBlock", "open", bucket="open", **opened)
    served.account.create("BucketPolicy", "open", bucket="open", policy=document)
    for key in ("public/a", "private/a"):
        served.account.create("BucketObjectv2", key, bucket="open", key=key, content=key)
    with urlopen(f"{served.urls['web']}/open/public/a") as answer:
        assert answer.read() == b"public/a"
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{served.urls['web']}/open/private/a")
    with caught.value as error:
        assert error.code == 403
        assert b"<Code>AccessDenied</Code>" in error.read()
    served.account.update(block, restrictPublicBuckets=True)
    with pytest.raises(HTTPError) as caught:
        urlopen(f"{served.urls['web']}/open/public/a")
    with caught.value as error:
        assert error.code == 403, "the block keeps everybody out although the policy lets them in"


PART = 5 << 20
"""Bytes of the smallest part but the last one."""


def test_an_upload_in_parts_is_written_once_it_is_completed(served: ServedAccount) -> None:
    s3, place = served.client("s3"), {"Bucket": "snapshots", "Key": "etcd/large.db"}
    upload = place | {"UploadId": s3.create_multipart_upload(**place, ContentType="text/plain")["UploadId"]}
    bodies = {2: b"end", 1: b"a" * PART}
    tags = {number: s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"] for number, body in bodies.items()}
    listed = s3.list_parts(**upload)["Parts"]
    assert [(each["PartNumber"], each["ETag"], each["Size"]) for each in listed] == [
        (number, tags[number], len(bodies[number])) for number in (1, 2)
    ]
    assert code(lambda: s3.get_object(**place)) == "NoSuchKey"
    named = {"Parts": [{"PartNumber": number, "ETag": tags[number]} for number in (1, 2)]}
    made = s3.complete_multipart_upload(**upload, MultipartUpload=named)
    got = s3.get_object(**place)
    assert (got["Body"].read(), got["ContentType"], got["ETag"]) == (bodies[1] + b"end", "text/plain", made["ETag"])
    assert made["ETag"].endswith('-2"')
    assert code(lambda: s3.list_parts(**upload)) == "NoSuchUpload"


@pytest.mark.parametrize(
    ("bodies", "named", "why"),
    [
        ([b"small", b"end"], [1, 2], "EntityTooSmall"),
        ([b"a" * PART, b"end"], [2, 1], "InvalidPartOrder"),
        ([b"a" * PART], [1, 3], "InvalidPart"),
        ([b"a" * PART], [], "MalformedXML"),
    ],
)
def test_an_upload_that_cannot_be_completed_is_refused_and_aborted(
    served: ServedAccount, bodies: list[bytes], named: list[int], why: str
) -> None:
    s3, place = served.client("s3"), {"Bucket": "snapshots", "Key": "etcd/large.db"}
    upload = place | {"UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    tags = [s3.upload_part(**upload, PartNumber=nth, Body=body)["ETag"] for nth, body in enumerate(bodies, 1)]
    parts = {"Parts": [{"PartNumber": nth, "ETag": tags[min(nth, len(tags)) - 1]} for nth in named]}
    assert code(lambda: s3.complete_multipart_upload(**upload, MultipartUpload=parts)) == why
    s3.abort_multipart_upload(**upload)
    assert code(lambda: s3.upload_part(**upload, PartNumber=1, Body=b"x")) == "NoSuchUpload"
    assert code(lambda: s3.get_object(**place)) == "NoSuchKey"


def test_a_worker_begins_no_upload_among_the_snapshots(served: ServedAccount) -> None:
    s3 = served.client("s3", "web")
    assert code(lambda: s3.create_multipart_upload(Bucket="snapshots", Key="etcd/large.db")) == "AccessDenied"
