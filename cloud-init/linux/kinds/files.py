"""Files, folders, downloads, archives and secrets."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from failure import Failure
from run import STATE, Run, Step, write_whole

BLOCK = 1 << 20
MODES = {None: 0o644, "private": 0o600}
"""Modes of files by access; folders and executable files add the x of those who may read."""


def mode(step: Step, walk: bool = False) -> int:
    """Permissions that the step asks for; `walk`: of a folder."""
    bits = MODES[step.get("access")]
    return bits | bits >> 2 & 0o111 if walk or step.get("executable") else bits


def directory_holds(run: Run, step: Step) -> bool:
    """The folder is there with its mode."""
    path = run.path(step["path"])
    return path.is_dir() and path.stat().st_mode & 0o777 == mode(step, walk=True)


def make_directory(run: Run, step: Step) -> None:
    """Makes the folder and those above it."""
    path = run.path(step["path"])
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode(step, walk=True))


def content(step: Step) -> bytes:
    """Bytes of a file step."""
    if step.get("format") == "json":
        return json.dumps(step["content"], indent=2).encode() + b"\n"
    if step.get("format") == "documents":
        return "".join(f"---\n{json.dumps(each, indent=2)}\n" for each in step["content"]).encode()
    if not isinstance(step["content"], str):
        raise Failure("step-invalid", "content is neither text nor of format json or documents")
    return step["content"].encode()


def written(path: Path, expected: bytes, bits: int) -> bool:
    """The file holds exactly this, with this mode."""
    return path.is_file() and path.stat().st_mode & 0o777 == bits and path.read_bytes() == expected


def file_holds(run: Run, step: Step) -> bool:
    """The file is there with content and mode."""
    return written(run.path(step["path"]), content(step), mode(step))


def make_file(run: Run, step: Step) -> None:
    """Writes the file whole."""
    write_whole(run.path(step["path"]), content(step), mode(step))


def secret_holds(run: Run, step: Step) -> bool:
    """The private file holds the secret as the store has it now."""
    return written(run.path(step["path"]), run.secret(step["secret"], step.get("member")).encode(), MODES["private"])


def make_secret(run: Run, step: Step) -> None:
    """Writes the secret for root alone."""
    text = run.secret(step["secret"], step.get("member"))
    write_whole(run.path(step["path"]), text.encode(), MODES["private"])


def digest_of(path: Path, digest: str) -> str:
    """The file's digest in the form of the given one: sha256:... or sha512:..."""
    algorithm = digest.partition(":")[0]
    if algorithm not in ("sha256", "sha512"):
        raise Failure("step-invalid", f"{digest!r} is neither sha256: nor sha512:")
    sums = hashlib.new(algorithm)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            sums.update(block)
    return f"{algorithm}:{sums.hexdigest()}"


def artifact_holds(run: Run, step: Step) -> bool:
    """The download is there with digest and mode."""
    path = run.path(step["path"])
    return (
        path.is_file()
        and path.stat().st_mode & 0o777 == mode(step)
        and digest_of(path, step["digest"]) == step["digest"]
    )


def make_artifact(run: Run, step: Step) -> None:
    """Downloads beside the target, checks, then renames: what is at the path was always checked."""
    path = run.path(step["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.mullion-new")
    try:
        with urllib.request.urlopen(step["url"], timeout=60) as answer, partial.open("wb") as file:
            shutil.copyfileobj(answer, file, BLOCK)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Failure("download-failed", f"{step['url']}: {type(error).__name__}: {error}") from None
    found = digest_of(partial, step["digest"])
    if found != step["digest"]:
        partial.unlink()
        raise Failure("digest-mismatch", f"{step['url']} has {found}, the plan says {step['digest']}")
    partial.chmod(mode(step))
    partial.replace(path)


def archive_key(run: Run, step: Step) -> list[Any]:
    """What makes an unpacked archive the wanted one: its own digest, and how it is unpacked."""
    source = run.path(step["source"])
    if not source.is_file():
        raise Failure("file-failed", f"{step['source']} is not there")
    return [digest_of(source, "sha256:"), step["target"], step.get("strip", 0), step.get("members")]


def archive_holds(run: Run, step: Step) -> bool:
    """The listing of the last unpacking fits the archive, and each file has its size."""
    listing = run.path(f"{STATE}/archives/{step['name']}.json")
    if not listing.is_file():
        return False
    known, target = json.loads(listing.read_text()), run.path(step["target"])
    files = [(target / name, size) for name, size in known["files"].items()]
    return known["key"] == archive_key(run, step) and all(p.is_file() and p.stat().st_size == size for p, size in files)


def make_archive(run: Run, step: Step) -> None:
    """Writes each file whole, then the listing. `members` names files as in the archive or as they end up."""
    key, target, strip = archive_key(run, step), run.path(step["target"]), step.get("strip", 0)
    wanted, seen, files = set(step.get("members") or ()), set(), {}
    try:
        for name, bits, read in entries(run.path(step["source"])):
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts:
                raise Failure("archive-unsafe", f"{step['source']} has an entry {name!r}")
            inner = "/".join(parts[strip:])
            if inner and (not wanted or {name, inner} & wanted):
                data = read()
                write_whole(target / inner, data, 0o755 if bits & 0o100 else 0o644)
                files[inner] = len(data)
                seen |= {name, inner}
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise Failure("archive-broken", f"{step['source']}: {error}") from None
    if wanted - seen or not files:
        raise Failure("archive-broken", f"{step['source']} has no {sorted(wanted - seen) or 'files'}")
    listing = json.dumps({"key": key, "files": files}).encode()
    write_whole(run.path(f"{STATE}/archives/{step['name']}.json"), listing, 0o644)


def entries(source: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yields (name, mode, function that reads it) of each file in a tar or zip archive; links are refused."""
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield entry.filename, entry.external_attr >> 16, lambda entry=entry: archive.read(entry)
        return
    with tarfile.open(source) as archive:
        for entry in archive:
            if not entry.isfile() and not entry.isdir():
                raise Failure("archive-unsafe", f"{source.name}: {entry.name!r} is neither file nor folder")
            if entry.isfile():
                yield entry.name, entry.mode, lambda entry=entry: (archive.extractfile(entry) or io.BytesIO()).read()
