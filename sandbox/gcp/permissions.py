"""IAM permissions that the provider of Google Cloud needs, by resource type.

Sources: requests in the code of the google provider for Terraform, which pulumi-gcp wraps; "IAM permissions" of each
method in the reference of the APIs; "Compute Engine roles and permissions" for what a resource needs of others.
"""

from sandbox.gcp import permissions_of_stores
from sandbox.permissions import REST, Permissions, Table

_ZONE, _REGION, _GLOBAL = (f"compute.{each}Operations.get" for each in ("zone", "region", "global"))
_NETWORK_POLICY = "compute.networks.updatePolicy"


def _names(collection: str, *verbs: str) -> str:
    return " ".join(f"compute.{collection}.{verb}" for verb in verbs)


def _compute(
    collection: str,
    wait: str,
    more: str = "",
    *,
    given: dict[str, str] | None = None,
    update: dict[str, str] | None = None,
    fixed: tuple[str, ...] = (),
    listed: bool = False,
) -> Permissions:
    """Return the row of a collection. wait: what its operations are asked by. more: for each write, beside its own.

    listed: the provider reads its members too, by listInstances (gcloud, "compute instance-groups list-instances").
    """
    beside = f"{wait} {more}".strip()
    return Permissions(
        f"compute.{collection}.create {beside}",
        _names(collection, "get", *["list"] * listed),
        f"compute.{collection}.delete {beside}",
        given or {},
        {name: f"{words} {wait}" for name, words in (update or {}).items()},
        fixed,
    )


_RESTART = _names("instances", "stop", "start")
_MACHINE = {
    "gcp:compute/instance:Instance": _compute(
        "instances",
        _ZONE,
        given={
            "bootDisk": "compute.disks.create",
            "attachedDisks": "compute.disks.use",
            "bootDisk.initializeParams.image": "compute.images.useReadOnly",
            "networkInterfaces[].subnetwork": "compute.subnetworks.use",
            "networkInterfaces[].accessConfigs": "compute.subnetworks.useExternalIp",
            "metadata": "compute.instances.setMetadata",
            "labels": "compute.instances.setLabels",
            "tags": "compute.instances.setTags",
            "serviceAccount": "compute.instances.setServiceAccount iam.serviceAccounts.actAs",
            "machineType": "compute.zones.get compute.machineTypes.get compute.disks.get",
        },
        update={
            "labels": "compute.instances.setLabels",
            "machineType": f"compute.instances.setMachineType {_RESTART}",
            "metadata": "compute.instances.setMetadata",
            "scheduling": "compute.instances.setScheduling",
            "tags": "compute.instances.setTags",
        },
        # a setting of the provider; the others are constant, belong to the fixed layout, or live as long as the cluster
        fixed=(
            "allowStoppingForUpdate",
            "attachedDisks",
            "bootDisk",
            "canIpForward",
            "networkInterfaces",
            "serviceAccount",
            "shieldedInstanceConfig",
        ),
    ),
}

_NETWORK = {
    "gcp:compute/network:Network": _compute(
        *("networks", _GLOBAL),
        update={"mtu": "compute.networks.update", "routingMode": "compute.networks.update"},
        fixed=("deleteDefaultRoutesOnCreate",),  # false: nothing deletes routes
    ),
    "gcp:compute/subnetwork:Subnetwork": _compute(
        *("subnetworks", _REGION, _NETWORK_POLICY),
        update={
            "ipCidrRange": "compute.subnetworks.expandIpCidrRange",
            "privateIpGoogleAccess": "compute.subnetworks.setPrivateIpGoogleAccess",
        },
    ),
    "gcp:compute/router:Router": _compute("routers", _REGION, _NETWORK_POLICY),
    "gcp:compute/routerNat:RouterNat": Permissions(
        f"compute.routers.get compute.routers.update compute.subnetworks.use {_NETWORK_POLICY} {_REGION}",
        "compute.routers.get",
        f"compute.routers.get compute.routers.update {_NETWORK_POLICY} {_REGION}",
        update={REST: f"compute.routers.get compute.routers.update compute.subnetworks.use {_REGION}"},
    ),
    "gcp:compute/route:Route": _compute("routes", _GLOBAL, _NETWORK_POLICY),
    "gcp:compute/firewall:Firewall": _compute(
        *("firewalls", _GLOBAL, _NETWORK_POLICY), update={REST: f"compute.firewalls.update {_NETWORK_POLICY}"}
    ),
    "gcp:compute/address:Address": Permissions(
        f"compute.addresses.create {_REGION}",
        "compute.addresses.get",
        f"compute.addresses.delete {_REGION}",
        {
            "labels": "compute.addresses.setLabels",
            "subnetwork": "compute.addresses.createInternal compute.subnetworks.use",
        },
        {"labels": f"compute.addresses.setLabels {_REGION}"},
        given_up={"subnetwork": "compute.addresses.deleteInternal"},
    ),
}

