"""Copies of etcd snapshots in the bucket of `snapshots.copy_to`, as `mullion restore` reads them."""

import sys
from collections.abc import Iterator
from dataclasses import replace

from components.spec.models import ClusterSpec
from components.spec.snapshots import SnapshotCopy, copy_folder
from operations.clouds import cloud_tables
from operations.commands.snapshot_keys import SNAPSHOTS, SnapshotStore, ignoring, sorted_out
from operations.console.exits import Exit, Stop
from operations.engine.scratch_stack import passing
from operations.stacks import target


def listed(name: str, spec: ClusterSpec, stored: SnapshotStore) -> Iterator[tuple[str, ...]]:
    """Yield key and, if the stack copies snapshots, places of each snapshot, newest first.

    Copies that cannot be read are a warning: the snapshots in the store can be restored without them.
    """
    copied = spec.snapshots.copy_to
    if not copied:
        yield from ((key,) for key in stored.snapshots)
        return
    try:
        place = instead(name, spec, stored)
        copies = place.snapshots
        if place.ignored:
            print(ignoring(place), file=sys.stderr)
    except Stop as error:
        print(f"warning: copies in bucket {copied.bucket} cannot be read: {error}", file=sys.stderr)
        copies = []
    for key in sorted({*stored.snapshots, *copies}, reverse=True):
        found = {"store": key in stored.snapshots, "copy": key in copies}
        yield key, " and ".join(each for each, has in found.items() if has)


def instead(name: str, spec: ClusterSpec, stored: SnapshotStore) -> SnapshotStore:
    """Return the store with the copies in the place of its snapshots. Raise Stop if they cannot be read."""
    copied = spec.snapshots.copy_to
    if not copied:
        raise Stop(
            Exit.USAGE, f"{name} has no copies of snapshots: its stack file names no bucket in snapshots.copy_to"
        )
    snapshots, ignored = _keys(name, copied, stored)
    return replace(stored, bucket=copied.bucket, snapshots=snapshots, ignored=ignored)


def _keys(name: str, copied: SnapshotCopy, stored: SnapshotStore) -> tuple[list[str], list[str]]:
    """Return the keys of this cluster's copies, newest first, and all other keys, without their folder.

    Another cluster of the same name may write to the same folder: its keys lack this cluster's MAC.
    """
    folder = copy_folder(name)

    def program() -> None:
        import pulumi

        pulumi.export(
            "copies", cloud_tables.provider("aws").keys_of(copied.bucket, copied.region, f"{folder}{SNAPSHOTS}")
        )

    with passing(name, program, sandbox=target.in_sandbox(name)) as run:
        keys: list[str] = run.up(show_secrets=False, color="never").outputs["copies"].value or []
    return sorted_out(stored.key, [key.removeprefix(folder) for key in keys])
