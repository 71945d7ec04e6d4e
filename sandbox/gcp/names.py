"""Naming on GCP: ids, URLs, and messages of the APIs about names."""

import re
from collections.abc import Callable

from sandbox.cloud import AutoName, Reference, Refusal, Request, Unique

COMPUTE = "https://www.googleapis.com/compute/v1/"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
FIREWALL, ROUTE = "gcp:compute/firewall:Firewall", "gcp:compute/route:Route"
ROUTER, NAT = "gcp:compute/router:Router", "gcp:compute/routerNat:RouterNat"
ADDRESS, INSTANCE = "gcp:compute/address:Address", "gcp:compute/instance:Instance"
GROUP, FORWARDING = "gcp:compute/instanceGroup:InstanceGroup", "gcp:compute/forwardingRule:ForwardingRule"
MEMBERSHIP = "gcp:compute/instanceGroupMembership:InstanceGroupMembership"
BACKEND = "gcp:compute/regionBackendService:RegionBackendService"
CHECK = "gcp:compute/regionHealthCheck:RegionHealthCheck"
DISK, SNAPSHOT = "gcp:compute/disk:Disk", "gcp:compute/snapshot:Snapshot"

GLOBAL, REGIONAL, ZONAL = (
    "projects/{account}/global/",
    "projects/{account}/regions/{region}/",
    "projects/{account}/zones/",
)
PATHS = {
    NETWORK: GLOBAL + "networks/",
    FIREWALL: GLOBAL + "firewalls/",
    ROUTE: GLOBAL + "routes/",
    SUBNETWORK: REGIONAL + "subnetworks/",
    ROUTER: REGIONAL + "routers/",
    ADDRESS: REGIONAL + "addresses/",
    FORWARDING: REGIONAL + "forwardingRules/",
    BACKEND: REGIONAL + "backendServices/",
    CHECK: REGIONAL + "healthChecks/",
    INSTANCE: ZONAL + "{in_.zone}/instances/",
    GROUP: ZONAL + "{in_.zone}/instanceGroups/",
    DISK: ZONAL + "{in_.zone}/disks/",
    SNAPSHOT: GLOBAL + "snapshots/",
}
"""Collection of a type's resources; a resource's name follows it."""

NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
NAME_RULE = "1 to 63 lower-case letters, digits and hyphens, a letter first and no hyphen last (RFC 1035)"
NAMED = {"name": (NAME, NAME_RULE)}
AUTO_NAME = AutoName(limit=63, lower=True)
IN_USE = "resourceInUseByAnotherResource"


def id_of(type: str) -> str:
    """Return the template of a type's ids."""
    return PATHS[type] + "{in_.name}"


def bare(value: str) -> str:
    """Return the id in a URL of the Compute API, or the value itself."""
    return re.sub(r"^https?://(www\.|compute\.)googleapis\.com/compute/v1/", "", value)


def points_to(type: str, path: str, holds: str = "refuse", only: str = "") -> Reference:
    """Return a reference in any form that the API accepts: id, URL, or name."""

    def id(request: Request, value: str) -> str:
        known = bare(value)
        if "/" not in known:
            return request.format(PATHS[type]) + known
        return known if known.startswith("projects/") else f"projects/{request.account}/{known}"

    return Reference(path, type, "notFound", "googleapi: Error 404: The resource '{id}' was not found", holds, only, id)


def own_name(type: str) -> Unique:
    """Return the claim of an id: no two resources of a type share one."""
    return Unique(
        type, ("name",), "alreadyExists", f"googleapi: Error 409: The resource '{id_of(type)}' already exists"
    )


def in_use(kind: str) -> tuple[str, str]:
    """Return the refusal to delete a resource in use. kind: the API's word for it."""
    return IN_USE, f"googleapi: Error 400: The {kind} resource '{{id}}' is already being used by '{{holder}}'"


def invalid(field: str, value: object, why: str) -> Refusal:
    """Return the Compute API's refusal of a field's value."""
    return Refusal("invalid", f"googleapi: Error 400: Invalid value for field 'resource.{field}': '{value}'. {why}")


def link(type: str) -> str:
    """Return the template of a type's URLs."""
    return COMPUTE + id_of(type)


def full_link(*names: str, type: str) -> Callable[[Request], dict[str, str]]:
    """Return a function that adds properties which the provider returns as URLs, whatever form the program wrote."""

    def derive(request: Request) -> dict[str, str]:
        return {name: COMPUTE + points_to(type, name).ids(request)[0] for name in names if request.inputs.get(name)}

    return derive


def refuse_missing(request: Request) -> None:
    """Refuse to delete what no longer exists. The provider returns this error for some types (gone_rules)."""
    raise Refusal("notFound", f"googleapi: Error 404: The resource '{request.id}' was not found, notFound")
