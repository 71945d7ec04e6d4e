"""Artifacts: downloaded files, moved to their path only with the right digest."""

import hashlib
import json
import os
import re
import threading
import time
from collections import deque
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import loader
import web
from failure import FULL, Failure, of_file
from run import Run, Step
from writing import beside, rename

from kinds.files import bits_of, mode, plain

DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
BLOCK = 1 << 20
AT_ONCE = 4
SECONDS = 900
"""Timeout of one attempt without timeout_seconds."""
LARGEST = 2 << 30
"""Maximum bytes of a download whose size the plan does not say; archives of Kubernetes have some hundred MB."""
SILENCE = 60
"""Seconds without a byte after which a download fails."""


def digest_of(run: Run, path: Path, digest: str) -> str:
    """Return the file's digest with the algorithm of `digest` (sha256:... or sha512:...); cached for the run."""
    algorithm = digest.partition(":")[0]
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        key = (algorithm, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
        if key not in run.digests:
            sums = hashlib.new(algorithm)
            while block := file.read(BLOCK):
                sums.update(block)
            run.digests[key] = f"{algorithm}:{sums.hexdigest()}"
    return run.digests[key]


def content_holds(run: Run, step: Step) -> bool:
    """Return whether the file at the path has the digest."""
    path = run.path(step["path"])
    return plain(path) and digest_of(run, path, step["digest"]) == step["digest"]


def artifact_holds(run: Run, step: Step) -> bool:
    """Return whether the file has digest and mode. Raise Failure step-invalid for a malformed digest."""
    path = run.path(step["path"])
    if not DIGEST.fullmatch(step["digest"]):
        raise Failure("step-invalid", f"{step['digest']!r} is neither sha256:<hex> nor sha512:<hex>")
    return plain(path) and bits_of(path) == mode(step) and content_holds(run, step)


def make_artifact(run: Run, step: Step) -> None:
    """Download beside the target, check the digest, then rename, so the path never has an unchecked file."""
    path = run.path(step["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if not content_holds(run, step):
        if run.begun is None:
            run.begun = Ahead(run, step).begun
        first_try = run.begun.pop(step["name"], None)
        first_try.result() if first_try else download(run, step, run.until)
        beside(path, "part").chmod(mode(step))
        rename(beside(path, "part"), path)
        beside(path, "of").unlink(missing_ok=True)
    path.chmod(mode(step))


OF_A_SOURCE = ("download-failed", "certificate-refused", "redirect-refused", "digest-mismatch")
"""Failures that another address of the same file may not have."""


def download(run: Run, step: Step, until: float) -> None:
    """Download the file to its partial path from the first address that gives it; raise the last address's Failure."""
    said: list[str] = []
    name = ""
    for url in (step["url"], *step.get("fallbacks", ())):
        try:
            return download_from(run, {**step, "url": url}, until)
        except Failure as failure:
            if failure.name not in OF_A_SOURCE:
                raise
            said.append(str(failure))
            name = failure.name
    raise Failure(name, "; ".join(said))


def download_from(run: Run, step: Step, until: float) -> None:
    """Download the file to its partial path. Resume an earlier attempt; the digest decides whether that worked."""
    partial, digest = beside(run.path(step["path"]), "part"), step["digest"]
    whole = partial.exists() and digest_of(run, partial, digest) == digest
    resumed = not whole and transfer(run, step, until)
    if resumed and digest_of(run, partial, digest) != digest:
        partial.unlink()  # the server's file has changed: the partial one is of no use
        transfer(run, step, until)
    found = digest_of(run, partial, digest)
    if found != digest:
        partial.unlink()
        raise Failure("digest-mismatch", f"{step['url']} has {found}, the plan expects {digest}")


def transfer(run: Run, step: Step, until: float) -> bool:
    """Download the missing part of the file; return whether it resumed an earlier attempt."""
    path, url = run.path(step["path"]), step["url"]
    partial, part_of = beside(path, "part"), beside(path, "of")
    known = note_of(part_of)
    have = partial.stat().st_size if partial.exists() and known.get("digest") == step["digest"] else 0
    headers = {"User-Agent": "mullion"}
    if have:
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": known["tag"]} if known["tag"] else {})
    try:
        check_space(path.parent, step.get("size", 0) - have)
        with web.opener(run).open(Request(url, headers=headers), timeout=max(min(SILENCE, left(until)), 0.1)) as answer:
            resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if not resumed:
                tag = answer.headers.get("ETag", "")
                part_of.write_text(json.dumps({"digest": step["digest"], "tag": tag if tag.startswith('"') else ""}))
            with partial.open("ab" if resumed else "wb") as file:
                receive(answer, file, until, step.get("size") or LARGEST)
                file.flush()
                os.fsync(file.fileno())
    except (OSError, HTTPException, ValueError) as error:  # ValueError: a Content-Length that is not a number
        if isinstance(error, HTTPError):
            error.close()
        if isinstance(error, loader.Oversized) or (isinstance(error, HTTPError) and error.code == 416):
            for file in (partial, part_of):  # the part is longer than the file: start over
                file.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            partial.unlink(missing_ok=True)
            raise of_file(error, path) from None
        name = "certificate-refused" if web.refused_certificate(error) else "download-failed"
        raise Failure(name, f"{url}: {type(error).__name__}: {error}") from None
    return resumed


def note_of(file: Path) -> dict[str, str]:
    """Return {digest, tag} of a partial download, or an empty dict if the note is missing or cut off."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return {}


def left(until: float) -> float:
    """Return the seconds until the monotonic time."""
    return until - time.monotonic()


def receive(answer: Any, file: Any, until: float, most: int) -> None:
    """Copy the body to the file. Raise TimeoutError after `until`.

    Raise Oversized if the file would grow beyond `most` bytes, and OSError if the disk has less space than
    Content-Length, or the body is shorter.
    """
    named, got, had = int(answer.headers.get("Content-Length") or -1), 0, file.tell()
    if had + named > most:
        raise loader.Oversized(f"larger than {most} bytes")
    check_space(Path(file.name).parent, named)
    while block := answer.read1(BLOCK):
        got += len(block)
        if had + got > most:
            raise loader.Oversized(f"larger than {most} bytes")
        file.write(block)
        if left(until) < 0:
            raise TimeoutError(f"not finished before the timeout; {got} bytes received")
    if got < named:
        raise OSError(f"{got} of {named} bytes received")


def check_space(folder: Path, wanted: int) -> None:
    """Raise OSError if the disk has fewer than `wanted` bytes free."""
    disk = os.statvfs(folder)
    if wanted > disk.f_bavail * disk.f_frsize:
        raise OSError(FULL[0], f"{os.strerror(FULL[0])}: {wanted} bytes are needed", str(folder))


class Ahead:
    """First download attempts of an artifact and of the later ones in its phase, AT_ONCE at a time.

    Each step waits for its own download, so files get their names in the plan's order. Threads are daemons: a run that
    ends early does not wait for them, and the next run resumes the partial files.
    """

    def __init__(self, run: Run, first: Step) -> None:
        """Start with `first`, the step being applied; later ones start if their folder exists already."""
        self.run = run
        steps = [first, *(step for each in run.later if (step := ready(run, each)))]
        self.begun: dict[str, Future[None]] = {step["name"]: Future() for step in steps}
        self.waiting = deque((step, self.begun[step["name"]]) for step in steps)
        for _ in range(min(AT_ONCE, len(steps))):
            threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        """Run downloads until none is waiting."""
        while True:
            try:
                step, future = self.waiting.popleft()
            except IndexError:
                return
            try:
                if not content_holds(self.run, step):
                    download(self.run, step, time.monotonic() + step.get("timeout_seconds", SECONDS))
                future.set_result(None)
            except BaseException as error:
                future.set_exception(error)


def ready(run: Run, step: Step) -> Step | None:
    """Return the resolved step if it is an artifact that can start, else None; its own turn reports the error."""
    try:
        step = run.resolve(step) if step["kind"] == "artifact" else {}
        path, good = run.path(step["path"]), DIGEST.fullmatch(step["digest"]) and step["url"]
    except (Failure, KeyError, TypeError, AttributeError):
        return None
    return step if good and path.parent.is_dir() else None
