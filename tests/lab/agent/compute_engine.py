"""Compute Engine for the real driver of persistent disks; tests/lab/agent/compute_server.py serves it on loopback.

It records each call, and refuses what Google's own description of the API does not have, and what the control plane's
roles do not allow under their conditions. What it answers are messages of google-cloud-compute. Operations are done
when somebody asks for them. Sources: discovery documents compute.v1 and compute.beta; for the rights "IAM permissions"
of each method in the REST reference of Compute Engine v1, and openshift/cluster-storage-operator#468 for actAs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from google.protobuf import json_format

from components.gcp.identity import ROLES as OF_MACHINES
from components.gcp.volumes import ROLES, condition
from sandbox.gcp.rights import holds
from tests.components.official_models import gcp_models
from tests.google_clients import compute_v1

PROJECT, REGION, ZONE = "example", "europe-west1", "europe-west1-b"
LINK = f"https://www.googleapis.com/compute/v1/projects/{PROJECT}"
MACHINES = ("dev-linux-0", "dev-2-linux-0")
"""Instances: a worker of the cluster dev, and one of another cluster whose name begins with the same word."""
STANDARD = frozenset({"alt", "fields", "prettyPrint"})
"""Parameters of all methods that change the form of an answer (Google APIs, "Standard query parameters")."""


class Refused(Exception):
    """A refusal. status: of HTTP."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


@dataclass(frozen=True)
class Request:
    """A request. method: its id in the discovery document (compute.disks.insert)."""

    api: str
    method: str
    place: Mapping[str, str]
    query: Mapping[str, str]
    body: dict[str, Any]


@lru_cache
def _methods(api: str) -> list[tuple[str, re.Pattern[str], str, dict[str, Any]]]:
    """Return HTTP method, pattern of the path, identity and description of all methods of an API."""
    document = json.loads((gcp_models.DOCUMENTS / f"{api}.json").read_text("utf-8"))
    found: list[tuple[str, re.Pattern[str], str, dict[str, Any]]] = []
    for name, collection in document["resources"].items():
        for verb, each in collection.get("methods", {}).items():
            path = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", each.get("flatPath", each["path"]))
            found.append((each["httpMethod"], re.compile(path), f"{api}/{name}.{verb}", each))
    return found


def understood(verb: str, url: str, body: dict[str, Any]) -> Request:
    """Return a request as Google describes it. Raises Refused if no method takes it."""
    split = urlsplit(url)
    version, _, path = split.path.removeprefix("/compute/").partition("/")
    query = {key: ",".join(values) for key, values in parse_qs(split.query).items() if key not in STANDARD}
    for method, pattern, identity, described in _methods(f"compute.{version}"):
        matched = pattern.fullmatch(path)
        if method != verb or not matched:
            continue
        place = {**matched.groupdict(), **query}
        faults = [f"{each}: no such parameter" for each in place.keys() - described["parameters"].keys()]
        if "request" in described:
            typed = {key: _typed(described["parameters"].get(key, {}), value) for key, value in place.items()}
            # the driver sends the kind of a disk that it attaches, which Google's API ignores
            faults = gcp_models.faults(identity, typed, {key: each for key, each in body.items() if key != "kind"})
        if faults:
            raise Refused(400, "invalid", "; ".join(faults))
        return Request(f"compute.{version}", described["id"], matched.groupdict(), query, body)
    raise Refused(404, "notFound", f"no method for {verb} {path}")


def _typed(described: Mapping[str, Any], value: str) -> Any:
    """Return a parameter of a URL as its description's type; text that is none stays, for the judge."""
    return value == "true" if described.get("type") == "boolean" and value in ("true", "false") else value


