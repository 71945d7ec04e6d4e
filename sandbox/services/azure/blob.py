"""Blob Storage: blobs (Get, Get Properties, Put, Delete, with conditions and ranges), blocks, and List Blobs.

Sources: Blob Storage REST API, "Get Blob", "Put Blob", "List Blobs", "Specifying conditional headers for Blob service
operations", "Blob service error codes", "Versioning for Azure Storage".
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.azure.rights import BLOBS
from sandbox.azure.rights import refused as not_allowed
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.azure.blocks import Blocks
from sandbox.services.calls import Answer, Call, Codes, Refused, worded
from sandbox.services.objects import Version, matches, newest, page, part

CONTAINER = "azure-native:storage:BlobContainer"
XML = {"content-type": "application/xml"}
OLDEST, VERSION = "2017-11-09", re.compile(r"20\d\d-\d\d-\d\d")
"""First version of the service that accepts tokens."""
CODES: Codes = {
    "anonymous": (409, "PublicAccessNotPermitted"),
    "bad-token": (401, "InvalidAuthenticationInfo"),
    "expired": (401, "InvalidAuthenticationInfo"),
    "audience": (401, "InvalidAuthenticationInfo"),
    "denied": (403, "AuthorizationPermissionMismatch"),
    "throttled": (503, "ServerBusy"),
    "failed": (500, "InternalError"),
    "BlobNotFound": (404, "BlobNotFound"),
    "ContainerNotFound": (404, "ContainerNotFound"),
    "BlobAlreadyExists": (409, "BlobAlreadyExists"),
    "ConditionNotMet": (412, "ConditionNotMet"),
    "InvalidRange": (416, "InvalidRange"),
    "UnsupportedHttpVerb": (405, "UnsupportedHttpVerb"),
}
ACTIONS = {"GET": "read", "HEAD": "read", "PUT": "write", "DELETE": "delete"}
LISTED = {"restype", "comp", "prefix", "delimiter", "marker", "maxresults", "include", "showonly"}
MOST = 5000
"""Blobs on one page."""


@dataclass(frozen=True)
class Blobs:
    """The containers of one cloud state, as seen by one principal."""

    cloud_state: CloudState
    principal: str

    def answer(self, call: Call, place: str, key: str) -> Answer:
        """Answer a call on a container (ACCOUNT/CONTAINER), or on a blob of it (key is decoded)."""
        day = call.headers.get("x-ms-version", "")  # API versions are dates: 2021-08-06
        if not VERSION.fullmatch(day) or day < OLDEST:
            text = "An HTTP header that's mandatory for this request is not specified or not valid: x-ms-version"
            raise Refused("MissingRequiredHeader", text)
        record = next((one for one in self.cloud_state.resources(CONTAINER) if name(one) == place), None)
        if record is None:
            raise Refused("ContainerNotFound", "The specified container does not exist.")
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        if not key:
            return self._list(call, record, query)
        blocks = call.method == "PUT" and query.get("comp") in ("block", "blocklist")
        if (query and not blocks) or call.method not in ACTIONS:
            why = "InvalidQueryParameterValue" if query else "UnsupportedHttpVerb"
            raise Refused(why, f"the sandbox does not support {call.method} with {', '.join(query) or 'no query'}")
        self._require(ACTIONS[call.method], record, key)
        with self.cloud_state.transaction():  # check the condition and write in one transaction
            old = newest(self.cloud_state, place, key)
            if blocks:
                return self._put_blocks(call, place, key, old, query["comp"], query.get("blockid", ""))
            if call.method == "PUT":
                return self._put(call, place, key, old)
            if old is None:
                raise Refused("BlobNotFound", "The specified blob does not exist.")
            if not matches(call.headers.get("if-match"), old.etag, default=True):
                raise Refused("ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
            if call.method == "DELETE":
                self.cloud_state.remove_object(place, key)
                return Answer(202)
        return _get(call, old)

    def _require(self, action: str, container: Record, path: str = "", sub: str = "") -> None:
        why = not_allowed(self.cloud_state, self.principal, f"{BLOBS}/{action}", container.id, path=path, sub=sub)
        if why:
            text = "This request is not authorized to perform this operation using this permission."
            raise Refused("denied", f"{text} {why}")

    def _put(self, call: Call, place: str, key: str, old: Version | None) -> Answer:
        if call.headers.get("x-ms-blob-type") != "BlockBlob":
            text = "An HTTP header that's mandatory for this request is not specified: x-ms-blob-type"
            raise Refused("MissingRequiredHeader", text)
        _refuse_unless_as_expected(call, old)
        sent = call.headers.get("content-md5")
        if sent and sent != _md5(call.body):
            raise Refused("Md5Mismatch", "The MD5 value specified in the request did not match the one calculated.")
        kind = call.headers.get("x-ms-blob-content-type") or call.headers.get("content-type")
        self.cloud_state.put_object(place, key, call.body, kind or "application/octet-stream", versioned=False)
        made = newest(self.cloud_state, place, key)
        encrypted = {"x-ms-request-server-encrypted": "true", "content-md5": _md5(call.body)}
        return Answer(201, b"", (_about(made) if made else {}) | encrypted)

    def _put_blocks(self, call: Call, place: str, key: str, old: Version | None, what: str, id_: str) -> Answer:
        """Answer Put Block and Put Block List. what: block or blocklist. id_: of the block."""
        blocks = Blocks(self.cloud_state, place, key)
        if what == "block":
            blocks.put(id_, call.body)
            return Answer(201, b"", {"content-md5": _md5(call.body), "x-ms-request-server-encrypted": "true"})
        _refuse_unless_as_expected(call, old)
        kind = call.headers.get("x-ms-blob-content-type") or "application/octet-stream"
        self.cloud_state.put_object(place, key, blocks.commit(call.body), kind, versioned=False)
        made = newest(self.cloud_state, place, key)
        return Answer(201, b"", _about(made) if made else {})

    def _list(self, call: Call, container: Record, query: Mapping[str, str]) -> Answer:
        self._require("read", container, query.get("prefix", ""), "Blob.List")
        listing = (query.get("restype"), query.get("comp")) == ("container", "list")
        if call.method != "GET" or not listing or set(query) - LISTED:
            text = f"the sandbox does not support {call.method} with {', '.join(query) or 'no query'}"
            raise Refused("InvalidQueryParameterValue", text)
        prefix, most = query.get("prefix", ""), min(int(query.get("maxresults", MOST)), MOST)
        objects = self.cloud_state.objects(name(container))
        here, more = page(objects, prefix, query.get("delimiter", ""), query.get("marker", ""), most)
        place = name(container)
        blobs = [_listed(each, found) for each in here if (found := newest(self.cloud_state, place, each))]
        prefixes = [{"Name": each} for each in here if each not in objects]
        listed: dict[str, Any] = {"Prefix": prefix, "MaxResults": most}
        listed |= {"Blobs": {"Blob": blobs, "BlobPrefix": prefixes}, "NextMarker": here[-1] if more else ""}
        return Answer(200, xml.document("EnumerationResults", listed), XML)


def _refuse_unless_as_expected(call: Call, old: Version | None) -> None:
    wanted, unless = call.headers.get("if-match"), call.headers.get("if-none-match")
    if old and unless == "*":
        raise Refused("BlobAlreadyExists", "The specified blob already exists.")
    changed = old is None if wanted is not None else False
    if changed or (old and not matches(wanted, old.etag, default=True)):
        raise Refused("ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")


def name(container: Record) -> str:
    """Return ACCOUNT/CONTAINER, the key of the container in the cloud state."""
    return f"{container.inputs['accountName']}/{container.id.rpartition('/')[2]}"


def _listed(key: str, found: Version) -> dict[str, Any]:
    about = {
        "Last-Modified": found.last_modified,
        "Etag": f"0x{found.etag[:15].upper()}",
        "Content-Length": len(found.content),
        "Content-Type": found.content_type,
        "Content-MD5": _md5(found.content),
        "BlobType": "BlockBlob",
    }
    return {"Name": key, "Properties": about}


def _about(found: Version) -> dict[str, str]:
    return {"etag": f'"{found.etag}"', "last-modified": found.last_modified}


def _get(call: Call, found: Version) -> Answer:
    headers = _about(found)
    if matches(call.headers.get("if-none-match"), found.etag, default=False):
        return Answer(304, b"", headers)
    headers |= {"accept-ranges": "bytes", "content-type": found.content_type, "x-ms-blob-type": "BlockBlob"}
    header = call.headers.get("x-ms-range") or call.headers.get("range", "")
    try:
        status, body, more = part(found.content, header)
    except IndexError:
        raise Refused("InvalidRange", "The range specified is invalid for the current size of the resource.") from None
    of_all = "x-ms-blob-content-md5" if more else "content-md5"
    return Answer(status, body, headers | more | {of_all: _md5(found.content)})


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in Blob Storage's format, and its code."""
    status, code = worded(refused, CODES)
    headers = XML | {"x-ms-error-code": code} | ({"retry-after": "1"} if status in (429, 503) else {})
    if status == 401:
        headers["www-authenticate"] = 'Bearer authorization_uri="https://login.microsoftonline.com/common"'
    return Answer(status, xml.document("Error", {"Code": code, "Message": refused.message}), headers), code
