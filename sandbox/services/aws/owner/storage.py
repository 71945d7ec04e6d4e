"""S3 for the account's owner: list of buckets, versions of objects, deletion. Source: Amazon S3 API reference."""

import base64
import hashlib
import xml.etree.ElementTree as ET
from typing import Any
from urllib.parse import parse_qsl

from sandbox.aws.s3 import BUCKET
from sandbox.services import xml
from sandbox.services.aws.owner.holdings import Holdings
from sandbox.services.aws.s3 import NAMESPACE, XML
from sandbox.services.calls import Answer, Call, Refused

MOST = 1000
"""Versions on one page, and objects of one DeleteObjects."""


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    name, query = call.path.strip("/"), dict(parse_qsl(call.query, keep_blank_values=True))
    if not name and call.method == "GET":
        return _buckets(holdings)
    bucket = holdings.get(BUCKET, name, "NoSuchBucket")
    if call.method == "GET" and "versions" in query:
        return Answer(200, xml.document("ListVersionsResult", _versions(holdings, bucket.id, query), NAMESPACE), XML)
    if call.method == "POST" and "delete" in query:
        return _delete_objects(holdings, bucket.id, call)
    if call.method == "DELETE" and not query:
        holdings.delete(bucket)
        return Answer(204)
    raise Refused("NotImplemented", f"the sandbox does not support {call.method} {call.path}?{call.query}")


def _buckets(holdings: Holdings) -> Answer:
    rows = [
        {"Name": one.id, "CreationDate": one.created.replace("Z", ".000Z")}
        for one in holdings.cloud_state.resources(BUCKET)
    ]
    return Answer(200, xml.document("ListAllMyBucketsResult", {"Buckets": {"Bucket": rows}}, NAMESPACE), XML)


def _versions(holdings: Holdings, bucket: str, query: dict[str, str]) -> dict[str, Any]:
    """Return a page of versions and delete markers, which have no ETag. The markers between pages are numbers."""
    start = int(query.get("version-id-marker") or 0)
    rows = holdings.cloud_state.connection.execute(
        "SELECT version, key, etag FROM objects WHERE bucket = ? AND version > ? ORDER BY version LIMIT ?",
        (bucket, start, MOST + 1),
    ).fetchall()
    more, rows = len(rows) > MOST, rows[:MOST]
    found: dict[str, Any] = {"Name": bucket, "IsTruncated": more}
    if more:
        found |= {"NextKeyMarker": rows[-1][1], "NextVersionIdMarker": rows[-1][0]}
    found["Version"] = [{"Key": key, "VersionId": number} for number, key, etag in rows if etag]
    found["DeleteMarker"] = [{"Key": key, "VersionId": number} for number, key, etag in rows if not etag]
    return found


def _delete_objects(holdings: Holdings, bucket: str, call: Call) -> Answer:
    """Delete versions; those that do not exist are no error. The body's digest is required."""
    digest = base64.b64encode(hashlib.md5(call.body, usedforsecurity=False).digest()).decode()
    if call.headers.get("content-md5") != digest:
        raise Refused("InvalidRequest", "Missing required header for this request: Content-MD5")
    root = ET.fromstring(call.body)  # noqa: S314  # expat reads no external entities
    rows = [
        {child.tag.rpartition("}")[2]: child.text for child in each} for each in root if each.tag.endswith("Object")
    ]
    if not 0 < len(rows) <= MOST:
        raise Refused("MalformedXML", "The XML you provided was not well-formed")
    with holdings.cloud_state.transaction():
        for row in rows:
            holdings.cloud_state.connection.execute(
                "DELETE FROM objects WHERE bucket = ? AND version = ?", (bucket, int(row["VersionId"] or 0))
            )
    return Answer(200, xml.document("DeleteResult", {}, NAMESPACE), XML)
