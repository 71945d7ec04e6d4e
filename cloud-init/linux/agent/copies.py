"""Copies of etcd's snapshots in a bucket of the owner's (`snapshots.copy_to`), under the same names in a folder.

The bucket may be in another region, of another account, or under object lock. This machine's role may create and read
objects of the folder there. It may not change or delete them, so the bucket's own rules decide how long copies stay.
"""

import mmap
from pathlib import Path
from urllib.error import HTTPError

import objects
from failure import Failure
from kinds import restoring
from run import Run
from snapshot_names import KEY

from agent import room, snapshots
from agent.configuration import Configuration

EXISTS = 412
"""Status of a write with If-None-Match whose object exists: a copy that another machine has finished."""
ENOUGH = 120
"""Seconds of an attempt that have to be left before another snapshot is copied."""


def reconcile(run: Run, configuration: Configuration, now: float) -> dict[str, object]:
    """Copy the snapshots that are newer than the newest copy; return values for the status record.

    count: of copies; newest: key of the newest one. Snapshots from before the first copy are not copied, except the
    newest one, and those that the bucket's rules have deleted are not copied again.
    """
    found, _ = snapshots.stored(run, now)
    bucket, folder = place(configuration)
    copied, _ = snapshots.stored(run, now, bucket, folder)
    for each in missing(found, copied):
        copy(run, configuration, each.key)
        copied.insert(0, each)
        if run.left() < ENOUGH:
            break
    return {"count": len(copied), "newest": copied[0].key if copied else ""}


def place(configuration: Configuration) -> tuple[str, str]:
    """Return the URL of the bucket, and the folder in it."""
    url = configuration["snapshots"]["copies"].rstrip("/")
    bucket, _, name = url.rpartition("/")
    return bucket, f"{name}/"


def interim(run: Run, configuration: Configuration) -> Path:
    """Return the file that has a snapshot while it is copied."""
    return run.path(f"{configuration['snapshots']['file']}.copy")


def missing(found: list[snapshots.Snapshot], copied: list[snapshots.Snapshot]) -> list[snapshots.Snapshot]:
    """Return the snapshots to copy, the oldest first. Both lists have the newest first."""
    if not copied:
        return found[:1]
    newest, known = copied[0].at, {each.key for each in copied}
    return sorted(each for each in found if each.at >= newest and each.key not in known)


def copy(run: Run, configuration: Configuration, key: str) -> None:
    """Copy one snapshot by this machine's disk. Raise Failure disk-full, store-failed or digest-mismatch."""
    section, named = configuration["snapshots"], KEY.fullmatch(key)
    file, url = interim(run, configuration), f"{section['copies'].rstrip('/')}/{key}"
    try:
        room.refuse_on_disk(run, f"{snapshots.store(run)}/{key}", file.parent)
        restoring.whole(run, snapshots.store(run), key, named["sha256"] if named else "", file)
        with (
            file.open("rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as content,
        ):
            objects.put(run, url, content, if_none_match="*")
    except HTTPError as error:
        if error.code != EXISTS:
            raise Failure("store-failed", f"{url}: {error}") from None
    except (OSError, ValueError) as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    finally:
        file.unlink(missing_ok=True)