_BALANCERS = {
    "gcp:compute/instanceGroup:InstanceGroup": _compute(
        "instanceGroups", _ZONE, given={"network": "compute.networks.use"}, listed=True
    ),
    "gcp:compute/instanceGroupMembership:InstanceGroupMembership": Permissions(
        f"compute.instanceGroups.update compute.instances.use {_ZONE}",
        "compute.instanceGroups.get compute.instanceGroups.list compute.instances.get",
        f"compute.instanceGroups.update {_ZONE}",
    ),
    "gcp:compute/regionHealthCheck:RegionHealthCheck": _compute(
        *("regionHealthChecks", _REGION), update={REST: "compute.regionHealthChecks.update"}
    ),
    "gcp:compute/regionBackendService:RegionBackendService": _compute(
        *("regionBackendServices", _REGION),
        given={
            "backends": "compute.instanceGroups.use",
            "healthChecks": "compute.regionHealthChecks.useReadOnly",
        },
        update={
            "backends": "compute.regionBackendServices.update compute.instanceGroups.use",
            "healthChecks": "compute.regionBackendServices.update compute.regionHealthChecks.useReadOnly",
            REST: "compute.regionBackendServices.update",
        },
    ),
    "gcp:compute/forwardingRule:ForwardingRule": _compute(
        *("forwardingRules", _REGION),
        given={
            "backendService": "compute.regionBackendServices.use",
            "ipAddress": "compute.addresses.use",
            "labels": "compute.forwardingRules.setLabels",
            "network": "compute.networks.use",
            "subnetwork": "compute.subnetworks.use compute.addresses.useInternal",
        },
        update={
            "allowGlobalAccess": "compute.forwardingRules.update",
            "labels": "compute.forwardingRules.setLabels",
        },
    ),
}

_VOLUMES = {
    "gcp:compute/disk:Disk": _compute(
        "disks",
        _ZONE,
        given={"labels": "compute.disks.setLabels"},
        update={"labels": "compute.disks.setLabels"},
        # they live as long as the disk, whose program ignores changes
        fixed=("size", "provisionedIops", "provisionedThroughput"),
    ),
    "gcp:compute/snapshot:Snapshot": Permissions("", "compute.snapshots.get", f"compute.snapshots.delete {_GLOBAL}"),
}
"""Disks of etcd; and what a storage driver creates, which `down` deletes with a cluster that expires."""

FUNCTIONS = {
    "gcp:compute/getImage:getImage": "compute.images.get compute.images.getFromFamily",
    "gcp:compute/getInstance:getInstance": "compute.instances.get compute.disks.get",
    "gcp:compute/getNetwork:getNetwork": "compute.networks.get",
    "gcp:compute/getRouters:getRouters": "compute.routers.list",
    "gcp:compute/getSubnetwork:getSubnetwork": "compute.subnetworks.get",
    "gcp:compute/getZones:getZones": "compute.zones.list",
    "gcp:dns/getManagedZone:getManagedZone": "dns.managedZones.get",
    "gcp:dns/getRecordSets:getRecordSets": "dns.resourceRecordSets.list",
    # with its token `down` lists disks and snapshots (disks.aggregatedList, snapshots.list), for which the provider has
    # no function
    "gcp:organizations/getClientConfig:getClientConfig": "compute.disks.list compute.snapshots.list",
    "gcp:storage/getBucketObjectContent:getBucketObjectContent": "storage.objects.get",
    "gcp:storage/getBucketObjects:getBucketObjects": "storage.objects.list",
}

COMMANDS = {
    "gcloud asset search-all-resources": "cloudasset.assets.searchAllResources",
    "gcloud config list": "",
    "gcloud compute machine-types list": "compute.machineTypes.list",
    "gcloud compute project-info describe": "compute.projects.get",
    "gcloud compute regions describe": "compute.regions.get",
    "gcloud compute routes list": "compute.routes.list",
    "gcloud compute start-iap-tunnel": "iap.tunnelInstances.accessViaIAP",
    "gcloud dns managed-zones describe": "dns.managedZones.get",
    "gcloud org-policies describe": "orgpolicy.policy.get",
    "gcloud resource-manager org-policies describe": "orgpolicy.policy.get",
    "gcloud services list": "serviceusage.services.list",
}

_USED = "asked of a resource that a new one refers to (Compute Engine roles and permissions)"
WITHOUT_CALL = {
    "iam.serviceAccounts.actAs": "asked of the service account that an instance gets (IAM: roles for service accounts)",
    "compute.disks.create": "an instance's boot disk is made with it (method instances.insert, IAM permissions)",
    "compute.addresses.createInternal": "addresses.insert of an internal address",
    "compute.addresses.deleteInternal": "addresses.delete of an internal address",
    "dns.networks.bindPrivateDNSZone": "asked of the network that sees a private zone (Cloud DNS: access control)",
    _NETWORK_POLICY: "asked of the network of a firewall rule, route, router or subnetwork",
    "iap.tunnelInstances.accessViaIAP": "asked when Identity-Aware Proxy opens a tunnel (IAP: TCP forwarding)",
    **{
        f"compute.{each}": _USED
        for each in (
            *("addresses.use", "addresses.useInternal", "images.useReadOnly", "instanceGroups.use", "instances.use"),
            *("networks.use", "regionBackendServices.use", "regionHealthChecks.useReadOnly"),
            *("subnetworks.use", "subnetworks.useExternalIp"),
        )
    },
}

TABLE = Table(
    {**_MACHINE, **_NETWORK, **_BALANCERS, **_VOLUMES, **permissions_of_stores.TYPES},
    FUNCTIONS,
    COMMANDS,
    WITHOUT_CALL,
)
