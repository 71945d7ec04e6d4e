"""Compute Engine: the list of a project's instances in all zones, and one instance.

Source: Compute Engine API reference, v1: instances.aggregatedList, instances.get.
"""

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

_PROJECT = r"/compute/v1/projects/(?P<project>[^/]+)"
_LIST = re.compile(rf"{_PROJECT}/aggregated/instances")
_ONE = re.compile(rf"{_PROJECT}/zones/(?P<zone>[^/]+)/instances/(?P<name>[^/]+)")
_FILTER = re.compile(r'(?P<field>[a-z]+)\s*=\s*(?P<quote>"?)(?P<value>[\w-]+)(?P=quote)')
ASKED = {"filter", "maxResults", "pageToken", "returnPartialSuccess", "includeAllScopes", "orderBy"}
FILTERS: Mapping[str, Callable[[Record], str]] = {
    "id": lambda one: str(one.outputs["instanceId"]),
    "name": lambda one: one.outputs["name"],
}
API = "https://www.googleapis.com/compute/v1"
UNREACHABLE = "unreachable/"
"""Prefix of the settings of a cloud state that name zones which do not answer."""


@dataclass(frozen=True)
class Compute:
    """The instances of one cloud state, as seen by one member."""

    cloud_state: CloudState
    member: str

    def answer(self, call: Call) -> Answer:
        """Answer a call: one page of zones, or an instance."""
        for form, permission, answered in ((_LIST, "list", self._list), (_ONE, "get", self._one)):
            if (place := form.fullmatch(call.path)) and call.method == "GET":
                project = place["project"]
                right = f"compute.instances.{permission}"
                if why := not_allowed(self.cloud_state, self.member, right, f"projects/{project}"):
                    raise Refused("denied", f"Required '{right}' permission for 'projects/{project}': {why}")
                found = [one for one in self.cloud_state.resources(INSTANCE) if one.outputs["project"] == project]
                return answer(answered(place, found, dict(parse_qsl(call.query, keep_blank_values=True))))
        raise Refused("NOT_FOUND", f"the sandbox does not support {call.method} {call.path}")

    def _list(self, place: re.Match[str], all: list[Record], query: Mapping[str, str]) -> dict[str, Any]:
        """Return a page. A zone that does not answer fails the whole list, unless the caller takes a part of it."""
        if set(query) - ASKED - {"alt", "$alt"}:
            raise Refused("INVALID_ARGUMENT", f"Unknown name: {', '.join(sorted(set(query) - ASKED))}")
        silent = self._silent()
        if silent and query.get("returnPartialSuccess") != "true":
            raise Refused("unavailable", f"The zones {', '.join(silent)} are unreachable.")
        there = [one for one in all if machines.zone(one) not in silent]
        found = [one for one in there if _passes(one, query.get("filter", ""))]
        return _page(place["project"], found, there, query, silent)

    def _one(self, place: re.Match[str], all: list[Record], query: Mapping[str, str]) -> dict[str, Any]:
        """Return an instance by its name or id."""
        project, zone, name = place.groups()
        if zone in self._silent():
            raise Refused("unavailable", f"The zone {zone} is unreachable.")
        for one in all:
            if machines.zone(one) == zone and name in (one.outputs["name"], str(one.outputs["instanceId"])):
                return _instance(project, one)
        raise Refused("NOT_FOUND", f"The resource 'projects/{project}/zones/{zone}/instances/{name}' was not found")

    def _silent(self) -> list[str]:
        return [each.removeprefix(UNREACHABLE) for each in self.cloud_state.settings(UNREACHABLE)]


def _page(
    project: str, found: list[Record], there: list[Record], query: Mapping[str, str], silent: list[str]
) -> dict[str, Any]:
    """Return one page of zones with their instances; an empty zone carries a warning, as on Compute Engine.

    there: the instances of all zones that answer. silent: the other zones.
    """
    start, most = int(query.get("pageToken") or 0), int(query.get("maxResults") or 500)
    here = found[start : start + most]
    items: dict[str, Any] = {f"zones/{zone}": {"warning": _warning("UNREACHABLE", f"zones/{zone}")} for zone in silent}
    for zone in sorted({machines.zone(one) for one in there}):
        listed = [_instance(project, one) for one in here if machines.zone(one) == zone]
        none = {"warning": _warning("NO_RESULTS_ON_PAGE", f"zones/{zone}")}
        items[f"zones/{zone}"] = {"instances": listed} if listed else none
    more: dict[str, Any] = {"nextPageToken": str(start + most)} if start + most < len(found) else {}
    more |= {"unreachables": [f"projects/{project}/zones/{zone}" for zone in silent]} if silent else {}
    place = f"projects/{project}/aggregated/instances"
    return {"kind": "compute#instanceAggregatedList", "id": place, "items": items, **more, "selfLink": f"{API}/{place}"}


def _warning(code: str, scope: str) -> dict[str, str]:
    why = "is unreachable" if code == "UNREACHABLE" else "has no results on this page"
    return {"code": code, "message": f"The scope '{scope}' {why}."}


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