@dataclass
class ComputeEngine:
    """The API. cluster: whose control plane calls. roles: its permissions, which a test may take away."""

    cluster: str = "dev"
    roles: dict[str, set[str]] = field(default_factory=lambda: {key: set(each) for key, each in ROLES.items()})
    calls: list[Request] = field(default_factory=list[Request])
    refused: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    """Permissions that were asked for and given."""
    disks: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    snapshots: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    attached: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {each: {} for each in MACHINES})

    def called(self, method: str) -> list[Request]:
        return [each for each in self.calls if each.method == method]

    def answer(self, verb: str, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises Refused."""
        request = understood(verb, url, body)
        self.calls.append(request)
        for permission, name in self._asked(request):
            self._allow(permission, name)
        action = getattr(self, f"_{request.method.removeprefix('compute.').replace('.', '_')}", None)
        if action is None:
            raise Refused(501, "notImplemented", f"this test has no {request.method}")
        return action(request)

    def _allow(self, permission: str, name: str) -> None:
        resource = f"projects/{PROJECT}{name and '/' + name}"
        limited = condition(self.cluster, PROJECT, [ZONE])["expression"]
        allowed = (
            (permission in self.roles["volumes"] and holds(limited, resource))
            or permission in self.roles["volume_places"]
            or permission in OF_MACHINES["machines"]
            # the accounts of the cluster's own Linux workers
            or (permission in self.roles["attach"] and name == f"serviceAccounts/{self.cluster}-linux-0")
        )
        if not allowed:
            raise Refused(403, "forbidden", f"Required '{permission}' permission for '{resource}'")
        self.used.add(permission)

    def _asked(self, request: Request) -> Iterator[tuple[str, str]]:
        """Yield each permission that Compute Engine asks for, with the resource's name below the project."""
        place, body, kind = request.place, request.body, request.method.removeprefix("compute.")
        zone = f"zones/{place.get('zone')}"
        disk = f"{zone}/disks/{place.get('disk') or body.get('name')}"
        snapshot = f"global/snapshots/{place.get('snapshot') or body.get('name')}"
        machine = f"{zone}/instances/{place.get('instance')}"
        account = ("iam.serviceAccounts.actAs", f"serviceAccounts/{place.get('instance')}")
        rows: dict[str, list[tuple[str, str]]] = {
            "disks.insert": [("compute.disks.create", disk)],
            "disks.get": [("compute.disks.get", disk)],
            "disks.delete": [("compute.disks.delete", disk)],
            "disks.resize": [("compute.disks.resize", disk)],
            "disks.update": [("compute.disks.update", disk)],
            "disks.list": [("compute.disks.list", "")],
            "regionDisks.list": [("compute.disks.list", "")],
            "instances.get": [("compute.instances.get", machine)],
            "instances.attachDisk": [("compute.instances.attachDisk", machine), account],
            "instances.detachDisk": [("compute.instances.detachDisk", machine)],  # nobody has seen it ask for more
            "snapshots.insert": [("compute.snapshots.create", snapshot)],
            "snapshots.get": [("compute.snapshots.get", snapshot)],
            "snapshots.delete": [("compute.snapshots.delete", snapshot)],
            "zones.list": [("compute.zones.list", "")],
        }
        for each, scope in (("zoneOperations", zone), ("globalOperations", "global")):
            asked = [(f"compute.{each}.get", f"{scope}/operations/{place.get('operation')}")]
            rows |= {f"{each}.get": asked, f"{each}.wait": asked}
        if kind not in rows:
            raise Refused(403, "forbidden", f"the table of calls has no {kind}")
        yield from rows[kind]
        if body.get("labels"):
            yield (f"compute.{kind.partition('.')[0]}.setLabels", disk if kind.startswith("disks") else snapshot)
        if kind == "snapshots.insert":
            yield ("compute.disks.createSnapshot", _below(body["sourceDisk"]))
        if body.get("sourceSnapshot"):
            yield ("compute.snapshots.useReadOnly", _below(body["sourceSnapshot"]))
        if kind == "instances.attachDisk":
            read_only = body.get("mode") == "READ_ONLY"
            yield (f"compute.disks.use{'ReadOnly' if read_only else ''}", _below(body["source"]))

    def _operation(self, name: str, zone: str = ZONE) -> dict[str, Any]:
        return _message(compute_v1.Operation, {"name": name, "status": "RUNNING", "zone": f"{LINK}/zones/{zone}"})

    def _get(self, things: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
        if name not in things:
            raise Refused(404, "notFound", f"The resource '{name}' was not found")
        return things[name]

    def _disks_insert(self, request: Request) -> dict[str, Any]:
        name = request.body["name"]
        if name in self.disks:
            raise Refused(409, "alreadyExists", f"The resource '{name}' already exists")
        known = {key: value for key, value in request.body.items() if key != "params"}
        made = {**known, "status": "READY", "selfLink": f"{LINK}/zones/{request.place['zone']}/disks/{name}"}
        self.disks[name] = _message(compute_v1.Disk, {**made, "zone": f"{LINK}/zones/{request.place['zone']}"})
        return self._operation("insert")

    def _disks_get(self, request: Request) -> dict[str, Any]:
        return self._get(self.disks, request.place["disk"])

    def _disks_delete(self, request: Request) -> dict[str, Any]:
        if self._get(self.disks, request.place["disk"]).get("users"):
            raise Refused(400, "resourceInUseByAnotherResource", "The disk is already being used")
        del self.disks[request.place["disk"]]
        return self._operation("delete")

    def _disks_resize(self, request: Request) -> dict[str, Any]:
        self._get(self.disks, request.place["disk"])["sizeGb"] = request.body["sizeGb"]
        return self._operation("resize")

    def _disks_update(self, request: Request) -> dict[str, Any]:
        disk, paths = self._get(self.disks, request.place["disk"]), request.query["paths"].split(",")
        disk |= {key: value for key, value in request.body.items() if key in paths}
        return self._operation("update")

    def _disks_list(self, request: Request) -> dict[str, Any]:
        return {"items": [*self.disks.values()]}

    def _regionDisks_list(self, request: Request) -> dict[str, Any]:
        return {"items": []}

    def _zones_list(self, request: Request) -> dict[str, Any]:
        return {"items": [_message(compute_v1.Zone, {"name": ZONE, "region": f"{LINK}/regions/{REGION}"})]}

    def _instances_get(self, request: Request) -> dict[str, Any]:
        name = request.place["instance"]
        disks = [*self._get(self.attached, name).values()]
        machine_type = f"{LINK}/zones/{ZONE}/machineTypes/n2-standard-4"
        return _message(compute_v1.Instance, {"name": name, "disks": disks, "machineType": machine_type})

    def _instances_attachDisk(self, request: Request) -> dict[str, Any]:
        name, instance = _below(request.body["source"]).rpartition("/")[2], request.place["instance"]
        self._get(self.disks, name)["users"] = [f"{LINK}/zones/{ZONE}/instances/{instance}"]
        kept = {key: value for key, value in request.body.items() if key != "forceAttach"}
        self.attached[instance][request.body["deviceName"]] = kept
        return self._operation("attach")

    def _instances_detachDisk(self, request: Request) -> dict[str, Any]:
        gone = self.attached[request.place["instance"]].pop(request.query["deviceName"])
        self.disks[gone["source"].rpartition("/")[2]].pop("users")
        return self._operation("detach")

    def _snapshots_insert(self, request: Request) -> dict[str, Any]:
        name = request.body["name"]
        size = self._get(self.disks, request.body["sourceDisk"].rpartition("/")[2])["sizeGb"]
        made = {**request.body, "status": "READY", "diskSizeGb": size, "creationTimestamp": "2026-01-01T00:00:00Z"}
        made |= {"selfLink": f"{LINK}/global/snapshots/{name}", "sourceDisk": f"{LINK}/{_below(made['sourceDisk'])}"}
        self.snapshots[name] = _message(compute_v1.Snapshot, made)
        return self._operation("snapshot")

    def _snapshots_get(self, request: Request) -> dict[str, Any]:
        return self._get(self.snapshots, request.place["snapshot"])

    def _snapshots_delete(self, request: Request) -> dict[str, Any]:
        del self.snapshots[self._get(self.snapshots, request.place["snapshot"])["name"]]
        return self._operation("delete")

    def _zoneOperations_wait(self, request: Request) -> dict[str, Any]:
        return {**self._operation(request.place["operation"]), "status": "DONE"}

    # the driver waited by `get` up to its release 1.20
    _globalOperations_wait = _globalOperations_get = _zoneOperations_get = _zoneOperations_wait


def _below(link: str) -> str:
    """Return what follows the project in a resource's URL or path."""
    return re.sub(rf"^.*projects/{PROJECT}/", "", link)


def _message(kind: Any, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body after the client's message has taken it."""
    json_format.ParseDict(body, kind.pb(kind()), ignore_unknown_fields=False)
    return body
