"""Objects of the stores: their names page by page, and contents that are too large for one request or for memory."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote

if TYPE_CHECKING:
    from run import Run

PART = 64 << 20
"""Bytes of a part. etcd's largest database (quota 8 GiB) has 128 parts: S3 lists 1,000 parts in one answer, and takes
10,000 of at least 5 MiB (Amazon S3 user guide, "Multipart upload limits"); Azure takes 50,000 blocks (Blob Storage REST
API, "Put Block List")."""
KIND = "application/octet-stream"


SIZE = re.compile(r"<Key>([^<]+)</Key>(?:(?!<Key>).)*?<Size>(\d+)</Size>", re.DOTALL)
"""Name and bytes of an object in S3's answer (Amazon S3 API reference, ListObjectsV2)."""


class Listing(NamedTuple):
    """How a store lists names. Names in its answers are XML-escaped; those of Mullion have no such characters."""

    query: str
    """Suffix of the store's URL for the first page."""
    next: str
    """The same for a later page."""
    name: re.Pattern[str]
    """Pattern of a name in the answer."""
    mark: re.Pattern[str]
    """Pattern of the mark of the next page."""


S3 = Listing(
    "/?list-type=2&prefix={prefix}",
    "/?continuation-token={mark}&list-type=2&prefix={prefix}",  # signatures need parameters in this order
    re.compile(r"<Key>([^<]+)</Key>"),
    re.compile(r"<NextContinuationToken>([^<]+)</NextContinuationToken>"),
)
"""Listing of S3 and of Cloud Storage's XML API."""


def pages(run: Run, store: str, prefix: str) -> Iterator[str]:
    """Yield the store's answers with the objects that have a prefix, in byte order. store: URL. Raise OSError."""
    listing, mark = run.cloud.LISTING, ""
    while True:
        query = (listing.next if mark else listing.query).format(
            mark=quote(mark, safe=""), prefix=quote(prefix, safe="")
        )
        said = run.ask("store", f"{store.rstrip('/')}{query}").decode()
        yield said
        more = listing.mark.search(said)
        if not more:
            return
        mark = more[1]


def names(run: Run, store: str, prefix: str, most: int | None = None) -> list[str]:
    """Return the names with a prefix, in byte order. most: pages that are read. Raise OSError."""
    pattern = run.cloud.LISTING.name
    return [name for said in islice(pages(run, store, prefix), most) for name in pattern.findall(said)]


def sizes(run: Run, store: str, prefix: str) -> dict[str, int]:
    """Return the bytes of the objects with a prefix, by name, from a store of S3. Raise OSError."""
    return {name: int(size) for said in pages(run, store, prefix) for name, size in SIZE.findall(said)}


def put(run: Run, url: str, content: memoryview, **condition: Any) -> None:
    """Write an object, under the headers in `condition`. Raise OSError; the store has no part of the content then."""
    if len(content) <= PART:
        run.ask("store", url, "PUT", content, content_type=KIND, content_md5=md5(content), **condition)
    else:
        run.cloud.put_large(run, url, content, **condition)


def md5(content: memoryview) -> str:
    """Return the header Content-MD5 of a request.

    S3 requires it of each object and part for a bucket under object lock (Amazon S3 API reference, PutObject,
    UploadPart: Content-MD5).
    """
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def parts(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the parts of a content with their numbers, from 1 on."""
    for begin in range(0, len(content), PART):
        yield begin // PART + 1, content[begin : begin + PART]


def fetch(run: Run, url: str, file: Path) -> str:
    """Write an object into a private file, part by part, and return the file's SHA-256. Raise OSError.

    The caller compares the SHA-256: the object may change meanwhile, or an answer end early.
    """
    digest = hashlib.sha256()
    file.touch(0o600)
    with file.open("wb") as opened:
        for content in read(run, url):
            opened.write(content)
            digest.update(content)
    return digest.hexdigest()


def read(run: Run, url: str) -> Iterator[bytes]:
    """Yield an object's parts of PART bytes; the last one may be shorter or empty. Raise OSError."""
    size = 0
    while True:
        content = _part(run, url, size, PART)
        yield content
        size += len(content)
        if len(content) < PART:
            return


def is_larger(run: Run, url: str, size: int) -> bool:
    """Return whether an object has more than `size` bytes, without reading it. Raise OSError."""
    return bool(_part(run, url, size, 1))


def _part(run: Run, url: str, begin: int, most: int) -> bytes:
    """Return the bytes of an object from a position on, at most `most`; none at its end."""
    try:
        return run.ask("store", url, range=f"bytes={begin}-{begin + most - 1}", most=most)
    except HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        return b""
