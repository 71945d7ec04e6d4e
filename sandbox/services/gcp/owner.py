"""Google Cloud's management APIs for the project's owner: what a reaper by labels lists and deletes.

All requests come to one address; the path names the service. Sources: REST references of Compute Engine v1, Cloud
Storage v1 (JSON), Cloud DNS v1, Secret Manager v1, IAM v1 and Resource Manager v1.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from sandbox.cloud import Refusal
from sandbox.cloud_state import CloudState
from sandbox.gcp import dns, iam, names, secrets, storage, workload_identity
from sandbox.gcp.cloud import GCP
from sandbox.gcp.firewalls import ACCOUNT
from sandbox.provider import Provider
from sandbox.records import Record
from sandbox.services.calls import Answer, Call, Refused, Target
from sandbox.services.credentials import owner_token
from sandbox.services.gcp.responses import answer

KINDS: Mapping[str, str] = {
    "networks": names.NETWORK,
    "firewalls": names.FIREWALL,
    "routes": names.ROUTE,
    "subnetworks": names.SUBNETWORK,
    "routers": names.ROUTER,
    "addresses": names.ADDRESS,
    "forwardingRules": names.FORWARDING,
    "backendServices": names.BACKEND,
    "healthChecks": names.CHECK,
    "instances": names.INSTANCE,
    "instanceGroups": names.GROUP,
    "disks": names.DISK,
    "snapshots": names.SNAPSHOT,
}
"""Types by collection of Compute Engine."""
STATUS = {"notFound": 404, "conflict": 409, "conditionNotMet": 412, "UNAUTHENTICATED": 401}
_DNS = r"/dns/v1/(projects/[^/]+/managedZones"


@dataclass(frozen=True)
class GcpOwner:
    """The management APIs of one cloud state. lifetime: unused, because an owner's token does not expire."""

    cloud_state: CloudState
    lifetime: int = 0

    def target(self, call: Call) -> Target:
        """Return the only target."""
        return Target("management")

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, None]:
        """Check the owner's token. Raises Refused."""
        if call.headers.get("authorization") != f"Bearer {owner_token(self.cloud_state)}":
            raise Refused("UNAUTHENTICATED", "Request had invalid authentication credentials.")
        return "owner", None

    def serve(self, call: Call, to: Target, caller: None, now: float) -> Answer:
        """Return the answer to a call. Raises Refused."""
        for method, pattern, function in ROUTES:
            found = re.fullmatch(pattern, call.path)
            if found and call.method == method:
                return answer(function(self, call, *map(unquote, found.groups())))
        raise Refused("notFound", f"the sandbox does not support {call.method} {call.path}")

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the format of Compute Engine and Cloud Storage."""
        status = STATUS.get(refused.why, 400)
        reason = {"reason": refused.why, "message": refused.message, "domain": "global"}
        return answer({"error": {"code": status, "message": refused.message, "errors": [reason]}}, status), refused.why

    def aggregated(self, call: Call, kind: str) -> dict[str, Any]:
        """List a collection of all regions and zones."""
        scopes: dict[str, dict[str, Any]] = {}
        for one in self.cloud_state.resources(KINDS[kind]):
            scope = "/".join(one.id.split("/")[2:4])
            scopes.setdefault(scope, {kind: []})[kind].append(_row(one))
        return {"items": scopes}

    def everywhere(self, call: Call, project: str, kind: str) -> dict[str, Any]:
        """List a project's collection without regions."""
        found = self.cloud_state.resources(KINDS[kind])
        return {"items": [_row(one) for one in found if one.id.startswith(f"projects/{project}/")]}

    def delete_compute(self, call: Call, path: str) -> dict[str, Any]:
        """Delete a resource of Compute Engine."""
        self._delete(self._get(KINDS[path.split("/")[-2]], path))
        return {"kind": "compute#operation", "status": "RUNNING"}

    def buckets(self, call: Call) -> dict[str, Any]:
        """List the buckets."""
        found = self.cloud_state.resources(storage.BUCKET)
        return {"items": [{"name": one.id, "labels": one.tags, "timeCreated": one.created} for one in found]}

    def objects(self, call: Call, bucket: str) -> dict[str, Any]:
        """List all generations of all objects."""
        statement = "SELECT key, version FROM objects WHERE bucket = ? ORDER BY version"
        rows = self.cloud_state.connection.execute(statement, (self._get(storage.BUCKET, bucket).id,)).fetchall()
        return {"items": [{"name": key, "generation": str(version)} for key, version in rows]}

    def delete_object(self, call: Call, bucket: str, key: str) -> dict[str, Any]:
        """Delete one generation of an object."""
        generation = int(dict(parse_qsl(call.query))["generation"])
        with self.cloud_state.transaction():
            statement = "DELETE FROM objects WHERE bucket = ? AND key = ? AND version = ?"
            gone = self.cloud_state.connection.execute(statement, (bucket, key, generation)).rowcount
        if not gone:
            raise Refused("notFound", f"No such object: {bucket}/{key}")
        return {}

    def delete_bucket(self, call: Call, bucket: str) -> dict[str, Any]:
        """Delete an empty bucket."""
        self._delete(self._get(storage.BUCKET, bucket))
        return {}

    def zones(self, call: Call) -> dict[str, Any]:
        """List the managed zones."""
        return {"managedZones": [_zone(one) for one in self.cloud_state.resources(dns.ZONE)]}

    def zone(self, call: Call, path: str) -> dict[str, Any]:
        """Return a managed zone."""
        return _zone(self._get(dns.ZONE, path))

    def records(self, call: Call, path: str) -> dict[str, Any]:
        """List a zone's records, with the two that every zone has."""
        zone = self._get(dns.ZONE, path)
        own = [{"name": zone.inputs["dnsName"], "type": type} for type in ("NS", "SOA")]
        found = [one for one in self.cloud_state.resources(dns.RECORD) if one.id.startswith(f"{zone.id}/")]
        return {"rrsets": [*own, *({"name": one.inputs["name"], "type": one.inputs["type"]} for one in found)]}

    def delete_zone(self, call: Call, path: str) -> dict[str, Any]:
        """Delete a zone without records."""
        self._delete(self._get(dns.ZONE, path))
        return {}

    def delete_record(self, call: Call, path: str) -> dict[str, Any]:
        """Delete a record set."""
        self._delete(self._get(dns.RECORD, path))
        return {}

    def secrets(self, call: Call) -> dict[str, Any]:
        """List the secrets that pass the filter: those with a label."""
        label = dict(parse_qsl(call.query)).get("filter", "").removeprefix("labels.").removesuffix(":*")
        found = [one for one in self.cloud_state.resources(secrets.SECRET) if label in one.tags]
        return {
            "secrets": [{"name": one.outputs["name"], "labels": one.tags, "createTime": one.created} for one in found]
        }

    def delete_named(self, call: Call, path: str) -> dict[str, Any]:
        """Delete a secret, a service account, or a custom role with its grants."""
        type = {"secrets": secrets.SECRET, "serviceAccounts": ACCOUNT, "roles": iam.ROLE}[path.split("/")[2]]
        self._delete(self._get(type, path))
        return {}

    def accounts(self, call: Call) -> dict[str, Any]:
        """List the service accounts."""
        found = self.cloud_state.resources(ACCOUNT)
        return {
            "accounts": [{"email": one.outputs["email"], "displayName": one.inputs.get("displayName")} for one in found]
        }

    def roles(self, call: Call) -> dict[str, Any]:
        """List the custom roles."""
        found = self.cloud_state.resources(iam.ROLE)
        return {"roles": [{"name": one.outputs["name"], "title": one.inputs.get("title")} for one in found]}

    def pools(self, call: Call) -> dict[str, Any]:
        """List the workload identity pools."""
        found = self.cloud_state.resources(workload_identity.POOL)
        shown = ("name", "description", "state")
        return {"workloadIdentityPools": [{name: one.outputs.get(name) for name in shown} for one in found]}

    def delete_pool(self, call: Call, id: str) -> dict[str, Any]:
        """Delete a workload identity pool with its providers."""
        pools = self.cloud_state.resources(workload_identity.POOL)
        name = next((one.id for one in pools if one.inputs["workloadIdentityPoolId"] == id), id)
        self._delete(self._get(workload_identity.POOL, name))
        return {}

    def policy(self, call: Call) -> dict[str, Any]:
        """Return the project's policy: a binding for each grant."""
        found = self.cloud_state.resources(iam.PROJECT_MEMBER)
        bindings = [{"role": one.inputs["role"], "members": [one.inputs["member"]]} for one in found]
        return {"version": 3, "etag": f"etag-{self._grants()}", "bindings": bindings}

    def set_policy(self, call: Call) -> dict[str, Any]:
        """Replace the project's policy; grants that it lacks end. Raises Refused if another change came first."""
        given = json.loads(call.body)["policy"]
        if given["etag"] != f"etag-{self._grants()}":
            raise Refused("ABORTED", "There were concurrent policy changes.")
        kept = {(each["role"], member) for each in given["bindings"] for member in each["members"]}
        for one in self.cloud_state.resources(iam.PROJECT_MEMBER):
            if (one.inputs["role"], one.inputs["member"]) not in kept:
                self._delete(one)
        return given

    def _grants(self) -> str:
        return "-".join(str(one.sequence) for one in self.cloud_state.resources(iam.PROJECT_MEMBER))

    def _get(self, type: str, id: str) -> Record:
        found = self.cloud_state.find(type, id)
        if found is None:
            raise Refused("notFound", f"The resource '{id}' was not found")
        return found

    def _delete(self, record: Record) -> None:
        given = {name: value for name, value in record.outputs.items() if name != "forceDestroy"}
        try:
            Provider(GCP, self.cloud_state).delete(record.urn, record.id, given)
        except Refusal as refusal:
            raise Refused(refusal.code, re.sub(r"^googleapi: Error \d+: ", "", refusal.message)) from None


