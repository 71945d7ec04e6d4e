"""Files of manifests: their Kubernetes objects, with the items of Lists."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.lint.conditions import Place
from components.lint.documents import Object
from components.rollout.plain_text import plain
from operations.console.exits import Exit, Stop
from operations.manifests.yaml_reader import MOST_BYTES, Document, Unreadable, documents

STDIN = "-"


def objects(name: str) -> list[Object]:
    """Return the objects of a file; `-` is standard input. Raises Stop with file, line and reason."""
    shown = "standard input" if name == STDIN else plain(name)
    text = _text(name, shown)
    try:
        found = [each for document in _documents(text) for each in _objects(document, shown)]
    except Unreadable as error:
        line = f":{error.line}" if error.line else ""
        raise Stop(Exit.USAGE, f"{shown}{line}: {plain(error)}; correct the file") from None
    if not found:
        raise Stop(Exit.USAGE, f"{shown}: it has no Kubernetes object; give manifests, or the output of helm template")
    return found


def _text(name: str, shown: str) -> str:
    if name != STDIN and Path(name).is_dir():
        raise Stop(Exit.USAGE, f"{shown}: it is a folder; name its files, for example {shown}/*.yaml")
    try:
        content = _content(name)
    except OSError as error:
        raise Stop(Exit.USAGE, f"{shown}: {error.strerror}; name a file of manifests") from None
    if len(content) > MOST_BYTES:
        raise Stop(Exit.USAGE, f"{shown}: it is larger than {MOST_BYTES // 1024**2} MiB; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Stop(Exit.USAGE, f"{shown}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8") from None


def _content(name: str) -> bytes:
    """Return the content, cut off one byte after the limit."""
    if name == STDIN:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _documents(text: str) -> Iterator[Document]:
    """Yield the documents. A file that is not valid YAML is read as JSON, whose tabs and escapes YAML may refuse."""
    try:
        yield from list(documents(text))
    except Unreadable:
        if text.lstrip()[:1] not in ("{", "["):
            raise
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if data is None:
            raise
        yield Document(1, data, {})


def _objects(document: Document, file: str) -> Iterator[Object]:
    for data, place in _items(document.data, ()):
        if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or "apiVersion" not in data:
            line = document.lines.get(place)
            raise Unreadable(
                f"document {document.number} is not a Kubernetes object: it lacks apiVersion or kind", line
            )
        yield Object(data, file, document.number, place, document.lines)


def _items(data: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """Yield the object, or the items of a List of objects."""
    items = data.get("items") if isinstance(data, dict) else None
    if isinstance(items, list) and str(data.get("kind", "")).endswith("List"):
        for index, item in enumerate(items):
            yield from _items(item, (*place, "items", index))
    else:
        yield data, place
