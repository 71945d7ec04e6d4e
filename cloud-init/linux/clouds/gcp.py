"""Google Cloud: the metadata server, Cloud Storage, Secret Manager, Compute Engine."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import loader

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"gce://[^/]+/([a-z0-9-]+/[a-z0-9-]+)")
LISTING: tuple[str, re.Pattern[str]] = ("/?list-type=2&prefix=", re.compile(r"<Key>([^<]+)</Key>"))
JSON = "application/json"


def metadata(path: str) -> str:
    """Return a value of the metadata server."""
    return loader.metadata(f"/computeMetadata/v1/{path}", {"Metadata-Flavor": "Google"})


def instance() -> str:
    """Return the instance id, in decimal digits."""
    return metadata("instance/id")


def provider_id() -> str:
    """Return gce://PROJECT/ZONE/NAME."""
    zone = metadata("instance/zone").rpartition("/")[2]
    return f"gce://{metadata('project/project-id')}/{zone}/{metadata('instance/name')}"


def secret(run: Run, name: str) -> str:
    """Return the newest version."""
    said = json.loads(run.ask("secrets", f"{_place(run, name)}/versions/latest:access"))
    return base64.b64decode(said["payload"]["data"]).decode()


def put_secret(run: Run, name: str, text: str) -> None:
    """Store a new version and destroy the previous one, because the service keeps all versions."""
    body = json.dumps({"payload": {"data": base64.b64encode(text.encode()).decode()}}).encode()
    made = json.loads(run.ask("secrets", f"{_place(run, name)}:addVersion", "POST", body, content_type=JSON))
    before = int(made["name"].rpartition("/")[2]) - 1
    if before:
        run.ask("secrets", f"{_place(run, name)}/versions/{before}:destroy", "POST", b"{}", content_type=JSON)


def _place(run: Run, name: str) -> str:
    return f"{run.value('facts.secret_service')}/secrets/{name}"


def gone(run: Run, machine: str) -> bool:
    """Return whether no zone lists the machine. Stopped machines are listed (TERMINATED) and may start again."""
    place, _, name = machine.rpartition("/")
    wanted = f'name = "{name}"' if place else f"id = {machine}"
    return not any(not place or zone == f"zones/{place}" for zone, _ in _listed(run, wanted))


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return ids of the instances with the planned names and addresses; names begin with the cluster's name."""
    found: dict[str, str] = {}
    prefix = f"{run.value('facts.cluster')}-"
    for _, instance in _listed(run):
        name = instance["name"].removeprefix(prefix)
        has = [interface.get("networkIP") for interface in instance.get("networkInterfaces") or ()]
        if instance["name"].startswith(prefix) and addresses.get(name) in has:
            found[name] = instance["id"]
    return found


def names(run: Run, machine: str) -> frozenset[str]:
    """Return no names: clusters on this cloud have no cloud controller, so kubelets ask for planned ones only."""
    return frozenset()


def _listed(run: Run, wanted: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield zone (zones/NAME) and instance of the project's instances that pass a filter; empty: all."""
    asked, page = f"{run.value('facts.compute_service')}/aggregated/instances", {"filter": wanted} if wanted else {}
    while True:
        said = json.loads(run.ask("compute", f"{asked}?{urlencode(page)}"))
        for zone, found in said["items"].items():
            yield from ((zone, each) for each in found.get("instances") or ())
        if not said.get("nextPageToken"):
            return
        page["pageToken"] = said["nextPageToken"]
