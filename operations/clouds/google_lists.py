"""Lists of Compute Engine that no function of the provider has. Source: REST reference of Compute Engine v1."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from components.naming import volume_prefix
from operations.clouds.api import ApiError
from operations.clouds.bearer import Requests
from operations.clouds.driver_made import Made

COMPUTE = "compute.googleapis.com"
Row = dict[str, Any]

DRIVER_MADE = {"gcp:compute/disk:Disk": "disks", "gcp:compute/snapshot:Snapshot": "snapshots"}
"""Types of what the driver of persistent disks makes, and their collections."""


def aggregated(requests: Requests, project: str, kind: str) -> Iterator[Row]:
    """Yield the resources of a collection in all regions and zones. Raises ApiError, also if a zone does not answer."""
    for page in requests.pages(COMPUTE, f"/compute/v1/projects/{project}/aggregated/{kind}", {}):
        for place, rows in (page.get("items") or {}).items():
            if (rows.get("warning") or {}).get("code") == "UNREACHABLE":  # what it has is unknown, not nothing
                raise ApiError(503, "UNREACHABLE", f"{kind} of {place} cannot be listed")
            yield from rows.get(kind) or []


def in_project(requests: Requests, project: str, kind: str) -> Iterator[Row]:
    """Yield the resources of a collection without regions. Raises ApiError."""
    for page in requests.pages(COMPUTE, f"/compute/v1/projects/{project}/global/{kind}", {}):
        yield from page.get("items") or []


def path(link: str) -> str:
    """Return projects/... of a resource's URL."""
    return link[link.index("projects/") :] if "projects/" in link else link


def moment(text: str) -> datetime:
    """Return a time of RFC 3339 without its fraction, and with an offset that Python 3.10 reads."""
    head, tail = text[:19], text[19:].lstrip(".0123456789")
    return datetime.fromisoformat(f"{head}{'+00:00' if tail in ('Z', '') else tail}")


def of_driver(name: str, cluster: str) -> bool:
    """Return whether a cluster's driver of persistent disks made what has this name.

    The sidecars name all that they make by a UID without its hyphens (components/node/volume_drivers.py). The rights of
    control planes allow further names after the prefix, for disks of the user's.
    """
    return re.fullmatch(rf"{re.escape(volume_prefix(cluster))}-[0-9a-f]{{32}}", name) is not None


def made(row: Row, keep: str) -> Made:
    """Return what a row says about a disk or snapshot that a driver made."""
    return Made(keep in (row.get("labels") or {}), moment(row["creationTimestamp"]))


def made_by_driver(requests: Requests, project: str, cluster: str, keep: str) -> dict[str, dict[str, Made]]:
    """Return what a cluster's driver made, by type and path; the label `keep` keeps it. Raises ApiError."""
    rows = {"disks": aggregated(requests, project, "disks"), "snapshots": in_project(requests, project, "snapshots")}
    return {
        type_: {path(row["selfLink"]): made(row, keep) for row in rows[kind] if of_driver(row["name"], cluster)}
        for type_, kind in DRIVER_MADE.items()
    }