def _row(one: Record) -> dict[str, Any]:
    """Return a resource of Compute Engine: the provider's properties that the API has under the same names."""
    row = {name: one.outputs[name] for name in _SAME if one.outputs.get(name)}
    link = f"{names.COMPUTE}{one.id}"
    interfaces = [{"network": _network(each)} for each in one.outputs.get("networkInterfaces") or []]
    return {**row, "selfLink": link, "labels": one.tags, "creationTimestamp": one.created} | (
        {"networkInterfaces": interfaces} if interfaces else {}
    )


_SAME = ("name", "description", "network", "targetTags", "backends")


def _network(interface: Mapping[str, Any]) -> str:
    return str(interface.get("network") or "")


def _zone(one: Record) -> dict[str, Any]:
    name, created = one.inputs["name"], one.created
    return {"name": name, "dnsName": one.inputs["dnsName"], "labels": one.tags, "creationTime": created}


ROUTES: tuple[tuple[str, str, Callable[..., dict[str, Any]]], ...] = (
    ("GET", r"/compute/v1/projects/[^/]+/aggregated/(\w+)", GcpOwner.aggregated),
    ("GET", r"/compute/v1/projects/([^/]+)/global/(\w+)", GcpOwner.everywhere),
    ("DELETE", r"/compute/v1/(projects/.+)", GcpOwner.delete_compute),
    ("GET", r"/storage/v1/b", GcpOwner.buckets),
    ("GET", r"/storage/v1/b/([^/]+)/o", GcpOwner.objects),
    ("DELETE", r"/storage/v1/b/([^/]+)/o/([^/]+)", GcpOwner.delete_object),
    ("DELETE", r"/storage/v1/b/([^/]+)", GcpOwner.delete_bucket),
    ("GET", r"/dns/v1/projects/[^/]+/managedZones", GcpOwner.zones),
    ("GET", rf"{_DNS}/[^/]+)", GcpOwner.zone),
    ("GET", rf"{_DNS}/[^/]+)/rrsets", GcpOwner.records),
    ("DELETE", rf"{_DNS}/[^/]+/rrsets/[^/]+/\w+)", GcpOwner.delete_record),
    ("DELETE", rf"{_DNS}/[^/]+)", GcpOwner.delete_zone),
    ("GET", r"/v1/projects/[^/]+/secrets", GcpOwner.secrets),
    ("GET", r"/v1/projects/[^/]+/serviceAccounts", GcpOwner.accounts),
    ("GET", r"/v1/projects/[^/]+/roles", GcpOwner.roles),
    ("DELETE", r"/v1/(projects/[^/]+/(?:secrets|serviceAccounts|roles)/[^/]+)", GcpOwner.delete_named),
    ("GET", r"/v1/projects/[^/]+/locations/global/workloadIdentityPools", GcpOwner.pools),
    ("DELETE", r"/v1/projects/[^/]+/locations/global/workloadIdentityPools/([^/]+)", GcpOwner.delete_pool),
    ("POST", r"/v1/projects/[^/]+:getIamPolicy", GcpOwner.policy),
    ("POST", r"/v1/projects/[^/]+:setIamPolicy", GcpOwner.set_policy),
)
"""Method, path and function of each call."""
