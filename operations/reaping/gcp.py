"""Google Cloud: resources with a cluster's labels, and those that cannot have labels.

Values that only Mullion writes identify these: a network by name and description, with everything in it; load
balancers' parts by their description; service accounts and roles by the cluster's six random letters, which are in the
names of its labelled secrets. So secrets and buckets are deleted last. Sources: REST references of Compute Engine v1,
Cloud Storage v1, Cloud DNS v1, Secret Manager v1, IAM v1 and Resource Manager v1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from components.naming import KEEP_TAG, PODS, POOL_OF
from operations.clouds import google_lists
from operations.clouds.api import ApiError
from operations.clouds.bearer import Requests
from operations.reaping import gcp_deletion
from operations.reaping.gcp_deletion import DNS, IAM, PROJECTS, RANKS, SECRETS, STORAGE
from operations.reaping.things import Thing, tagged_fields

MARK, CLUSTER = "mullion_", "mullion_cluster"
GLOBAL = "global"
"""Region of resources that have none."""
Row = dict[str, Any]


@dataclass
class _Known:
    """What the labelled resources say about one cluster. suffixes: its six letters."""

    name: str
    suffixes: set[str] = field(default_factory=set)
    networks: set[str] = field(default_factory=set)
    born: datetime | None = None
    """Creation of the oldest labelled resource; the secrets are the last ones to be deleted."""

    def signed(self, text: str, separator: str = "-") -> bool:
        """Return whether a name ends in the cluster's letters."""
        return any(text.endswith(f"{separator}{each}") for each in self.suffixes)


