"""Google Cloud: the metadata server, Cloud Storage, Secret Manager, Compute Engine."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import identity_tokens
import loader
import objects

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"gce://[^/]+/([a-z0-9-]+/[a-z0-9-]+)")
LISTING = objects.S3
JSON = "application/json"
KEYS = ("www.googleapis.com", "/oauth2/v3/certs")
"""Host and path of Google's public keys (accounts.google.com/.well-known/openid-configuration)."""


def metadata(path: str) -> str:
    """Return a value of the metadata server."""
    return loader.metadata(f"/computeMetadata/v1/{path}", {"Metadata-Flavor": "Google"})


def instance() -> str:
    """Return the instance id, in decimal digits."""
    return metadata("instance/id")


def audience(number: str) -> str:
    """Return the audience of the identity token with which a machine announces a number."""
    return f"urn:mullion:join:{number}"


def proof(run: Run, number: str) -> dict[str, str]:
    """Return the machine's identity token for the number: machines of a pool may write each other's announcements."""
    query = urlencode({"audience": audience(number), "format": "full"})
    return {"identity": metadata(f"instance/service-accounts/default/identity?{query}")}


def disproof(run: Run, announced: dict[str, Any], instance: str) -> str:
    """Return why the announcement's identity token is not one of the machine for this number; empty if it is."""
    project = run.value("facts.compute_service").rpartition("/")[2]
    token = announced.get("identity")
    if not isinstance(token, str):
        return "it has no identity token"
    try:
        identity_tokens.read(_published, identity_tokens.keys_url(run, *KEYS), token)
        identity_tokens.of_google(token, _published, audience(f"{announced.get('number')}"), instance, project)
    except identity_tokens.Refused as refused:
        return f"{refused}"
    return ""


_published: identity_tokens.Keys = {}
"""Google's keys as they were last read."""


def interrupted() -> bool:
    """Return whether Compute Engine preempts this machine; it powers it off 30 seconds later ("Spot VMs")."""
    return metadata("instance/preempted") == "TRUE"


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


def put_large(run: Run, url: str, content: memoryview) -> None:
    """Upload in one request, which may have 5 TiB (Cloud Storage, "Quotas and limits", objects)."""
    run.ask("store", url, "PUT", content, content_type=objects.KIND)


def gone(run: Run, machine: str) -> bool:
    """Return whether no zone lists the machine. Stopped machines are listed (TERMINATED) and may start again."""
    place, _, name = machine.rpartition("/")
    wanted = f'name = "{name}"' if place else f"id = {machine}"
    return not any(not place or zone == f"zones/{place}" for zone, _ in _listed(run, wanted))


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return ids of the instances with the planned names and addresses in this machine's network.

    Names are unique in a zone and addresses in a network: whoever may create instances in the project can give one the
    name of a machine in another zone, and its address in a network of their own.
    """
    found: dict[str, str] = {}
    prefix, own = f"{run.value('facts.cluster')}-", instance()
    listed = [each for _, each in _listed(run)]
    network = next((face.get("network") for each in listed if each["id"] == own for face in _interfaces(each)), None)
    if network is None:
        raise LookupError(f"the list of instances lacks {own}, this machine, or its network")
    for each in listed:
        name = each["name"].removeprefix(prefix)
        has = [face.get("networkIP") for face in _interfaces(each) if face.get("network") == network]
        if each["name"].startswith(prefix) and addresses.get(name) in has:
            if name in found:  # no network allows it; so no one's certificates are revoked for it
                raise ValueError(f"{each['name']} with {addresses[name]} is two instances: {found[name]}, {each['id']}")
            found[name] = each["id"]
    return found


def _interfaces(listed: dict[str, Any]) -> list[dict[str, Any]]:
    return listed.get("networkInterfaces") or []


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
