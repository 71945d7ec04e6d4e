"""Copies of etcd's snapshots in a bucket of the owner's (`snapshots.copy_to`), under the same names in a folder.

The bucket may be in another region, of another account, or under object lock. This machine's role may create and read
objects of the folder there. It may not change or delete them, so the bucket's own rules decide how long copies stay.
"""

import hashlib
from functools import partial
from typing import Any
from urllib.error import HTTPError

import objects
from clouds import aws
from failure import Failure
from run import Run
from snapshot_names import KEY, PREFIX

from agent import attempts, snapshots
from agent.api import Api
from agent.configuration import Configuration

EXISTS = 412
"""Status of a write with If-None-Match whose object exists: another machine has finished the copy, if its size fits."""
ENOUGH = 120
"""Seconds of an attempt that have to be left before another snapshot is copied."""
SLOWEST = 900
"""Seconds that may pass from the time in a snapshot's name until the store has it. A later one of another machine may
have a copy by then."""
TRY = "copying"
"""Name of the agents' tries in their ConfigMap."""


class Copies:
    """The agent's work on the copies."""

    def __init__(self) -> None:
        self.checked = set[str]()
        """Copies that this agent made, or whose size it has compared."""
        self.changed = dict[str, str]()
        """Errors by snapshot that was changed in the store. It is not read again, and newer ones do not wait for it."""

    def reconcile(self, run: Run, configuration: Configuration, api: Api, now: float, said: dict[str, Any]) -> None:
        """Copy the snapshots that are newer than the newest copy, if the stack file names a bucket.

        said: the status record's part, which gets `copies` also if a copy fails: {count: of copies, newest: key}.
        Snapshots from before the first copy are not copied, except the newest one, and those that the bucket's rules
        have deleted are not copied again. Raise Failure, or RuntimeError while a failed copy is not tried again.
        """
        if "copies" not in configuration["snapshots"]:
            return
        if "copies" not in said:
            told(said, [])  # the alert about old copies also fires if this agent can never list them
        found, _ = snapshots.stored(run, now)
        bucket, folder = place(configuration)
        copied, _ = snapshots.stored(run, now, bucket, folder)
        told(said, copied)
        for each in missing(found, copied):
            if each.key in self.changed:
                continue
            if not attempts.attempt(run, api, TRY, each.key, partial(self.copy, run, configuration, each.key)):
                break
            if each.key not in self.changed:
                copied = sorted([*copied, each], reverse=True)
                told(said, copied)
            if run.left() < ENOUGH:
                break
        if spoiled := sorted(each.key for each in found if each.key in self.changed):
            raise Failure("digest-mismatch", self.changed[spoiled[-1]])
        self.compare(run, configuration, {each.key for each in found} & {each.key for each in copied})

    def copy(self, run: Run, configuration: Configuration, key: str) -> None:
        """Copy one snapshot, or note that it was changed."""
        try:
            if copy(run, configuration, key):
                self.checked.add(key)
        except Failure as failure:
            if failure.name != "digest-mismatch":
                raise
            self.changed[key] = f"{failure}"

    def compare(self, run: Run, configuration: Configuration, keys: set[str]) -> None:
        """Raise Failure digest-mismatch if a copy that this agent did not make has another size than its snapshot.

        Whoever has taken over a control plane may have written it, and it cannot be replaced. A drill compares more.
        """
        if not keys - self.checked:
            return
        bucket, folder = place(configuration)
        try:
            stored = objects.sizes(run, snapshots.store(run), PREFIX)
            copied = objects.sizes(run, bucket, f"{folder}{PREFIX}")
        except OSError as error:
            raise Failure("store-failed", f"{bucket}/{folder}{PREFIX}: {type(error).__name__}: {error}") from None
        both = {
            key: (copied[f"{folder}{key}"], stored[key]) for key in keys if key in stored and f"{folder}{key}" in copied
        }
        wrong = sorted(key for key, sizes in both.items() if sizes[0] != sizes[1])
        self.checked |= both.keys() - {*wrong}
        if wrong:
            have, want = both[wrong[-1]]
            text = f"{len(wrong)} copies are not their snapshots, such as {bucket}/{folder}{wrong[-1]}"
            raise Failure("digest-mismatch", f"{text}: it has {have} bytes, and the snapshot {want}")


def told(said: dict[str, Any], copied: list[snapshots.Snapshot]) -> None:
    """Write what the status record and the metrics say of the copies, newest first."""
    said["copies"] = {"count": len(copied), "newest": copied[0].key if copied else ""}


def place(configuration: Configuration) -> tuple[str, str]:
    """Return the URL of the bucket, and the folder in it."""
    url = configuration["snapshots"]["copies"].rstrip("/")
    bucket, _, name = url.rpartition("/")
    return bucket, f"{name}/"


def missing(found: list[snapshots.Snapshot], copied: list[snapshots.Snapshot]) -> list[snapshots.Snapshot]:
    """Return the snapshots to copy, the oldest first. Both lists have the newest first."""
    if not copied:
        return found[:1]
    oldest, known = copied[0].at - SLOWEST, {each.key for each in copied}
    return sorted(each for each in found if each.at > oldest and each.key not in known)


def copy(run: Run, configuration: Configuration, key: str) -> bool:
    """Copy one snapshot, part by part through memory; return False if the bucket has an object of its name.

    Raise Failure store-failed or digest-mismatch.
    A larger snapshot's upload begins before the snapshot is read, so that a bucket that refuses it costs nothing.
    """
    source, url = f"{snapshots.store(run)}/{key}", f"{configuration['snapshots']['copies'].rstrip('/')}/{key}"
    digest = hashlib.sha256()
    try:
        if objects.is_larger(run, source, objects.PART):
            with aws.upload(run, url, if_none_match="*") as send:
                for number, part in enumerate(objects.read(run, source), 1):
                    digest.update(part)
                    if part:
                        send(number, memoryview(part))
                refuse_other(source, key, digest.hexdigest())
        else:
            content = next(objects.read(run, source))
            digest.update(content)
            refuse_other(source, key, digest.hexdigest())
            objects.put(run, url, memoryview(content), if_none_match="*")
    except HTTPError as error:
        if error.code != EXISTS:
            raise Failure("store-failed", f"{error.url.partition('?')[0]}: {error}") from None
        return False
    except (OSError, ValueError) as error:
        raise Failure("store-failed", f"{url}: {type(error).__name__}: {error}") from None
    return True


def refuse_other(source: str, key: str, sha256: str) -> None:
    """Raise Failure digest-mismatch if the snapshot that was read is not the one in its name."""
    named = KEY.fullmatch(key)
    if not named or named["sha256"] != sha256:
        raise Failure("digest-mismatch", f"{source} has sha256:{sha256}, another digest than in its name")
