"""`mullion mirror`: copy all downloads of a stack's machines to a folder or a web server.

The layout is that of `artifacts: {mirror: URL}`: <mirror>/<host>/<path> for https://<host>/<path>.
"""

import base64
import netrc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from components.catalogue.artifacts import Artifact, mirrored
from components.node.downloads import needed
from components.plan import plan_cluster
from components.plan.images import started_images
from components.stack_files.stack import Stack
from operations.console.exits import Exit, Stop
from operations.downloads import fetch
from operations.downloads.cache import bars, kept, stored
from operations.downloads.fetch import Heard
from operations.stacks import stack_files

AT_ONCE = 4
IMAGES = "images.txt"

Put = Callable[[Artifact, Heard], bool]
"""Stores an artifact in the mirror; True if it was copied. Raises as fetch.fetch does."""


def mirror(target: str, name: str) -> None:
    """Copy missing downloads, and print which were copied, which were present and which failed. A second run copies
    none.
    """
    stack = stack_files.load(name)
    wanted = originals(stack)
    unpinned = [each for each in wanted if not each.is_pinned]
    put = _to_server(target) if target.startswith(("http://", "https://")) else _to_folder(Path(target))
    copied, failed = (
        0,
        [
            f"{artifact.name} {artifact.version} {artifact.os}: it has no digest; "
            f"run: mullion pin {artifact.name} {artifact.version}"
            for artifact in unpinned
        ],
    )
    for artifact, outcome in _each([each for each in wanted if each.is_pinned], put):
        if isinstance(outcome, Exception):
            failed.append(f"{artifact.name} {artifact.version} {artifact.os}: {outcome}")
        else:
            copied += outcome
            print(
                f"{'copied' if outcome else 'present':<7} {artifact.name} {artifact.version} {artifact.os}", flush=True
            )
    listed = images(stack)
    if not target.startswith(("http://", "https://")):
        (Path(target) / IMAGES).write_text("".join(f"{each}\n" for each in listed), "ascii")
    print(f"{copied} copied, {len(wanted) - copied - len(failed)} present already, {len(failed)} failed")
    print(f"container images, which you copy with a registry's tools ({len(listed)}):")
    for each in listed:
        print(f"  {each}")
    if failed:
        raise Stop(Exit.FAILED, "\n".join(["the mirror lacks:", *failed]))


def originals(stack: Stack) -> tuple[Artifact, ...]:
    """Return every download of a stack's machines, with its publisher's address."""
    plain = stack.spec.model_copy(update={"artifacts": stack.spec.artifacts.model_copy(update={"mirror": None})})
    return needed(stack.name, plain)


def images(stack: Stack) -> list[str]:
    """Return the container images in the node plans and of the control plane, sorted."""
    planned = plan_cluster(stack.name, stack.spec)
    return sorted({image for group in planned.machine_groups for image in started_images(planned, group)})


def _each(wanted: list[Artifact], put: Put) -> Iterator[tuple[Artifact, bool | Exception]]:
    with bars() as bar, ThreadPoolExecutor(AT_ONCE) as pool:

        def one(each: Artifact) -> bool | Exception:
            try:
                return put(each, bar(f"{each.name} {each.version} {each.os}"))
            except (fetch.Unreachable, fetch.WrongDigest, fetch.NoSpace, OSError) as error:
                return error

        yield from zip(wanted, pool.map(one, wanted), strict=True)


def _from_any(each: Artifact, get: Callable[[str], object]) -> None:
    """Get a file from the first of its addresses that works. Raises the first address's error if none does."""
    said: list[Exception] = []
    for url in (each.url, *each.fallbacks):
        try:
            get(url)
            return
        except (fetch.Unreachable, fetch.WrongDigest) as error:
            said.append(error)
    raise said[0]


def _to_folder(folder: Path) -> Put:
    if folder.exists() and not folder.is_dir():
        raise Stop(Exit.USAGE, f"{folder} is not a folder")

    def put(each: Artifact, heard: Heard) -> bool:
        place = folder / mirrored(each.url, "https://mirror").removeprefix("https://mirror/")
        if not place.resolve().is_relative_to(folder.resolve()):
            raise OSError(f"the path of {each.url} leads out of {folder}")
        if fetch.holds(place, each.digest):
            return False
        if fetch.holds(kept(each.digest), each.digest):
            fetch.copy(kept(each.digest), place)
        else:
            _from_any(each, lambda url: fetch.fetch(url, place, each.digest, heard))
        return True

    folder.mkdir(parents=True, exist_ok=True)
    return put


def _to_server(base: str) -> Put:
    """Return a Put for a web server: PUT, then read the file back and compare.

    Name and password come from the user's netrc file. Raises Stop if the address contains a secret or plain http would
    expose the password.
    """
    if "@" in urlsplit(base).netloc or "?" in base:
        raise Stop(Exit.USAGE, "the address has a user or a query; put name and password into ~/.netrc instead")
    headers = _authorization(host := urlsplit(base).hostname or "")
    if headers and fetch.forgeable(base):
        raise Stop(Exit.USAGE, f"plain http would expose the netrc file's password for {host}; use https://")

    def is_stored(url: str, digest: str) -> bool:
        try:
            return fetch.remote_digest(url, digest.partition(":")[0], headers) == digest
        except fetch.Unreachable as failure:
            if failure.status in (403, 404):
                return False
            raise

    def put(each: Artifact, heard: Heard) -> bool:
        place = mirrored(each.url, base)
        if is_stored(place, each.digest):
            return False
        _from_any(each, lambda url: stored(url, each.digest, heard))
        fetch.send(kept(each.digest), place, headers)
        if not is_stored(place, each.digest):
            raise fetch.WrongDigest(f"{place} returns another file than was stored there")
        return True

    return put


def _authorization(host: str) -> dict[str, str]:
    try:
        found = netrc.netrc(os.environ.get("NETRC") or None).authenticators(host)
    except FileNotFoundError:
        return {}
    except (OSError, netrc.NetrcParseError) as error:
        raise Stop(Exit.USAGE, f"the netrc file cannot be read: {error}") from None
    if found is None:
        return {}
    pair = base64.b64encode(f"{found[0]}:{found[2]}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}
