"""Compute Engine: the list of a project's instances in all zones. Source: Compute Engine API reference, v1."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from sandbox.cloud_state import CloudState
from sandbox.gcp.rights import refused as not_allowed
from sandbox.records import Record
from sandbox.services.calls import Answer, Call, Refused
from sandbox.services.gcp import machine as machines
from sandbox.services.gcp.machine import INSTANCE
from sandbox.services.gcp.responses import answer, refusal

__all__ = ["Compute", "refusal"]

_PLACE = re.compile(r"/compute/v1/projects/(?P<project>[^/]+)/aggregated/instances")
_FILTER = re.compile(r'(?P<field>[a-z]+)\s*=\s*(?P<quote>"?)(?P<value>[\w-]+)(?P=quote)')
ASKED = {"filter", "maxResults", "pageToken", "returnPartialSuccess", "includeAllScopes", "orderBy"}
FILTERS: Mapping[str, Callable[[Record], str]] = {
    "id": lambda one: str(one.outputs["instanceId"]),
    "name": lambda one: one.outputs["name"],
}
API = "https://www.googleapis.com/compute/v1"


@dataclass(frozen=True)
class Compute:
    """The instances of one cloud state, as seen by one member."""

    cloud_state: CloudState
    member: str

    def answer(self, call: Call) -> Answer:
        """Answer a call: one page of zones."""
        place = _PLACE.fullmatch(call.path)
        if not place or call.method != "GET":
            raise Refused("NOT_FOUND", f"the sandbox does not support {call.method} {call.path}")
        query = dict(parse_qsl(call.query, keep_blank_values=True))
        if set(query) - ASKED - {"alt", "$alt"}:
            raise Refused("INVALID_ARGUMENT", f"Unknown name: {', '.join(sorted(set(query) - ASKED))}")
        project = place["project"]
        why = not_allowed(self.cloud_state, self.member, "compute.instances.list", f"projects/{project}")
        if why:
            raise Refused("denied", f"Required 'compute.instances.list' permission for 'projects/{project}': {why}")
        found = [one for one in self.cloud_state.resources(INSTANCE) if one.outputs["project"] == project]
        return answer(_page(project, [one for one in found if _passes(one, query.get("filter", ""))], found, query))


def _page(project: str, found: list[Record], all: list[Record], query: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of zones with their instances; an empty zone carries a warning, as on Compute Engine."""
    start, most = int(query.get("pageToken") or 0), int(query.get("maxResults") or 500)
    here = found[start : start + most]
    items: dict[str, Any] = {}
    for zone in sorted({machines.zone(one) for one in all}):
        listed = [_instance(project, one) for one in here if machines.zone(one) == zone]
        none = {"code": "NO_RESULTS_ON_PAGE", "message": f"There are no results for scope 'zones/{zone}' on this page."}
        items[f"zones/{zone}"] = {"instances": listed} if listed else {"warning": none}
    more = {"nextPageToken": str(start + most)} if start + most < len(found) else {}
    place = f"projects/{project}/aggregated/instances"
    return {"kind": "compute#instanceAggregatedList", "id": place, "items": items, **more, "selfLink": f"{API}/{place}"}


def _instance(project: str, one: Record) -> dict[str, Any]:
    zone = f"{API}/projects/{project}/zones/{machines.zone(one)}"
    return {
        "kind": "compute#instance",
        "id": str(one.outputs["instanceId"]),
        "creationTimestamp": one.created,
        "name": one.outputs["name"],
        "status": "RUNNING",
        "networkInterfaces": [_interface(each) for each in one.outputs["networkInterfaces"]],
        "zone": zone,
        "selfLink": f"{zone}/instances/{one.outputs['name']}",
    }


def _interface(face: Mapping[str, Any]) -> dict[str, Any]:
    return {"networkIP": face["networkIp"], **{each: face[each] for each in ("network", "subnetwork") if each in face}}


def _passes(one: Record, text: str) -> bool:
    """Return whether an instance passes a filter: FIELD = VALUE."""
    if not text:
        return True
    found = _FILTER.fullmatch(text.strip())
    if not found or found["field"] not in FILTERS:
        raise Refused(
            "INVALID_ARGUMENT", f"Invalid value for field 'filter': '{text}'. Invalid list filter expression."
        )
    return FILTERS[found["field"]](one) == found["value"]
