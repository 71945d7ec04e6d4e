"""The request of each resource type on Google Cloud, as the provider makes it of the inputs.

The provider's names are those of the API, except where a row says otherwise.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.components.official_models import gcp_models
from tests.components.official_models.cases import content

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A resource type's request. place: parameters of path and query by input; own: inputs that no request has."""

    method: str
    place: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    shape: Callable[[Inputs], Inputs] = dict
    parent: dict[str, str] = field(default_factory=dict)
    """Parameters that the provider makes of its project."""
    filled: Inputs = field(default_factory=dict)
    """What the provider sends although no input says it."""


def faults(row: Row, inputs: Inputs) -> list[str]:
    """Return what Google's descriptions say against a resource's inputs."""
    place = {name: _last(name, inputs[key]) for key, name in row.place.items() if key in inputs}
    named = {row.renamed.get(key, key): value for key, value in _others(inputs, *row.place, *row.own).items()}
    body = row.filled | row.shape(named)
    return gcp_models.faults(row.method, {**row.parent, **place}, _without_none(body))


def _last(name: str, value: Any) -> Any:
    """Return what a parameter takes of a path like `projects/example/global/networks/name`: all, or the last part."""
    return value if name == "resource" or not isinstance(value, str) else value.rpartition("/")[2]


def _others(inputs: Inputs, *names: str) -> Inputs:
    return {key: value for key, value in inputs.items() if key not in names}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list) else value


def _instance(inputs: Inputs) -> Inputs:
    metadata = inputs.get("metadata", {})
    faces = [
        {"networkIP" if key == "networkIp" else key: value for key, value in face.items()}
        for face in inputs["networkInterfaces"]
    ]
    return {
        **_others(inputs, "bootDisk", "attachedDisks", "serviceAccount"),
        "disks": [_disk(inputs["bootDisk"]), *inputs.get("attachedDisks", ())],
        "networkInterfaces": faces,
        "serviceAccounts": [inputs["serviceAccount"]] if "serviceAccount" in inputs else None,
        "metadata": {"items": [{"key": key, "value": content(value)} for key, value in metadata.items()]},
        "tags": {"items": inputs.get("tags", [])},
    }


def _disk(disk: Inputs) -> Inputs:
    new, key = {"image": "sourceImage", "size": "diskSizeGb", "type": "diskType"}, disk.get("kmsKeySelfLink")
    return {
        **_others(disk, "kmsKeySelfLink"),
        "boot": True,
        "initializeParams": {new.get(name, name): value for name, value in disk["initializeParams"].items()},
        "diskEncryptionKey": {"kmsKeyName": key} if key else None,
    }


def _volume(inputs: Inputs) -> Inputs:
    key = (inputs.get("diskEncryptionKey") or {}).get("kmsKeySelfLink")
    return {**_others(inputs, "diskEncryptionKey"), "diskEncryptionKey": {"kmsKeyName": key} if key else None}


def _firewall(inputs: Inputs) -> Inputs:
    allowed = [{"IPProtocol": each["protocol"], **_others(each, "protocol")} for each in inputs["allows"]]
    return {**_others(inputs, "allows"), "allowed": allowed}


def _network(inputs: Inputs) -> Inputs:
    return {**_others(inputs, "routingMode"), "routingConfig": {"routingMode": inputs["routingMode"]}}


def _backend_service(inputs: Inputs) -> Inputs:
    draining, checks = inputs["connectionDrainingTimeoutSec"], inputs["healthChecks"]
    others = _others(inputs, "connectionDrainingTimeoutSec", "healthChecks")
    return {**others, "connectionDraining": {"drainingTimeoutSec": draining}, "healthChecks": [checks]}


def _health_check(inputs: Inputs) -> Inputs:
    [kind] = [key.removesuffix("HealthCheck") for key in inputs if key.endswith("HealthCheck")]
    return {**inputs, "type": kind.upper()}


def _nat(inputs: Inputs) -> Inputs:
    parts = [
        {"sourceIpRangesToNat" if key == "sourceIpRangesToNats" else key: value for key, value in each.items()}
        for each in inputs["subnetworks"]
    ]
    return {"nats": [{**inputs, "subnetworks": parts}]}


def _bucket(inputs: Inputs) -> Inputs:
    access = {
        "uniformBucketLevelAccess": {"enabled": inputs["uniformBucketLevelAccess"]},
        "publicAccessPrevention": inputs["publicAccessPrevention"],
    }
    rules = [{**rule, "condition": _condition(rule["condition"])} for rule in inputs.get("lifecycleRules", [])]
    others = _others(inputs, "uniformBucketLevelAccess", "publicAccessPrevention", "lifecycleRules")
    return {**others, "iamConfiguration": access, "lifecycle": {"rule": rules}}


def _condition(condition: Inputs) -> Inputs:
    state = condition.get("withState")
    live = {"ARCHIVED": False, "LIVE": True}.get(state, state) if isinstance(state, str) else state
    return {**_others(condition, "withState"), "isLive": live}


def _member(inputs: Inputs) -> Inputs:
    """Return the policy that gives one member a role."""
    return {"policy": {"bindings": [{**_others(inputs, "member"), "members": [inputs["member"]]}]}}


