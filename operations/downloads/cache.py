"""Cache of checked downloads by digest; each is fetched once."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from components.sdk import cache
from operations.downloads import fetch
from operations.downloads.fetch import Heard


def folder() -> Path:
    """Return the folder of the cache."""
    return cache.folder() / "downloads"


def stored(url: str, digest: str | None, heard: Heard) -> tuple[str, int]:
    """Fetch a file into the cache unless the cache has it already (digest None: fetch it unchecked).

    Return its digest and size in bytes. Raises as fetch.fetch does.
    """
    if digest is None:
        arrived = folder() / f"unpinned-{hashlib.sha256(url.encode()).hexdigest()}"
        digest = fetch.fetch(url, arrived, None, heard)
        arrived.replace(kept(digest))
    elif not fetch.holds(kept(digest), digest):
        fetch.fetch(url, kept(digest), digest, heard)
    return digest, kept(digest).stat().st_size


def kept(digest: str) -> Path:
    """Return the path of the file with a digest, whether it exists or not."""
    return folder() / digest.replace(":", "-")


@contextmanager
def watched(what: str) -> Iterator[Heard]:
    """Yield a progress callback for one download: a bar on a terminal, else nothing."""
    with bars() as bar:
        yield bar(what)


@contextmanager
def bars() -> Iterator[Callable[[str], Heard]]:
    """Yield a function that returns a progress callback for each of several downloads."""
    if not sys.stdout.isatty():
        yield lambda what: lambda done, total: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    text = TextColumn("{task.description}", markup=False)
    with Progress(text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), transient=True) as shown:

        def bar(what: str) -> Heard:
            task = shown.add_task(what, total=None)
            return lambda done, total: shown.update(task, completed=done, total=total)

        yield bar
