"""S3: objects (GET, HEAD, PUT, DELETE, with conditions, ranges and versions), multipart uploads, and ListObjectsV2.

Sources: Amazon S3 API reference (error responses, GetObject, PutObject, ListObjectsV2); user guide, "Add preconditions
to S3 operations with conditional requests".
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from sandbox.aws.s3 import BUCKET, KEY_LIMIT, is_versioned
from sandbox.cloud_state import CloudState
from sandbox.services import xml
from sandbox.services.aws.access import allowed, require
from sandbox.services.aws.uploads import NAMESPACE, RIGHTS, XML, Uploads
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.credentials import Caller
from sandbox.services.objects import Version, matches, page, part, versions

CODES: Codes = {
    "malformed": (400, "AuthorizationHeaderMalformed"),
    "bad-token": (400, "InvalidToken"),
    "unknown-key": (403, "InvalidAccessKeyId"),
    "expired": (400, "ExpiredToken"),
    "skewed": (403, "RequestTimeTooSkewed"),
    "scope": (400, "AuthorizationHeaderMalformed"),
    "mismatch": (403, "SignatureDoesNotMatch"),
    "unsigned-headers": (403, "AccessDenied"),
    "no-digest": (400, "InvalidRequest"),
    "wrong-digest": (400, "XAmzContentSHA256Mismatch"),
    "denied": (403, "AccessDenied"),
    "throttled": (503, "SlowDown"),
    "failed": (500, "InternalError"),
    "NoSuchBucket": (404, "NoSuchBucket"),
    "NoSuchKey": (404, "NoSuchKey"),
    "NoSuchVersion": (404, "NoSuchVersion"),
    "PreconditionFailed": (412, "PreconditionFailed"),
    "InvalidRange": (416, "InvalidRange"),
    "MethodNotAllowed": (405, "MethodNotAllowed"),
    "NotImplemented": (501, "NotImplemented"),
}
LISTED = {"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type"}
"""Parameters of ListObjectsV2 that this service understands."""
PRECONDITION_FAILED = "At least one of the pre-conditions you specified did not hold"


@dataclass(frozen=True)
class Store:
    """The buckets of one cloud state. region: region of the addressed endpoint."""

    cloud_state: CloudState
    region: str

    def answer(self, call: Call, caller: Caller | None, bucket: str, key: str) -> Answer:
        """Answer a call on a bucket, or on an object of it (key is decoded)."""
        record = self.cloud_state.find(BUCKET, bucket)
        if record is None:
            raise Refused("NoSuchBucket", "The specified bucket does not exist")
        if record.region != self.region:
            raise Refused("PermanentRedirect", f"The bucket is in {record.region}: use its endpoint", 301)
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        query.pop("x-id", None)  # newer SDKs add the operation's name as a parameter
        if not key:
            return self._list(call, caller, bucket, query)
        upload = RIGHTS.get((call.method, frozenset(query)))
        if upload:
            about = _writes(call, whole=call.method == "POST" and "uploadId" in query)
            require(self.cloud_state, caller, upload, f"arn:aws:s3:::{bucket}/{key}", bucket, about)
            return self._upload(call, bucket, key, query)
        return self._object(call, caller, bucket, key, query)

    def _object(self, call: Call, caller: Caller | None, bucket: str, key: str, query: Mapping[str, str]) -> Answer:
        arn = f"arn:aws:s3:::{bucket}"
        if set(query) - {"versionId"}:
            raise Refused("NotImplemented", f"the sandbox does not support {', '.join(query)}")
        reading = "s3:GetObjectVersion" if "versionId" in query else "s3:GetObject"
        actions = {"GET": reading, "HEAD": reading, "PUT": "s3:PutObject", "DELETE": "s3:DeleteObject"}
        if call.method not in actions:
            raise Refused("MethodNotAllowed", "The specified method is not allowed against this resource.")
        require(self.cloud_state, caller, actions[call.method], f"{arn}/{key}", bucket, _writes(call, whole=True))
        if call.method == "PUT":
            return self._put(call, bucket, key)
        if call.method == "DELETE":
            return self._delete(bucket, key, query.get("versionId"))
        found = self._wanted(bucket, key, query.get("versionId"))
        if found is None and not allowed(self.cloud_state, caller, "s3:ListBucket", arn, bucket):
            raise Refused(
                "denied", "Access Denied"
            )  # without the right to list, a missing object looks like a denied one
        if found is None:
            raise Refused("NoSuchVersion" if "versionId" in query else "NoSuchKey", "The specified key does not exist.")
        return self._get(call, bucket, found)

    def _wanted(self, bucket: str, key: str, id: str | None) -> Version | None:
        """Return the newest version, or the version with an id; a delete marker counts as missing."""
        kept = versions(self.cloud_state, bucket, key)
        kept = kept[:1] if id is None else [one for one in kept if self._id(bucket, one) == id]
        return kept[0] if kept and kept[0].etag else None

    def _id(self, bucket: str, version: Version) -> str:
        return self.cloud_state.digits(version.number, f"version in {bucket}")[:32]

    def _about(self, bucket: str, version: Version) -> dict[str, str]:
        """Return the headers that name a version."""
        names = {"etag": f'"{version.etag}"'} if version.etag else {}
        return names | (
            {"x-amz-version-id": self._id(bucket, version)} if is_versioned(self.cloud_state, bucket) else {}
        )

    def _get(self, call: Call, bucket: str, found: Version) -> Answer:
        headers = self._about(bucket, found)
        if not matches(call.headers.get("if-match"), found.etag, default=True):
            raise Refused("PreconditionFailed", PRECONDITION_FAILED)
        if matches(call.headers.get("if-none-match"), found.etag, default=False):
            return Answer(304, b"", headers)
        headers |= {"last-modified": found.last_modified, "accept-ranges": "bytes"}
        headers |= {"content-type": found.content_type}
        try:
            status, body, more = part(found.content, call.headers.get("range", ""))
        except IndexError:
            raise Refused("InvalidRange", "The requested range is not satisfiable") from None
        return Answer(status, body, headers | more)

    def _upload(self, call: Call, bucket: str, key: str, query: Mapping[str, str]) -> Answer:
        """Answer a call of a multipart upload."""
        uploads, id_ = Uploads(self.cloud_state, bucket, key), query.get("uploadId", "")
        with self.cloud_state.transaction():
            if call.method == "PUT":
                return uploads.put(id_, query["partNumber"], call.body)
            if call.method == "GET":
                return uploads.list(id_)
            if call.method == "DELETE":
                return uploads.abort(id_)
            if "uploads" in query:
                _refuse_long(key)
                return uploads.create(call)
            whole = uploads.complete(id_, call.body)
            versioned = is_versioned(self.cloud_state, bucket)
            self._refuse_unless_as_expected(call, self._wanted(bucket, key, None))
            self.cloud_state.put_object(
                bucket, key, whole.content, whole.content_type, versioned=versioned, etag=whole.etag
            )
            made = {"Bucket": bucket, "Key": key, "ETag": f'"{whole.etag}"'}
            about = self._about(bucket, versions(self.cloud_state, bucket, key)[0])
            return Answer(200, xml.document("CompleteMultipartUploadResult", made, NAMESPACE), about | XML)

    def _put(self, call: Call, bucket: str, key: str) -> Answer:
        _refuse_long(key)
        sent = call.headers.get("content-md5")
        if sent and sent != base64.b64encode(hashlib.md5(call.body, usedforsecurity=False).digest()).decode():
            raise Refused("BadDigest", "The Content-MD5 you specified did not match what we received.")
        kind = call.headers.get("content-type") or "binary/octet-stream"
        with self.cloud_state.transaction():  # check the condition and write in one transaction
            self._refuse_unless_as_expected(call, self._wanted(bucket, key, None))
            self.cloud_state.put_object(bucket, key, call.body, kind, versioned=is_versioned(self.cloud_state, bucket))
            return Answer(200, b"", self._about(bucket, versions(self.cloud_state, bucket, key)[0]))

    def _refuse_unless_as_expected(self, call: Call, old: Version | None) -> None:
        unless, wanted = call.headers.get("if-none-match"), call.headers.get("if-match")
        if unless not in (None, "*"):
            raise Refused("NotImplemented", "If-None-Match of a write takes * alone")
        if wanted is not None and old is None:
            raise Refused("NoSuchKey", "The specified key does not exist.")
        if (unless and old) or (old and not matches(wanted, old.etag, default=True)):
            raise Refused("PreconditionFailed", PRECONDITION_FAILED)

    def _delete(self, bucket: str, key: str, id: str | None) -> Answer:
        """Add a delete marker in a versioned bucket unless the call names a version. Deleting a missing object
        succeeds.
        """
        with self.cloud_state.transaction():
            if id is not None:
                for one in versions(self.cloud_state, bucket, key):
                    if self._id(bucket, one) == id:
                        self.cloud_state.connection.execute("DELETE FROM objects WHERE version = ?", (one.number,))
                return Answer(204, b"", {"x-amz-version-id": id})
            if not is_versioned(self.cloud_state, bucket):
                self.cloud_state.remove_object(bucket, key)
                return Answer(204)
            self.cloud_state.put_delete_marker(bucket, key)
            return Answer(
                204,
                b"",
                self._about(bucket, versions(self.cloud_state, bucket, key)[0]) | {"x-amz-delete-marker": "true"},
            )

    def _list(self, call: Call, caller: Caller | None, bucket: str, query: Mapping[str, str]) -> Answer:
        about = {"s3:prefix": query["prefix"]} if "prefix" in query else {}
        require(self.cloud_state, caller, "s3:ListBucket", f"arn:aws:s3:::{bucket}", bucket, about)
        if call.method == "HEAD" and not query:
            return Answer(200, b"", {"x-amz-bucket-region": self.region})
        if call.method != "GET" or query.get("list-type") != "2" or set(query) - LISTED:
            raise Refused(
                "NotImplemented", f"the sandbox does not support {call.method} with {', '.join(query) or 'no query'}"
            )
        return Answer(200, xml.document("ListBucketResult", self._page(bucket, query), NAMESPACE), XML)

    def _page(self, bucket: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Return one page of keys after a start; keys with a delimiter after the prefix count once, as common
        prefix.
        """
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = unquote(query.get("continuation-token", "")) or query.get("start-after", "")
        most = min(int(query.get("max-keys", "1000")), 1000)
        encode = quote if query.get("encoding-type") == "url" else str
        objects = self.cloud_state.objects(bucket)
        here, more = page(objects, prefix, delimiter, after, most)
        found = [objects[name] for name in here if name in objects]
        listed: dict[str, Any] = {"Name": bucket, "Prefix": encode(prefix), "KeyCount": len(here), "MaxKeys": most}
        listed |= {"Delimiter": encode(delimiter)} if delimiter else {}
        listed |= {"EncodingType": "url"} if encode is quote else {}
        listed |= {"IsTruncated": more}
        listed |= {"NextContinuationToken": quote(here[-1], safe="")} if here and more else {}
        listed["Contents"] = [
            {
                "Key": encode(one.key),
                "LastModified": one.modified.replace("Z", ".000Z"),
                "ETag": f'"{one.etag}"',
                "Size": len(one.content),
                "StorageClass": "STANDARD",
            }
            for one in found
        ]
        return listed | {"CommonPrefixes": [{"Prefix": encode(name)} for name in here if name not in objects]}


def _writes(call: Call, *, whole: bool) -> dict[str, str]:
    """Return the keys of conditions of a write (S3 user guide, "Enforce conditional writes on Amazon S3 buckets").

    whole: whether the call creates an object; those that begin an upload or write a part of it do not.
    """
    if call.method not in ("PUT", "POST"):
        return {}
    unless = call.headers.get("if-none-match")
    return {"s3:ObjectCreationOperation": str(whole).lower(), **({"s3:if-none-match": unless} if unless else {})}


def _refuse_long(key: str) -> None:
    if len(key.encode()) > KEY_LIMIT:
        raise Refused("KeyTooLongError", "Your key is too long")


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in S3's format, and its code."""
    status, code = worded(refused, CODES)
    return Answer(status, xml.document("Error", {"Code": code, "Message": refused.message}), XML), code
