"""Refusals of further disks by Compute Engine; columns as in refusals.py."""

from typing import Any

from tests.sandbox.scenes import Row

OWN: dict[str, Any] = {"name": "own", "zone": "europe-west1-b", "size": 20}
HYPER = OWN | {"type": "hyperdisk-balanced"}

DISKS: dict[str, Row] = {
    "speed of a persistent disk": (
        "Disk",
        OWN | {"type": "pd-ssd", "provisionedIops": 6000},
        "invalid",
        "cannot be set for disks of type pd-ssd",
    ),
    "more operations than the size has": ("Disk", HYPER | {"provisionedIops": 10001}, "invalid", "at most 500"),
    "too few operations": ("Disk", HYPER | {"provisionedIops": 2999}, "invalid", "from 3000"),
    "more throughput than the operations carry": (
        "Disk",
        HYPER | {"provisionedIops": 4000, "provisionedThroughput": 1001},
        "invalid",
        "from IOPS / 256 to IOPS / 4",
    ),
    "disk of another zone": ("machine", {"attachedDisks": [{"source": "$far-disk"}]}, "invalid", "in the zone"),
    "hyperdisk at a series without": (
        "machine",
        {"attachedDisks": [{"source": "$hyper-disk"}]},
        "badRequest",
        "[hyperdisk-balanced] features",
    ),
    "no such disk": ("machine", {"attachedDisks": [{"source": "no"}]}, "notFound", "disks/no' was not found"),
}
