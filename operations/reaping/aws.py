"""Inventory of AWS: everything with a cluster's tags in the regions asked for, and what Kubernetes made beside it.

It reads the lists of each service, because the search by tags still returns what was deleted hours ago. Only for S3,
which has no list with tags, it uses that search.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any
from xml.etree.ElementTree import Element

from components.naming import KEEP_TAG
from operations.clouds.api import ApiError
from operations.reaping import aws_deletion
from operations.reaping.aws_deletion import RANKS
from operations.reaping.aws_guarding import guarding
from operations.reaping.aws_requests import HOME, Requests
from operations.reaping.things import Thing, tagged_fields

MARK, CLUSTER = "mullion:", "mullion:cluster"
KUBERNETES = "kubernetes.io/cluster/"
"""Prefix of the tag that a cloud controller and a storage driver set; the cluster's name follows."""
OWNED = "owned"
GLOBAL = "global"
"""Region of global resources: roles, instance profiles, hosted zones."""
_KEYS = (*(f"{MARK}{each}" for each in ("cluster", "owner", "expires", "protect")), f"{KUBERNETES}*", KEEP_TAG)
_ROLE = re.compile(r".+-(?:control-plane|workers|pods-.+)-[0-9a-f]{7}")
"""Names of roles and instance profiles: components/aws/identity.py and pod_identity.py. IAM's lists have no tags, so
the tags of roles and profiles with such names are read one by one."""
_ISSUER = re.compile(r":oidc-provider/.+-issuer-[a-z]{6}(-\d{12}-[a-z0-9-]+-an)?\.s3\.")
"""Names of the providers of clusters' issuers: components/aws/pod_identity.py."""
_STORED = frozenset({"volume", "snapshot"})
"""Kinds that a storage driver makes; they are in no network."""
_TAGGED_BY_OWNERS = _STORED | {"load-balancer", "classic-load-balancer", "target-group"}
"""Kinds that a controller makes with further tags of a Service's owner
(annotation aws-load-balancer-additional-resource-tags) or of a storage class."""
_MADE_BY_CONTROLLER = _TAGGED_BY_OWNERS | {"security-group"}
_GONE = frozenset({"terminated", "deleted"})
"""States of deleted resources, which EC2 lists for up to an hour more."""
_SNAPSHOTS = "-snapshots"
_PREFIXES = {"nat": "natgateway", "eipalloc": "elastic-ip", "vpce": "vpc-endpoint"}
"""Kinds that some lists name differently, by the prefix of their ids."""
_LISTS = {
    "instance": ("DescribeInstances", "instance-id", "reservationSet/item/instancesSet/item", "instanceId"),
    "volume": ("DescribeVolumes", "volume-id", "volumeSet/item", "volumeId"),
    "snapshot": ("DescribeSnapshots", "snapshot-id", "snapshotSet/item", "snapshotId"),
    "elastic-ip": ("DescribeAddresses", "allocation-id", "addressesSet/item", "allocationId"),
    "natgateway": ("DescribeNatGateways", "nat-gateway-id", "natGatewaySet/item", "natGatewayId"),
    "vpc-endpoint": ("DescribeVpcEndpoints", "tag-key", "vpcEndpointSet/item", "vpcEndpointId"),
    "security-group": ("DescribeSecurityGroups", "group-id", "securityGroupInfo/item", "groupId"),
    "internet-gateway": (
        "DescribeInternetGateways",
        "internet-gateway-id",
        "internetGatewaySet/item",
        "internetGatewayId",
    ),
    "route-table": ("DescribeRouteTables", "route-table-id", "routeTableSet/item", "routeTableId"),
    "subnet": ("DescribeSubnets", "subnet-id", "subnetSet/item", "subnetId"),
    "vpc": ("DescribeVpcs", "vpc-id", "vpcSet/item", "vpcId"),
}
"""Kinds of EC2: action, filter by id or tag, path of the items, their id's element. Tags may outlive a resource."""
_VALUES = 200
"""Most values of one filter (Amazon EC2 API reference, "Filter")."""

Tags = Mapping[str, str]


