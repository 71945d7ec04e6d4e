"""Multipart uploads of S3: create, upload parts, list them, complete or abort.

Source: Amazon S3 API reference, CreateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload,
AbortMultipartUpload; user guide, "Amazon S3 multipart upload limits" and "Multipart upload API and permissions".
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from sandbox.cloud_state import CloudState, ObjectRecord
from sandbox.services import xml
from sandbox.services.calls import Answer, Call, Refused

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
XML = {"content-type": "application/xml"}
SMALLEST = 5 << 20
"""Bytes of every part but the last one, at least."""
MOST = 10_000
"""Highest number of a part."""
PAGE = 1000
"""Parts in an answer of ListParts."""
RIGHTS = {
    ("POST", frozenset({"uploads"})): "s3:PutObject",
    ("PUT", frozenset({"partNumber", "uploadId"})): "s3:PutObject",
    ("POST", frozenset({"uploadId"})): "s3:PutObject",
    ("GET", frozenset({"uploadId"})): "s3:ListMultipartUploadParts",
    ("DELETE", frozenset({"uploadId"})): "s3:AbortMultipartUpload",
}
"""Permission for each call, by its method and parameters."""
UNKNOWN = "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted."


@dataclass(frozen=True)
class Whole:
    """The content of a completed upload."""

    content: bytes
    content_type: str
    etag: str


@dataclass(frozen=True)
class Uploads:
    """The uploads of one object that are not completed.

    Their parts are kept as objects of a place of their own: no list of the bucket has them.
    """

    cloud_state: CloudState
    bucket: str
    key: str

    @property
    def _place(self) -> str:
        return f"{self.bucket} uploads"

    def create(self, call: Call) -> Answer:
        """Begin an upload; its id names it from then on."""
        kind = call.headers.get("content-type") or "binary/octet-stream"
        id_ = secrets.token_hex(32)
        self.cloud_state.put_object(self._place, f"{id_}/", self.key.encode(), kind, versioned=False)
        found = {"Bucket": self.bucket, "Key": self.key, "UploadId": id_}
        return Answer(200, xml.document("InitiateMultipartUploadResult", found, NAMESPACE), XML)

    def put(self, id_: str, number: str, content: bytes) -> Answer:
        """Keep a part; a part of the same number is replaced."""
        self._known(id_)
        if not number.isdigit() or not 1 <= int(number) <= MOST:
            raise Refused("InvalidArgument", f"Part number must be an integer between 1 and {MOST}, inclusive")
        place = f"{id_}/{int(number):05}"
        etag = self.cloud_state.put_object(self._place, place, content, "", versioned=False)
        return Answer(200, b"", {"etag": f'"{etag}"'})

    def list(self, id_: str) -> Answer:
        """Return numbers, sizes and ETags of the parts."""
        self._known(id_)
        parts = self._parts(id_)
        listed: dict[str, Any] = {"Bucket": self.bucket, "Key": self.key, "UploadId": id_, "MaxParts": PAGE}
        listed |= {"IsTruncated": len(parts) > PAGE}
        listed["Part"] = [
            {"PartNumber": number, "LastModified": part.modified, "ETag": f'"{part.etag}"', "Size": len(part.content)}
            for number, part in list(parts.items())[:PAGE]
        ]
        return Answer(200, xml.document("ListPartsResult", listed, NAMESPACE), XML)

    def complete(self, id_: str, body: bytes) -> Whole:
        """Return the content of the named parts and forget the upload; the caller writes the object."""
        kind, kept, named = self._known(id_), self._parts(id_), _named(body)
        numbers = [number for number, _ in named]
        if numbers != sorted(set(numbers)):
            raise Refused("InvalidPartOrder", "The list of parts was not in ascending order.")
        if any(number not in kept or kept[number].etag != etag for number, etag in named):
            raise Refused("InvalidPart", "One or more of the specified parts could not be found, or its ETag differs.")
        if any(len(kept[number].content) < SMALLEST for number in numbers[:-1]):
            raise Refused("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
        digests = b"".join(bytes.fromhex(etag) for _, etag in named)
        etag = f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(named)}"
        content = b"".join(kept[number].content for number in numbers)
        self.abort(id_)
        return Whole(content, kind, etag)

    def abort(self, id_: str) -> Answer:
        """Forget an upload and its parts."""
        self._known(id_)
        for key in [key for key in self.cloud_state.objects(self._place) if key.startswith(f"{id_}/")]:
            self.cloud_state.remove_object(self._place, key)
        return Answer(204)

    def _known(self, id_: str) -> str:
        """Return the content type of an upload of this object."""
        found = self.cloud_state.object(self._place, f"{id_}/")
        if found is None or found.content.decode() != self.key:
            raise Refused("NoSuchUpload", UNKNOWN, 404)
        return found.content_type

    def _parts(self, id_: str) -> dict[int, ObjectRecord]:
        """Return the parts by number, in order."""
        kept = {key.partition("/"): each for key, each in self.cloud_state.objects(self._place).items()}
        return {int(number): each for (upload, _, number), each in kept.items() if upload == id_ and number}


def _named(body: bytes) -> list[tuple[int, str]]:
    """Return numbers and ETags of the parts that a client names."""
    try:
        found = [
            (int(each.findtext("{*}PartNumber") or ""), (each.findtext("{*}ETag") or "").strip('"'))
            for each in ElementTree.fromstring(body).iterfind("{*}Part")  # noqa: S314  a client of the sandbox
        ]
    except (ElementTree.ParseError, ValueError):
        found = []
    if not found:
        raise Refused("MalformedXML", "The XML you provided was not well-formed or did not validate")
    return found
