"""Reads and writes files of artifact entries: sorted, one entry on each line, so changes are easy to review."""

import json
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from components.catalogue.artifacts import Catalogue, catalogue
from components.spec.options import ArtifactEntry, Artifacts, ImageEntry
from components.stack_files.artifact_file import is_image
from operations.console.exits import Exit, Stop
from operations.stacks.edit import write_whole

Entry = dict[str, Any]

FIELDS = ("image", "name", "version", "os", "url", "fallbacks", "sha256", "sha512", "digest", "size", "source")
"""Fields in the order they are written."""


def read(path: Path) -> list[Entry]:
    """Return the entries of a file; none if there is no file. Raises Stop if the file is invalid."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise Stop(Exit.USAGE, f"{path}: {error}; correct it, or name another file: --file FILE") from None
    if not isinstance(found, list):
        raise Stop(Exit.USAGE, f"{path}: it is not a list of entries; name another file: --file FILE")
    for index, each in enumerate(found):
        try:
            _model(each).model_validate(each)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(key) for key in first["loc"])
            raise Stop(Exit.USAGE, f"{path}: entry {index + 1}, {where or 'as a whole'}: {first['msg']}") from None
    return found


def known(entries: list[Entry]) -> Catalogue:
    """Return the built-in downloads, overridden by a file's entries."""
    files = [ArtifactEntry.model_validate(each) for each in entries if _model(each) is ArtifactEntry]
    return catalogue(Artifacts(entries=files))


def entry(name: str, version: str, os_family: str, url: str, digest: str, source: str, size: int | None) -> Entry:
    """Return an entry with a digest (sha256:<hex> or sha512:<hex>). Raises Stop if the entry is invalid."""
    algorithm, _, digits = digest.partition(":")
    sizes = {} if size is None else {"size": size}
    made = {"name": name, "version": version, "os": os_family, "url": url, algorithm: digits, "source": source} | sizes
    try:
        ArtifactEntry.model_validate(made)
    except ValidationError as error:
        first = error.errors()[0]
        raise Stop(Exit.USAGE, f"{'.'.join(map(str, first['loc']))}: {first['msg']}. Nothing was pinned") from None
    return made


def write(path: Path, entries: list[Entry], added: list[Entry]) -> None:
    """Write a file whole or not at all. added: replace entries of the same name, version and system."""
    merged = {_identity(each): each for each in [*entries, *added]}
    rows = [{field: each[field] for field in FIELDS if field in each} for each in sorted(merged.values(), key=_place)]
    text = "[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n"
    try:
        write_whole(path, text.encode("ascii"), path.stat().st_mode if path.exists() else None)
    except OSError as error:
        raise Stop(Exit.FAILED, f"{path}: {error.strerror}; the file is unchanged") from None


def _model(each: Any) -> type[ArtifactEntry] | type[ImageEntry]:
    """Return the model of an entry: an image with its digest, or a download."""
    return ImageEntry if is_image(each) else ArtifactEntry


def _identity(each: Entry) -> tuple[str, ...]:
    return (each["image"],) if is_image(each) else (each["name"], each["version"], each["os"])


def _place(each: Entry) -> tuple[Any, ...]:
    """Return the sort key: name, version (older first, non-numeric parts after numbers), system; images come last."""
    if is_image(each):
        return 1, each["image"]
    parts = re.findall(r"\d+|[^\d.]+", each["version"])
    return 0, each["name"], [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts], each["os"]