class Aws:
    """An account of AWS."""

    cloud = "aws"

    def __init__(self, requests: Requests, regions: Sequence[str]) -> None:
        self._requests, self._regions = requests, tuple(regions)
        self.close = requests.close
        said = requests.query("sts", self._regions[0], "GetCallerIdentity")
        self.name = said.findtext(".//Account") or ""

    def inventory(self) -> list[Thing]:
        """Return the resources of all clusters in the regions, and global ones."""
        found = list(_of_clusters([each for region in self._regions for each in self._region(region)]))
        guards = [each for region in self._regions for each in guarding(self._requests, region, found)]
        return [*found, *guards, *self._roles(), *self._profiles(), *self._issuers(), *self._zones()]

    def delete(self, thing: Thing) -> None:
        """Ask for the deletion of a resource. Raises ApiError."""
        try:
            aws_deletion.DELETIONS[thing.kind](self._requests, thing)
        except ApiError as error:
            if not aws_deletion.is_gone(error.code):
                raise

    def waits(self, code: str) -> bool:
        """Return whether a refusal ends by itself."""
        return code in aws_deletion.WAITS

    def _region(self, region: str) -> Iterator[Thing]:
        yield from self._ec2(region)
        yield from self._balancers(region)
        yield from self._secrets(region)
        yield from self._buckets(region)

    def _ec2(self, region: str) -> Iterator[Thing]:
        """Yield what EC2 has: tags by resource, then state and network by kind."""
        tags: dict[tuple[str, str], dict[str, str]] = {}
        pages = self._requests.pages("ec2", region, "DescribeTags", Filter=[{"Name": "key", "Value": _KEYS}])
        for row in (row for page in pages for row in page.iterfind("tagSet/item")):
            found = row.findtext("resourceId") or ""
            place = _PREFIXES.get(found.partition("-")[0], row.findtext("resourceType") or ""), found
            tags.setdefault(place, {})[row.findtext("key") or ""] = row.findtext("value") or ""
        by_kind: dict[str, dict[str, Tags]] = {}
        for (kind, key), each in tags.items():
            by_kind.setdefault(kind, {})[key] = each
        by_kind.pop("security-group-rule", None)  # deleted with its group
        for kind, rows in by_kind.items():
            yield from self._known(region, kind, rows)

    def _known(self, region: str, kind: str, rows: Mapping[str, Tags]) -> Iterator[Thing]:
        """Yield resources of one kind, without deleted ones."""
        if kind not in _LISTS:
            yield from (_thing(kind, key, region, tags) for key, tags in rows.items())
            return
        action, name, path, key = _LISTS[kind]
        wanted = [CLUSTER] if name == "tag-key" else sorted(rows)
        for start in range(0, len(wanted), _VALUES):
            filters = [{"Name": name, "Value": wanted[start : start + _VALUES]}]
            for page in self._requests.pages("ec2", region, action, Filter=filters):
                for row in page.iterfind(path):
                    state = row.findtext("instanceState/name") or row.findtext("state") or ""
                    found, since = row.findtext(key) or "", row.findtext("launchTime")
                    if found in rows and state.lower() not in _GONE:
                        network = row.findtext("vpcId") or ""
                        yield _thing(kind, found, region, rows[found], network=network, created=_time(since))

    def _balancers(self, region: str) -> Iterator[Thing]:
        """Yield load balancers and target groups, and classic load balancers."""
        for kind, action, path, key in (
            ("load-balancer", "DescribeLoadBalancers", ".//LoadBalancers/member", "LoadBalancerArn"),
            ("target-group", "DescribeTargetGroups", ".//TargetGroups/member", "TargetGroupArn"),
        ):
            pages = self._requests.pages("elbv2", region, action)
            rows = {row.findtext(key) or "": row for page in pages for row in page.iterfind(path)}
            for arn, tags in self._tags_of("elbv2", region, sorted(rows), "ResourceArns", "ResourceArn"):
                yield _thing(kind, arn, region, tags, network=rows[arn].findtext("VpcId") or "")
        path = ".//LoadBalancerDescriptions/member"
        pages = self._requests.pages("elb", region, "DescribeLoadBalancers")
        rows = {row.findtext("LoadBalancerName") or "": row for page in pages for row in page.iterfind(path)}
        for name, tags in self._tags_of("elb", region, sorted(rows), "LoadBalancerNames", "LoadBalancerName"):
            yield _thing("classic-load-balancer", name, region, tags, network=rows[name].findtext("VPCId") or "")

    def _tags_of(self, service: str, region: str, ids: list[str], asked: str, key: str) -> Iterator[tuple[str, Tags]]:
        """Yield the tags of load balancers; at most 20 of them in one call (DescribeTags)."""
        for start in range(0, len(ids), 20):
            some = {asked: {"member": ids[start : start + 20]}}
            answer = self._requests.query(service, region, "DescribeTags", **some)
            for row in answer.iterfind(".//TagDescriptions/member"):
                yield row.findtext(key) or "", _members(row, "Tags/member")

    def _secrets(self, region: str) -> Iterator[Thing]:
        body: dict[str, Any] = {"Filters": [{"Key": "tag-key", "Values": [CLUSTER]}], "MaxResults": 100}
        while True:
            answer = self._requests.json("secretsmanager", region, "secretsmanager.ListSecrets", body)
            for row in answer["SecretList"]:
                tags = {each["Key"]: each["Value"] for each in row.get("Tags") or []}
                if CLUSTER in tags and not row.get("DeletedDate"):
                    yield _thing("secret", row["ARN"], region, tags, created=_seconds(row.get("CreatedDate")))
            if not (token := answer.get("NextToken")):
                return
            body["NextToken"] = token

    def _buckets(self, region: str) -> Iterator[Thing]:
        """Yield buckets: the search by tags names candidates, the list of buckets says which ones exist."""
        listed = self._requests.rest("s3", HOME, "GET", "/").iterfind("Buckets/Bucket")
        born = {row.findtext("Name") or "": _time(row.findtext("CreationDate")) for row in listed}
        target = "ResourceGroupsTaggingAPI_20170126.GetResources"
        body: dict[str, Any] = {"TagFilters": [{"Key": CLUSTER}], "ResourceTypeFilters": ["s3"]}
        while True:
            answer = self._requests.json("tagging", region, target, body)
            for row in answer["ResourceTagMappingList"]:
                tags = {each["Key"]: each["Value"] for each in row["Tags"]}
                name = row["ResourceARN"].rpartition(":")[2]
                if name in born:
                    found = _thing("bucket", name, region, tags, created=born[name])
                    is_store = tags.get("Name") == f"{tags[CLUSTER]}{_SNAPSHOTS}"
                    yield replace(found, kept=is_store)
            if not (token := answer.get("PaginationToken")):
                return
            body["PaginationToken"] = token

    def _roles(self) -> Iterator[Thing]:
        for page in self._requests.pages("iam", HOME, "ListRoles"):
            for row in page.iterfind(".//Roles/member"):
                name = row.findtext("RoleName") or ""
                if _ROLE.fullmatch(name):
                    answer = self._requests.query("iam", HOME, "ListRoleTags", RoleName=name)
                    tags = _members(answer, ".//Tags/member")
                    if CLUSTER in tags:
                        yield _thing("role", name, GLOBAL, tags, created=_time(row.findtext("CreateDate")))

    def _profiles(self) -> Iterator[Thing]:
        for page in self._requests.pages("iam", HOME, "ListInstanceProfiles"):
            for row in page.iterfind(".//InstanceProfiles/member"):
                name = row.findtext("InstanceProfileName") or ""
                if _ROLE.fullmatch(name):
                    answer = self._requests.query("iam", HOME, "GetInstanceProfile", InstanceProfileName=name)
                    tags = _members(answer, ".//InstanceProfile/Tags/member")
                    if CLUSTER in tags:
                        yield _thing("instance-profile", name, GLOBAL, tags)

    def _issuers(self) -> Iterator[Thing]:
        """Yield providers of OpenID Connect. Their list has no tags, and one account has at most 100 of them."""
        listed = self._requests.query("iam", HOME, "ListOpenIDConnectProviders")
        for row in listed.iterfind(".//OpenIDConnectProviderList/member"):
            arn = row.findtext("Arn") or ""
            if not _ISSUER.search(arn):
                continue
            answer = self._requests.query("iam", HOME, "ListOpenIDConnectProviderTags", OpenIDConnectProviderArn=arn)
            if CLUSTER in (tags := _members(answer, ".//Tags/member")):
                yield _thing("oidc-provider", arn, GLOBAL, tags)

    def _zones(self) -> Iterator[Thing]:
        """Yield hosted zones. A list has at most 100 of them; tags are listed for one at a time."""
        query: dict[str, str] = {}
        while True:
            page = self._requests.rest("route53", HOME, "GET", "/2013-04-01/hostedzone", query)
            for row in page.iterfind("HostedZones/HostedZone"):
                zone = (row.findtext("Id") or "").rpartition("/")[2]
                answer = self._requests.rest("route53", HOME, "GET", f"/2013-04-01/tags/hostedzone/{zone}")
                tags = _members(answer, ".//Tags/Tag")
                if CLUSTER in tags:
                    yield _thing("hosted-zone", zone, GLOBAL, tags)
            if page.findtext("IsTruncated") != "true":
                return
            query = {"marker": page.findtext("NextMarker") or ""}


