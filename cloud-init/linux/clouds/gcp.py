"""Google Cloud: the metadata server, Cloud Storage, Secret Manager, Compute Engine."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import identity_tokens
import loader
import objects

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"gce://[^/]+/([a-z0-9-]+/[a-z0-9-]+)")
PLACE = re.compile(r"[a-z]+-[a-z]+\d+(-[a-z0-9]+)?")
"""Name of a region, or of a zone: europe-west1-b."""
NOTHING = "NO_RESULTS_ON_PAGE"
"""Warning of a zone without instances that were asked for."""
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


_newest: dict[str, int] = {}
"""Number of the newest version that this process has read or made, by URL of the secret."""


def secret(run: Run, name: str) -> str:
    """Return the newest version, and none that is older than what this process has read or made.

    `latest` may name an earlier version for minutes or hours; a read by number may not (Secret Manager, "Resource
    consistency").
    """
    place = _place(run, name)
    known, said = _newest.get(place, 0), None
    try:
        said = _version(run, place, "latest")
    except HTTPError:
        if not known:
            raise
    if said is None or _number(said) < known:
        try:
            said = _version(run, place, str(known))
        except HTTPError as error:
            if said is None or error.code != HTTPStatus.NOT_FOUND:  # the secret was deleted and made again
                raise
    _newest[place] = _number(said)
    return base64.b64decode(said["payload"]["data"]).decode()


def _version(run: Run, place: str, version: str) -> dict[str, Any]:
    return json.loads(run.ask("secrets", f"{place}/versions/{version}:access"))


def _number(version: dict[str, Any]) -> int:
    return int(version["name"].rpartition("/")[2])


def put_secret(run: Run, name: str, text: str) -> None:
    """Store a new version and destroy the one before the previous, because the service keeps all versions.

    Others may still read the previous one as `latest`.
    """
    place, body = _place(run, name), json.dumps({"payload": {"data": base64.b64encode(text.encode()).decode()}})
    made = _number(json.loads(run.ask("secrets", f"{place}:addVersion", "POST", body.encode(), content_type=JSON)))
    _newest[place] = made
    if made > 2:
        try:
            run.ask("secrets", f"{place}/versions/{made - 2}:destroy", "POST", b"{}", content_type=JSON)
        except HTTPError as error:
            if "FAILED_PRECONDITION" not in str(error):  # that it is destroyed already
                raise


def _place(run: Run, name: str) -> str:
    return f"{run.value('facts.secret_service')}/secrets/{name}"


def put_large(run: Run, url: str, content: memoryview, **condition: Any) -> None:
    """Upload in one request, which may have 5 TiB (Cloud Storage, "Quotas and limits", objects)."""
    run.ask("store", url, "PUT", content, content_type=objects.KIND, **condition)


def gone(run: Run, machine: str) -> bool:
    """Return whether Compute Engine does not have the machine. It has stopped ones (TERMINATED), which may start again.

    machine: ZONE/NAME, or an id, which no zone of this region must list.
    """
    zone, _, name = machine.rpartition("/")
    if not zone:
        return not any(_listed(run, f"id = {machine}"))
    try:
        run.ask("compute", f"{run.value('facts.compute_service')}/zones/{zone}/instances/{name}")
    except HTTPError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return True
    return False


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return ids of the instances with the planned names and addresses in this machine's network.

    Names are unique in a zone and addresses in a network: whoever may create instances in the project can give one the
    name of a machine in another zone, and its address in a network of their own.
    """
    found: dict[str, str] = {}
    prefix, own = f"{run.value('facts.cluster')}-", instance()
    listed = list(_listed(run))
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


def _listed(run: Run, wanted: str = "") -> Iterator[dict[str, Any]]:
    """Yield the project's instances that pass a filter; empty: all.

    Raise LookupError if a zone of this region does not answer. Those of other regions need not: a cluster is in one.
    """
    region = run.value("facts.region")
    asked = f"{run.value('facts.compute_service')}/aggregated/instances"
    page = {"returnPartialSuccess": "true", **({"filter": wanted} if wanted else {})}
    while True:
        said = json.loads(run.ask("compute", f"{asked}?{urlencode(page)}"))
        for found in said["items"].values():
            yield from found.get("instances") or ()
        if here := [each for each in _silent(said) if not _elsewhere(each, region)]:
            raise LookupError(f"no list of instances of {', '.join(here)}")
        if not said.get("nextPageToken"):
            return
        page["pageToken"] = said["nextPageToken"]


def disk(run: Run, name: str) -> list[str]:
    """Return the link by the attached disk's device name (Compute Engine, "Symlinks for disks attached to your VM")."""
    return [f"/dev/disk/by-id/google-{name}"]


def _silent(said: dict[str, Any]) -> list[str]:
    """Return the zones that a list lacks because they do not answer; `a zone` if it does not say which.

    Source: Compute Engine API, instances.aggregatedList: returnPartialSuccess, unreachables, warning.code.
    """
    warned = [scope for scope, found in said["items"].items() if _warning(found) != NOTHING]
    found = {each.rpartition("/")[2] for each in (*warned, *(said.get("unreachables") or ()))}
    return sorted(found) or ["a zone"] * (_warning(said) != NOTHING)


def _warning(answer: dict[str, Any]) -> str:
    return (answer.get("warning") or {}).get("code") or NOTHING


def _elsewhere(place: str, region: str) -> bool:
    """Return whether a place is another region, or a zone of another one."""
    return bool(PLACE.fullmatch(place)) and not f"{place}-".startswith(f"{region}-")
