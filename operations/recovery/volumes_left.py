"""Volumes and snapshots that a storage driver made: data of people.

The removal of a cluster without `expires` leaves them. Those of a cluster with `expires` join the state before it, and
the engine deletes them after everything else, except those with a tag that keeps them, and those that are older than
the cluster: an earlier one of the same name, without `expires`, left them.
"""

from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from components.naming import KEEP_TAG
from components.spec.choices import StorageDriver
from operations.clouds import cloud_tables, google_lists
from operations.clouds.driver_made import Made
from operations.engine import state
from operations.engine.events import CLUSTER
from operations.recovery import controller_made, tag_search
from operations.stacks import target

Resource = dict[str, Any]

KINDS = {
    "aws:ebs/volume:Volume": ("volume", "aws ec2 delete-volume --volume-id ID"),
    "aws:ebs/snapshot:Snapshot": ("snapshot", "aws ec2 delete-snapshot --snapshot-id ID"),
    "gcp:compute/disk:Disk": ("disk", "gcloud compute disks delete NAME --zone ZONE --project PROJECT"),
    "gcp:compute/snapshot:Snapshot": ("snapshot", "gcloud compute snapshots delete NAME --project PROJECT"),
}
"""Types of the state, the cloud's word for them, and the command that deletes one."""
DRIVERS = frozenset({StorageDriver.EBS.value, StorageDriver.PD.value})
"""Drivers that make such resources."""
_PLACES = {"projects": "project", "zones": "zone", "disks": "name", "snapshots": "name"}
"""Properties by which Google's provider deletes, by the part of an id before them; AWS's takes the id alone."""


def adopt(name: str, resources: list[Resource], *, sandbox: bool) -> tuple[bool, str]:
    """Add to a state what goes with its cluster. Return whether the state changed, and lines that name what is kept.

    Searches the account by the driver's tag, with the stack's own provider. Raises what the engine raises if that
    fails.
    """
    root = _with_driver(resources)
    if root is None:
        return False, ""
    found = _found(name, root, resources, sandbox=sandbox)
    expires, born = _expires(root), state.created(root)
    kept: dict[tuple[str, str], list[str]] = {}
    going: list[tuple[str, str]] = []
    for kind, ids in found.items():
        for key, made in sorted(ids.items()):
            if why := _why_kept(made, born) if expires else _DATA:
                kept.setdefault((kind, why), []).append(key)
            else:
                going.append((kind, key))
    lines = [_line(*KINDS[kind], ids, why) for (kind, why), ids in kept.items()]
    return _insert(resources, root, going), "\n".join(lines)


_DATA = "with their data"


def _why_kept(made: Made, born: datetime | None) -> str:
    """Return why something stays that a cluster which expires had made; empty if it goes."""
    if made.keeps:
        return f"with the tag {KEEP_TAG}"
    return "older than this cluster, so of an earlier one of its name" if made.is_older(born) else ""


def _found(name: str, root: Resource, resources: list[Resource], *, sandbox: bool) -> dict[str, dict[str, Made]]:
    """Return what the cluster's driver made, by type and id."""
    cluster, found = root["urn"].rpartition("::")[2], dict[str, dict[str, Made]]()
    if sandbox and cloud_tables.of(resources) is cloud_tables.GCP:  # a sandbox serves no API to ask
        return _in_sandbox(target.cloud_state_file(name), cluster)

    async def look(provider: Any, parent: Any, _: str) -> None:
        found.update(await provider.made_by_driver(parent, cluster, KEEP_TAG))

    tag_search.run(name, cluster, resources, look, sandbox=sandbox)
    return found


def _in_sandbox(database: Path, cluster: str) -> dict[str, dict[str, Made]]:
    from sandbox.cloud_state import CloudState

    cloud_state = CloudState(database)
    try:
        return {
            kind: {
                each.id: Made(KEEP_TAG in each.tags, google_lists.moment(each.created))
                for each in cloud_state.resources(kind)
                if google_lists.of_driver(each.id.rpartition("/")[2], cluster)
            }
            for kind in google_lists.DRIVER_MADE
        }
    finally:
        cloud_state.close()


def go(resources: list[Resource]) -> bool:
    """Return whether volumes and snapshots of this state's cluster go with it."""
    root = _with_driver(resources)
    return root is not None and _expires(root)


def _with_driver(resources: list[Resource]) -> Resource | None:
    """Return the cluster's resource, if the cluster has a driver that makes disks in the account."""
    root = next((each for each in resources if each["type"] == CLUSTER), None)
    return root if root and not DRIVERS.isdisjoint(root.get("inputs", {}).get("csi") or []) else None


def _expires(root: Resource) -> bool:
    return root["inputs"].get("expires") is not None


def _insert(resources: list[Resource], root: Resource, going: list[tuple[str, str]]) -> bool:
    """Let the state have exactly these volumes and snapshots, deleted last. Return whether it changed.

    A removal that was cut off had added some; since then they may have been deleted, or tagged to be kept.
    """
    before = [each for each in resources if each["type"] in KINDS]
    gone = {each["urn"] for each in before if (each["type"], each["id"]) not in going}
    resources[:] = [each for each in resources if each["urn"] not in gone]
    for each in resources:
        if not gone.isdisjoint(each.get("dependencies") or ()):
            each["dependencies"] = [urn for urn in each["dependencies"] if urn not in gone]
    known = {(each["type"], each["id"]) for each in before}
    found = [
        {"type": kind, "id": key, "name": key.rpartition("/")[2], "properties": _properties(key)}
        for kind, key in going
        if (kind, key) not in known
    ]
    new = [controller_made.entry(each, root, resources, "driver") for each in found]
    at = 1 + max(place for place, each in enumerate(resources) if _is_above(each))
    for entry in new:
        controller_made.follow([each for each in resources[at:] if each.get("custom")], entry["urn"])
    resources[at:at] = new
    return bool(gone or new)


def _is_above(resource: Resource) -> bool:
    return resource["type"] == CLUSTER or resource["type"].startswith("pulumi:providers:")


def _properties(key: str) -> dict[str, str]:
    parts = key.split("/")
    return {_PLACES[part]: value for part, value in pairwise(parts) if part in _PLACES}


def _line(kind: str, removal: str, ids: list[str], why: str) -> str:
    several = f"{kind}s" if len(ids) > 1 else kind
    return f"Kept: {len(ids)} {several} that the storage driver made, {why}: {', '.join(ids)}. To remove one: {removal}"