def _thing(
    kind: str, name: str, region: str, tags: Tags, *, network: str = "", created: datetime | None = None
) -> Thing:
    """Return a resource with these tags: the cluster's own, or one that Kubernetes made.

    A controller sets its own tag last, on all that it makes, and the owner of a Service may add any other: so that tag
    is asked first, and tags of ours beside it count for nothing.
    """
    cluster = tags.get(CLUSTER, "")
    rank = RANKS.get(kind, 0)
    held = "" if kind in RANKS else f"reap does not delete the kind {kind}"
    marks = (key for key, value in tags.items() if key.startswith(KUBERNETES) and value == OWNED)
    owned = next(marks, "").removeprefix(KUBERNETES)
    if cluster and not (owned and kind in _MADE_BY_CONTROLLER):
        fields: dict[str, Any] = tagged_fields(tags, MARK)
        return Thing(kind, name, region, cluster, rank, created=created, network=network, held=held, **fields)
    # a controller's group is deleted before the cluster's own groups, which tell the network of the cluster
    rank, keeps = min(rank, aws_deletion.FIRST_GROUP), kind in _STORED and KEEP_TAG in tags
    fields = {"created": created, "network": network, "by_controller": True, "held": held}
    fields |= {"retained": "by their tag" if keeps else ""}
    return Thing(kind, name, region, owned, rank, **fields)


