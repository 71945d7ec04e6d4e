"""Cloud Storage: objects (GET, HEAD, PUT, DELETE, with generations, conditions, ranges) and lists, by the XML API.

Sources: Cloud Storage, "XML API reference" (requests and headers), "HTTP status and error codes for XML", "Request
preconditions", "IAM permissions for XML requests" (overwriting an object also needs the right to delete it).
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.cloud_state import CloudState
from sandbox.gcp.rights import refused as not_allowed
from sandbox.services import xml
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.gcp.crc32c import crc32c
from sandbox.services.objects import Version, matches, newest, page, part, versions

BUCKET = "gcp:storage/bucket:Bucket"
NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
XML = {"content-type": "application/xml; charset=UTF-8"}
KEY_LIMIT = 1024
"""Longest object name in bytes."""
CODES: Codes = {
    "anonymous": (401, "AuthenticationRequired"),
    "bad-token": (401, "AuthenticationRequired"),
    "expired": (401, "AuthenticationRequired"),
    "scope": (403, "AccessDenied"),
    "denied": (403, "AccessDenied"),
    "throttled": (429, "SlowDown"),
    "failed": (500, "InternalError"),
    "NoSuchBucket": (404, "NoSuchBucket"),
    "NoSuchKey": (404, "NoSuchKey"),
    "PreconditionFailed": (412, "PreconditionFailed"),
    "InvalidRange": (416, "InvalidRange"),
    "MethodNotAllowed": (405, "MethodNotAllowed"),
    "NotImplemented": (501, "NotImplemented"),
}
ACTIONS = {"GET": "get", "HEAD": "get", "PUT": "create", "DELETE": "delete"}
LISTED = {"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type"}
UNKNOWN_OF_WRITES = ("if-match", "if-none-match")
"""Conditions of S3; writes here use conditions on generations."""


@dataclass(frozen=True)
class Store:
    """The buckets of one cloud state, as seen by one member."""

    cloud_state: CloudState
    member: str

    def answer(self, call: Call, bucket: str, key: str) -> Answer:
        """Answer a call on a bucket, or on an object of it (key is decoded)."""
        record = self.cloud_state.find(BUCKET, bucket)
        if record is None:
            raise Refused("NoSuchBucket", "The specified bucket does not exist.")
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        if not key:
            return self._list(call, bucket, query)
        if set(query) - {"generation"} or call.method not in ACTIONS:
            why = "NotImplemented" if call.method in ACTIONS else "MethodNotAllowed"
            raise Refused(why, f"the sandbox does not support {call.method} with {', '.join(query) or 'no query'}")
        self._require(ACTIONS[call.method], bucket, key)
        versioned = bool((record.inputs.get("versioning") or {}).get("enabled"))
        with self.cloud_state.transaction():  # check the condition and write in one transaction
            found = self._wanted(call, bucket, key, query.get("generation"))
            if call.method == "PUT":
                return self._put(call, bucket, key, found, versioned)
            if found is None:
                raise Refused("NoSuchKey", "The specified key does not exist.")
            if call.method == "DELETE":
                return self._delete(bucket, key, query, versioned)
        return _get(call, found)

    def _require(self, action: str, bucket: str, key: str = "") -> None:
        resource = f"projects/_/buckets/{bucket}" + (f"/objects/{key}" if key else "")
        why = not_allowed(self.cloud_state, self.member, f"storage.objects.{action}", resource)
        if why:
            raise Refused("denied", why)

    def _wanted(self, call: Call, bucket: str, key: str, generation: str | None) -> Version | None:
        """Return the newest version, or the version of a generation. Raises Refused if the call's condition fails."""
        found = newest(self.cloud_state, bucket, key)
        if generation is not None:
            kept = versions(self.cloud_state, bucket, key)
            found = next((one for one in kept if one.etag and str(one.number) == generation), None)
        condition = call.headers.get("x-goog-if-generation-match")
        if found is None and call.method != "PUT":
            self._hide(bucket)
        if condition is not None and condition != str(found.number if found else 0):
            raise Refused("PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
        return found

    def _hide(self, bucket: str) -> None:
        """Without the right to list, a missing object looks like a denied one."""
        self._require("list", bucket)

    def _put(self, call: Call, bucket: str, key: str, old: Version | None, versioned: bool) -> Answer:
        unknown = [each for each in UNKNOWN_OF_WRITES if each in call.headers]
        if unknown:
            raise Refused("NotImplemented", f"{unknown[0]} is no condition of a write; x-goog-if-generation-match is")
        if len(key.encode()) > KEY_LIMIT:
            raise Refused("KeyTooLongError", "The object's name is too long.")
        if old:
            self._require("delete", bucket, key)
        sent = call.headers.get("content-md5")
        if sent and sent != _md5(call.body):
            raise Refused("BadDigest", "The Content-MD5 you specified did not match what we received.")
        kind = call.headers.get("content-type") or "application/octet-stream"
        self.cloud_state.put_object(bucket, key, call.body, kind, versioned=versioned)
        return Answer(200, b"", _about(versions(self.cloud_state, bucket, key)[0]))

    def _delete(self, bucket: str, key: str, query: Mapping[str, str], versioned: bool) -> Answer:
        if versioned and "generation" not in query:
            self.cloud_state.put_delete_marker(bucket, key)
        elif versioned:
            self.cloud_state.connection.execute("DELETE FROM objects WHERE version = ?", (query["generation"],))
        else:
            self.cloud_state.remove_object(bucket, key)
        return Answer(204)

    def _list(self, call: Call, bucket: str, query: Mapping[str, str]) -> Answer:
        self._require("list", bucket)
        if call.method != "GET" or query.get("list-type") != "2" or set(query) - LISTED:
            raise Refused(
                "NotImplemented", f"the sandbox does not support {call.method} with {', '.join(query) or 'no query'}"
            )
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token", "") or query.get("start-after", "")
        most = min(int(query.get("max-keys", "1000")), 1000)
        objects = self.cloud_state.objects(bucket)
        here, more = page(objects, prefix, delimiter, after, most)
        listed: dict[str, Any] = {"Name": bucket, "Prefix": prefix, "KeyCount": len(here), "MaxKeys": most}
        listed |= {"IsTruncated": more} | ({"NextContinuationToken": here[-1]} if here and more else {})
        listed["Contents"] = [
            {
                "Key": one.key,
                "Generation": versions(self.cloud_state, bucket, one.key)[0].number,
                "MetaGeneration": 1,
                "LastModified": one.modified.replace("Z", ".000Z"),
                "ETag": f'"{one.etag}"',
                "Size": len(one.content),
            }
            for one in (objects[name] for name in here if name in objects)
        ]
        listed |= {"CommonPrefixes": [{"Prefix": name} for name in here if name not in objects]}
        return Answer(200, xml.document("ListBucketResult", listed, NAMESPACE), XML)


def _about(found: Version) -> dict[str, str]:
    """Return the headers of every answer about a version."""
    crc = base64.b64encode(crc32c(found.content).to_bytes(4, "big")).decode()
    return {
        "etag": f'"{found.etag}"',
        "x-goog-generation": str(found.number),
        "x-goog-metageneration": "1",
        "x-goog-hash": f"crc32c={crc},md5={_md5(found.content)}",
        "x-goog-stored-content-encoding": "identity",
        "x-goog-stored-content-length": str(len(found.content)),
    }


def _get(call: Call, found: Version) -> Answer:
    headers = _about(found)
    if not matches(call.headers.get("if-match"), found.etag, default=True):
        raise Refused("PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
    if matches(call.headers.get("if-none-match"), found.etag, default=False):
        return Answer(304, b"", headers)
    headers |= {"last-modified": found.last_modified, "accept-ranges": "bytes", "content-type": found.content_type}
    try:
        status, body, more = part(found.content, call.headers.get("range", ""))
    except IndexError:
        raise Refused("InvalidRange", "The requested range cannot be satisfied.") from None
    return Answer(status, body, headers | more)


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in the XML API's format, and its code."""
    status, code = worded(refused, CODES)
    later = {"retry-after": "1"} if status in (429, 503) else {}
    return Answer(status, xml.document("Error", {"Code": code, "Message": refused.message}), XML | later), code