class Gcp:
    """A project. regions: those whose clusters are listed; empty: all."""

    cloud = "gcp"

    def __init__(self, requests: Requests, project: str, regions: Sequence[str]) -> None:
        self._requests, self.name, self._regions = requests, project, tuple(regions)
        self.close = requests.close

    def inventory(self) -> list[Thing]:
        """Return the resources of all clusters: labelled ones first, then those that belong to them.

        A cluster with a resource in a region that is not asked for is left out, with what it has without a region.
        """
        labelled = [*self._labelled_compute(), *self._secrets(), *self._buckets(), *self._zones()]
        known = {each.cluster: _Known(each.cluster) for each in labelled}
        for each in labelled:
            name = each.id.rpartition("/")[2]
            if each.kind == "secret" and name.startswith(f"{each.cluster}-"):
                known[each.cluster].suffixes.add(name.rpartition("-")[2])
            if each.network:
                known[each.cluster].networks.add(each.network)
            if each.created:
                known[each.cluster].born = min(each.created, known[each.cluster].born or each.created)
        if not known:
            return []
        found = [*labelled, *self._networks(known), *self._balancing(known), *self._identities(known)]
        asked = {GLOBAL, *self._regions}
        elsewhere = {each.cluster for each in found if self._regions and each.region not in asked}
        has_driver = any(each.kind == "role" and _OF_VOLUMES.search(each.id) for each in found)
        found += [each for each in self._volumes(known, has_driver) if not self._regions or each.region in asked]
        return [each for each in found if each.cluster not in elsewhere]

    def delete(self, thing: Thing) -> None:
        """Ask for the deletion of a resource. Raises ApiError."""
        try:
            gcp_deletion.deletion(thing.kind)(self._requests, self.name, thing)
        except ApiError as error:
            if error.status != 404:
                raise

    def waits(self, code: str) -> bool:
        """Return whether a refusal ends by itself."""
        return code in gcp_deletion.WAITS

    def _compute(self, kind: str) -> Iterator[Row]:
        """Yield the resources of a kind in all regions and zones."""
        return google_lists.aggregated(self._requests, self.name, kind)

    def _global(self, kind: str, project: str = "") -> Iterator[Row]:
        return google_lists.in_project(self._requests, project or self.name, kind)

    def _labelled_compute(self) -> Iterator[Thing]:
        for kind in ("instances", "forwardingRules", "addresses"):
            for row in self._compute(kind):
                if CLUSTER in (row.get("labels") or {}):
                    interfaces = row.get("networkInterfaces") or [{}]
                    network = google_lists.path(interfaces[0].get("network") or "")
                    yield replace(
                        _labelled(kind, google_lists.path(row["selfLink"]), row["labels"], row), network=network
                    )

    def _secrets(self) -> Iterator[Thing]:
        path, query = f"/v1/projects/{self.name}/secrets", {"filter": f"labels.{CLUSTER}:*"}
        for page in self._requests.pages(SECRETS, path, query):
            for row in page.get("secrets") or []:
                if CLUSTER in (row.get("labels") or {}):
                    name = f"projects/{self.name}/secrets/{row['name'].rpartition('/')[2]}"
                    yield _labelled("secret", name, row["labels"], row)

    def _buckets(self) -> Iterator[Thing]:
        for page in self._requests.pages(STORAGE, "/storage/v1/b", {"project": self.name}):
            for row in page.get("items") or []:
                if CLUSTER in (row.get("labels") or {}):
                    found = _labelled("bucket", row["name"], row["labels"], row)
                    yield replace(found, kept=row["name"].startswith(f"{found.cluster}-snapshots-"))

    def _zones(self) -> Iterator[Thing]:
        for page in self._requests.pages(DNS, f"/dns/v1/projects/{self.name}/managedZones", {}):
            for row in page.get("managedZones") or []:
                if CLUSTER in (row.get("labels") or {}):
                    yield _labelled("managed-zone", row["name"], row["labels"], row)

    def _networks(self, known: Mapping[str, _Known]) -> Iterator[Thing]:
        """Yield clusters' networks with all that is in them; in a user's network only clusters' rules,
        routes and instance groups.
        """
        own = {
            google_lists.path(row["selfLink"]): row["name"]
            for row in self._global("networks")
            if row["name"] in known and str(row.get("description") or "").startswith(f"Nodes of {row['name']}:")
        }
        for path, cluster in own.items():
            yield _belonging("networks", path, cluster)
        for kind in ("firewalls", "routes"):
            for row in self._global(kind):
                cluster = own.get(google_lists.path(row.get("network") or "")) or _in_another(row, kind, known)
                if cluster and not row.get("nextHopNetwork"):  # routes of subnets go with their subnets
                    yield _belonging(kind, google_lists.path(row["selfLink"]), cluster)
        for kind in ("subnetworks", "routers", "instanceGroups"):
            for row in self._compute(kind):
                if cluster := own.get(google_lists.path(row.get("network") or "")) or _in_another(row, kind, known):
                    yield _belonging(kind, google_lists.path(row["selfLink"]), cluster)

        yield from self._in_hosts(known)

    def _in_hosts(self, known: Mapping[str, _Known]) -> Iterator[Thing]:
        """Yield clusters' rules and routes in the projects whose networks they share (Shared VPC).

        If such a project does not let them be listed, a held resource stops the removal before the instances, by which
        the network is known.
        """
        networks = {each: _project(each) for one in known.values() for each in one.networks}
        for project in sorted({*networks.values()} - {self.name, ""}):
            for kind in ("firewalls", "routes"):
                try:
                    for row in self._global(kind, project):
                        if cluster := _in_another(row, kind, known):
                            yield _belonging(kind, google_lists.path(row["selfLink"]), cluster)
                except ApiError as error:
                    if error.throttled or error.status not in (403, 404):
                        raise
                    for one in known.values():
                        if any(networks[each] == project for each in one.networks):
                            thing = _belonging(kind, f"projects/{project}/global/{kind}", one.name)
                            yield replace(thing, held=f"{kind} of project {project} cannot be listed: {error}")

    def _balancing(self, known: Mapping[str, _Known]) -> Iterator[Thing]:
        """Yield backend services and health checks, by their description."""
        from components.gcp.place import balancer_of

        # those of `ingress` have the description "Load balancer of NAME-ingress"; a cluster may have that name
        clusters = {balancer_of(f"{name}-ingress"): name for name in known} | {
            balancer_of(name): name for name in known
        }
        for kind in ("backendServices", "healthChecks"):
            for row in self._compute(kind):
                if cluster := clusters.get(str(row.get("description") or "")):
                    yield _belonging(kind, google_lists.path(row["selfLink"]), cluster)

    def _volumes(self, known: Mapping[str, _Known], has_driver: bool) -> list[Thing]:
        """Return disks of the clusters' etcd, by their labels, and what the clusters' storage drivers made.

        has_driver: whether a cluster has one.

        Whoever may not list disks still removes clusters without a driver, which never needed that right.
        """
        try:
            rows = [("disks", each) for each in self._compute("disks")]
            rows += [("snapshots", each) for each in self._global("snapshots")]
        except ApiError as error:
            if has_driver or error.throttled or error.status != 403:
                raise
            return []
        own = [row for kind, row in rows if kind == "disks" and (row.get("labels") or {}).get(CLUSTER) in known]
        labelled = [_labelled("disks", google_lists.path(row["selfLink"]), row["labels"], row) for row in own]
        return labelled + [thing for kind, row in rows for thing in _made_by_driver(kind, row, known)]

    def _identities(self, known: Mapping[str, _Known]) -> Iterator[Thing]:
        """Yield service accounts, custom roles, the project's grants to both, and pools of pods' identities."""
        owners: dict[str, str] = {}
        path = f"/v1/projects/{self.name}/serviceAccounts"
        for page in self._requests.pages(IAM, path, {"pageSize": "100"}):
            for row in page.get("accounts") or []:
                account = row["email"].partition("@")[0]
                title = str(row.get("displayName") or "").removeprefix("Kubernetes machines: ")
                cluster = next((each.name for each in known.values() if each.signed(account)), "")
                if cluster and title.startswith(f"{cluster}-"):
                    owners[f"serviceAccount:{row['email']}"] = cluster
                    yield _belonging("service-account", row["email"], cluster)
        for page in self._requests.pages(IAM, f"/v1/projects/{self.name}/roles", {"pageSize": "100"}):
            for row in page.get("roles") or []:
                cluster = next((each.name for each in known.values() if each.signed(row["name"], "_")), "")
                if cluster and str(row.get("title") or "").endswith(f" of {cluster}") and not row.get("deleted"):
                    owners[row["name"]] = cluster
                    yield _belonging("role", row["name"], cluster)
        yield from self._pools(known)
        wanted = {"options": {"requestedPolicyVersion": 3}}  # else roles with conditions would have other names
        policy = self._requests.call("POST", PROJECTS, f"/v1/projects/{self.name}:getIamPolicy", body=wanted)
        for binding in policy.get("bindings") or []:
            for member in binding["members"]:
                if cluster := owners.get(member):
                    yield _belonging("grant", f"{binding['role']} {member}", cluster)

    def _pools(self, known: Mapping[str, _Known]) -> Iterator[Thing]:
        """Yield workload identity pools that clusters made; both texts are of components/gcp/pod_identity.py."""
        for page in self._requests.pages(IAM, f"/v1/projects/{self.name}/locations/global/workloadIdentityPools", {}):
            for row in page.get("workloadIdentityPools") or []:
                cluster = str(row.get("description") or "").removeprefix(POOL_OF)
                if cluster in known and f"/{PODS}-" in row["name"] and row["state"] == "ACTIVE":
                    yield _belonging("workload-identity-pool", row["name"], cluster)