def _of_clusters(things: list[Thing]) -> Iterator[Thing]:
    """Yield the clusters' own resources, and those that Kubernetes made in a network of the cluster that they name.

    Another cluster of the same name in another network, such as one of EKS, has the same tag. Volumes and snapshots
    have no network: they are held if anything with that tag is in a network that is not the cluster's. Kinds whose
    tags a cluster's users may add to do not say which network is the cluster's.
    """
    own = [each for each in things if not each.by_controller]
    networks: dict[tuple[str, str], set[str]] = {}
    for each in own:
        if each.network and each.kind not in _TAGGED_BY_OWNERS:
            networks.setdefault((each.region, each.cluster), set()).add(each.network)
    made = [each for each in things if each.by_controller and each.cluster and each.kind in _MADE_BY_CONTROLLER]
    elsewhere = {
        (each.region, each.cluster)
        for each in made
        if each.kind not in _STORED and each.network not in networks.get((each.region, each.cluster), ())
    }
    yield from own
    for each in made:
        place = each.region, each.cluster
        if each.kind not in _STORED and each.network in networks.get(place, ()):
            yield each
        elif each.kind in _STORED and place in networks:
            held = f"another network has a cluster of this name: its {each.kind} may be this one"
            yield replace(each, held=held if place in elsewhere else "")


def _members(parent: Element, path: str) -> dict[str, str]:
    return {row.findtext("Key") or "": row.findtext("Value") or "" for row in parent.iterfind(path)}


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _seconds(value: Any) -> datetime | None:
    return datetime.fromtimestamp(float(value), timezone.utc) if value else None