def _payload(inputs: Inputs) -> Inputs:
    data = inputs["secretData"]
    coded = base64.b64encode(data.encode()).decode() if isinstance(data, str) else data
    return {**_others(inputs, "secretData"), "payload": {"data": coded}}


def _role(inputs: Inputs) -> Inputs:
    role = {**_others(inputs, "roleId", "permissions"), "includedPermissions": inputs["permissions"]}
    return {"roleId": inputs["roleId"], "role": role}


def _account(inputs: Inputs) -> Inputs:
    return {"accountId": inputs["accountId"], "serviceAccount": _others(inputs, "accountId")}


def _compute(kind: str, *place: str, **others: Any) -> Row:
    return Row(f"compute.v1/{kind}", {"project": "project", **{name: name for name in place}}, **others)


_PARENT = {"parent": "projects/example-project"}

ROWS: dict[str, Row] = {
    "compute/address:Address": _compute("addresses.insert", "region"),
    "compute/disk:Disk": _compute(
        "disks.insert", "zone", renamed={"size": "sizeGb"}, shape=_volume, filled={"name": "chosen-by-the-provider"}
    ),
    "compute/firewall:Firewall": _compute("firewalls.insert", shape=_firewall),
    "compute/forwardingRule:ForwardingRule": _compute(
        "forwardingRules.insert", "region", renamed={"ipAddress": "IPAddress", "ipProtocol": "IPProtocol"}
    ),
    "compute/instance:Instance": _compute("instances.insert", "zone", own=("allowStoppingForUpdate",), shape=_instance),
    "compute/instanceGroup:InstanceGroup": _compute("instanceGroups.insert", "zone"),
    "compute/instanceGroupMembership:InstanceGroupMembership": _compute(
        *("instanceGroups.addInstances", "zone", "instanceGroup"),
        shape=lambda inputs: {"instances": [inputs]},
    ),
    "compute/network:Network": _compute("networks.insert", own=("deleteDefaultRoutesOnCreate",), shape=_network),
    "compute/regionBackendService:RegionBackendService": _compute(
        "regionBackendServices.insert", "region", shape=_backend_service
    ),
    "compute/regionHealthCheck:RegionHealthCheck": _compute("regionHealthChecks.insert", "region", shape=_health_check),
    "compute/route:Route": _compute("routes.insert", filled={"priority": 1000}),
    "compute/router:Router": _compute("routers.insert", "region"),
    "compute/routerNat:RouterNat": _compute("routers.patch", "region", "router", shape=_nat),
    "compute/subnetwork:Subnetwork": _compute("subnetworks.insert", "region"),
    "dns/managedZone:ManagedZone": Row("dns.v1/managedZones.create"),
    "dns/recordSet:RecordSet": Row(
        "dns.v1/changes.create", {"managedZone": "managedZone"}, shape=lambda inputs: {"additions": [inputs]}
    ),
    "iam/workloadIdentityPool:WorkloadIdentityPool": Row(
        "iam.v1/projects.locations.workloadIdentityPools.create",
        {"workloadIdentityPoolId": "workloadIdentityPoolId"},
        parent={"parent": "projects/example-project/locations/global"},
    ),
    "iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": Row(
        "iam.v1/projects.locations.workloadIdentityPools.providers.create",
        {"workloadIdentityPoolProviderId": "workloadIdentityPoolProviderId"},
        own=("workloadIdentityPoolId",),
        parent={"parent": "projects/example-project/locations/global/workloadIdentityPools/example"},
    ),
    "projects/iAMCustomRole:IAMCustomRole": Row("iam.v1/projects.roles.create", shape=_role, parent=_PARENT),
    "projects/iAMMember:IAMMember": Row(
        "cloudresourcemanager.v1/projects.setIamPolicy", {"project": "resource"}, shape=_member
    ),
    "secretmanager/secret:Secret": Row(
        "secretmanager.v1/projects.secrets.create", {"secretId": "secretId"}, parent=_PARENT
    ),
    "secretmanager/secretIamMember:SecretIamMember": Row(
        "secretmanager.v1/projects.secrets.setIamPolicy", {"secretId": "resource"}, shape=_member
    ),
    "secretmanager/secretVersion:SecretVersion": Row(
        "secretmanager.v1/projects.secrets.addVersion",
        own=("secret",),
        shape=_payload,
        parent={"parent": "projects/example-project/secrets/example"},
    ),
    "serviceaccount/account:Account": Row(
        "iam.v1/projects.serviceAccounts.create", shape=_account, parent={"name": "projects/example-project"}
    ),
    "serviceaccount/iAMMember:IAMMember": Row(
        "iam.v1/projects.serviceAccounts.setIamPolicy", {"serviceAccountId": "resource"}, shape=_member
    ),
    "storage/bucket:Bucket": Row(
        "storage.v1/buckets.insert",
        own=("forceDestroy",),
        shape=_bucket,
        parent={"project": "example-project"},
        filled={"name": "chosen-by-the-provider"},
    ),
    "storage/bucketIAMMember:BucketIAMMember": Row(
        "storage.v1/buckets.setIamPolicy", {"bucket": "bucket"}, shape=lambda inputs: _member(inputs)["policy"]
    ),
    "storage/bucketObject:BucketObject": Row(
        "storage.v1/objects.insert", {"bucket": "bucket"}, own=("content", "source")
    ),
}
"""By resource type without the provider's name."""