_OF_VOLUMES = re.compile(r"_volumes_[^_]+$")
"""End of the name of the role by which a cluster's driver has its rights on disks (components/gcp/volumes.py)."""


def _made_by_driver(kind: str, row: Row, known: Mapping[str, _Known]) -> Iterator[Thing]:
    """Yield a disk or snapshot if a cluster's driver made it. Those with the label KEEP_TAG or older than it stay."""
    for each in known.values():
        if google_lists.of_driver(row["name"], each.name):
            made = google_lists.made(row, KEEP_TAG)
            retained = "by their tag" if made.keeps else "as older than the cluster" if made.is_older(each.born) else ""
            yield replace(_belonging(kind, google_lists.path(row["selfLink"]), each.name), retained=retained)


def _in_another(row: Row, kind: str, known: Mapping[str, _Known]) -> str:
    """Return the cluster of a firewall rule, route or instance group in a network of the user's; empty if it has none.

    A rule is known by its machines' network tags, a route to pods and an instance group by its name. Longer names of
    clusters are tried first: NAME-ingress-... may be of a cluster NAME-ingress.
    """
    for each in sorted(known.values(), key=lambda cluster: -len(cluster.name)):
        if google_lists.path(row.get("network") or "") not in each.networks:
            continue
        tags = set(row.get("targetTags") or ())
        if kind == "instanceGroups" and re.fullmatch(rf"{re.escape(each.name)}-(api|ingress-.+)-\d", row["name"]):
            return each.name
        ruled = kind == "firewalls" and tags and tags <= {f"{each.name}-control-plane", f"{each.name}-workers"}
        if row["name"].startswith(f"{each.name}-" if ruled else f"{each.name}-pods-") and (ruled or kind == "routes"):
            return each.name
    return ""


def _project(path: str) -> str:
    """Return the project of projects/PROJECT/..."""
    return path.split("/")[1] if path.startswith("projects/") else ""


def _region(path: str) -> str:
    parts = path.split("/")
    place = parts[3] if len(parts) > 3 and parts[2] in ("regions", "zones") else GLOBAL
    return place.rpartition("-")[0] if place.count("-") == 2 else place


def _labelled(kind: str, name: str, labels: Mapping[str, str], row: Row) -> Thing:
    since = row.get("creationTimestamp") or row.get("timeCreated") or row.get("createTime") or row.get("creationTime")
    created = google_lists.moment(since) if since else None
    fields: dict[str, Any] = tagged_fields(labels, MARK)
    return Thing(kind, name, _region(name), labels[CLUSTER], RANKS[kind], created=created, **fields)


def _belonging(kind: str, name: str, cluster: str) -> Thing:
    return Thing(kind, name, _region(name), cluster, RANKS[kind], untagged=True)
