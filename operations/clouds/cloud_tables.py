"""Differences between the clouds for commands: types of resources, names of properties, accounts."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from components import clouds
from components.naming import CONTROL_PLANE, WORKERS

State = Iterable[Mapping[str, Any]]
"""The resources of a state, as `pulumi stack export` gives them."""


@dataclass(frozen=True)
class Cloud:
    """How one cloud appears in states and in the environment. Names of properties are the provider's."""

    name: str
    machine: str
    """Type of machines."""
    instance: str
    """Output with the instance id that the machine itself knows; `id` is the resource's id."""
    zone: str
    tags: str
    """Property that holds the tags."""
    mark: str
    """Prefix of the keys of Mullion's tags; `mark_of` knows types with another one."""
    search: str
    """Command that finds resources by their URN tag; {tag} is the tag's value."""
    search_all: str
    """Command that lists the resources of all clusters of Mullion, by their tags."""
    address: tuple[str | int, ...]
    """Path of the private address among a machine's inputs."""
    bucket: str
    """Type of buckets."""
    named: str
    """Output with a bucket's name."""
    stored: str
    """Type of objects in a bucket."""
    key: str
    """Input with an object's key."""
    role: tuple[str, str] | None
    """Type and output of the role id that status records' names begin with; None if they begin with the identity's
    name."""
    passing: tuple[str, ...]
    """Prefixes of the configuration keys that the provider needs."""
    removal: str
    """Command that deletes a kept bucket: {0} is its id, {1} and on are the parts of the id between slashes."""
    account: tuple[tuple[str, ...], tuple[str, ...]]
    """Command that prints the account of this environment, and the account's path in its JSON."""
    chosen_by: tuple[str, ...]
    """Environment variables that choose an identity; none holds a secret."""
    unknown: str
    """Text to show if the account is unknown."""
    searches: Mapping[str, str] = field(default_factory=dict[str, str])
    """Commands for types that `search` does not find, by type; {name} is the name among the resource's inputs."""
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Prefix of the keys of Mullion's tags, by type, where it is not `mark`."""
    versions: str = ""
    """Command that lists an image's versions, for clouds whose provider does not; {0} and on are the image's parts."""
    identity: tuple[str, str, str] | None = None
    """Type of identities, output of machines that contains theirs, and the output of both by which they are compared;
    None where no option decides which machines share an identity."""
    disk: str = ""
    """Type of a machine's disk that is a resource of its own; empty where disks are part of their machines."""
    in_ids: re.Pattern[str] | None = None
    """Matches the account in the ids of a state's resources; None where a deletion finds its account in the state."""

    def accounts(self, state: State) -> set[str]:
        """Return the accounts that a state's resources are in; empty where `in_ids` is None."""
        texts = (str((each.get("outputs") or {}).get("arn") or "") for each in state)
        return {match[1] for text in texts if self.in_ids and (match := self.in_ids.match(text))}

    def tag_of(self, urn: str) -> str:
        """Return a URN in the form of its tag."""
        from components.wiring import tags  # imports Pulumi, which most commands do not need

        return tags.urn_digest(urn) if self.tags == "labels" else tags.tag_value(urn)

    def search_for(self, resource: Mapping[str, Any]) -> str:
        """Return the command that finds a tagged resource of a state in the account."""
        name = resource.get("inputs", {}).get("name", "")
        text = self.searches.get(resource["type"], self.search)
        return text.format(tag=shlex.quote(self.tag_of(resource["urn"])), name=shlex.quote(str(name)))

    def mark_of(self, type_: str) -> str:
        """Return the prefix of the keys of Mullion's tags on resources of a type."""
        return self.marks.get(type_, self.mark)

    def tag(self, properties: Mapping[str, Any], name: str, type_: str = "") -> str:
        """Return the value of a tag of Mullion's; empty if it is not set. type_: default is a type with `mark`."""
        return str((properties.get(self.tags) or {}).get(f"{self.mark_of(type_)}{name}") or "")

    def zone_of(self, outputs: Mapping[str, Any]) -> str:
        """Return the name of a machine's zone; empty if it has none. Azure has a list of one."""
        zone = outputs.get(self.zone) or ""
        return str(zone[0] if isinstance(zone, list) else zone)

    def address_of(self, inputs: Any) -> str:
        """Return the planned private address of a machine; empty if its inputs have none."""
        for step in self.address:
            try:
                inputs = inputs[step]
            except (KeyError, IndexError, TypeError):
                return ""
        return str(inputs)

    def is_machine(self, resource: Mapping[str, Any]) -> bool:
        """Return whether a resource of a state is a machine that is not marked for deletion."""
        return resource["type"] == self.machine and not resource.get("delete")

    def is_disk(self, resource: Mapping[str, Any]) -> bool:
        """Return whether a resource of a state is a machine's disk that is not marked for deletion."""
        return bool(self.disk) and resource["type"] == self.disk and not resource.get("delete")


AWS = Cloud(
    name="aws",
    machine="aws:ec2/instance:Instance",
    instance="id",
    zone="availabilityZone",
    tags="tags",
    mark="mullion:",
    search="aws resourcegroupstaggingapi get-resources --tag-filters Key=mullion:urn,Values={tag}",
    search_all="aws resourcegroupstaggingapi get-resources --tag-filters Key=mullion:cluster",
    # the tagging API lists no roles and profiles, and global resources only in this region
    searches={
        "aws:iam/role:Role": "aws iam get-role --role-name {name}",
        "aws:iam/instanceProfile:InstanceProfile": "aws iam get-instance-profile --instance-profile-name {name}",
        "aws:route53/zone:Zone": "aws resourcegroupstaggingapi get-resources --region us-east-1"
        " --tag-filters Key=mullion:urn,Values={tag}",
    },
    address=("privateIp",),
    bucket="aws:s3/bucket:Bucket",
    named="bucket",
    stored="aws:s3/bucketObjectv2:BucketObjectv2",
    key="key",
    role=("aws:iam/role:Role", "uniqueId"),
    passing=("aws:",),
    # S3 deletes no bucket with versions or delete markers, and `aws s3 rb --force` deletes neither
    removal="aws s3api list-object-versions --bucket {0} --output text"
    " --query '[Versions, DeleteMarkers][].[Key, VersionId]' | while read -r key version; do"
    ' aws s3api delete-object --bucket {0} --key "$key" --version-id "$version" > /dev/null; done;'
    " aws s3api delete-bucket --bucket {0}",
    account=(("aws", "sts", "get-caller-identity", "--output", "json"), ("Account",)),
    chosen_by=("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN"),
    unknown="unknown (install the AWS command line, or see: aws sts get-caller-identity)",
    # ids of EC2 name no account; ARNs do ("Amazon Resource Names"). Ids of Azure contain the subscription, and the
    # provider in a state of Google Cloud the project.
    in_ids=re.compile(r"arn:[^:]*:[^:]*:[^:]*:(\d{12}):"),
)

GCP = Cloud(
    name="gcp",
    machine="gcp:compute/instance:Instance",
    disk="gcp:compute/disk:Disk",
    instance="instanceId",
    zone="zone",
    tags="labels",
    mark="mullion_",
    search="gcloud asset search-all-resources --scope=projects/PROJECT --query=labels.mullion_urn={tag}",
    search_all="gcloud asset search-all-resources --scope=projects/PROJECT --query=labels.mullion_cluster:*",
    address=("networkInterfaces", 0, "networkIp"),
    bucket="gcp:storage/bucket:Bucket",
    named="name",
    stored="gcp:storage/bucketObject:BucketObject",
    key="name",
    role=None,
    passing=("gcp:",),
    removal="gcloud storage rm --recursive gs://{}",
    account=(("gcloud", "config", "list", "--format", "json"), ("core", "project")),
    chosen_by=("CLOUDSDK_ACTIVE_CONFIG_NAME", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_PROJECT"),
    unknown="unknown (install the gcloud command line, or see: gcloud config list)",
    identity=("gcp:serviceaccount/account:Account", "serviceAccount", "email"),
)

PRIVATE_DNS = ("azure-native:privatedns:PrivateZone", "azure-native:privatedns:VirtualNetworkLink")
"""Types of Azure that drop tags with a colon in their key (azure-rest-api-specs#11748)."""

AZURE = Cloud(
    name="azure",
    machine="azure-native:compute:VirtualMachine",
    instance="vmId",
    zone="zones",
    tags="tags",
    mark="mullion:",
    search="az resource list --tag mullion:urn={tag}",
    searches=dict.fromkeys(PRIVATE_DNS, "az resource list --tag mullion-urn={tag}"),
    marks=dict.fromkeys(PRIVATE_DNS, "mullion-"),
    search_all="az resource list --tag mullion:cluster",
    address=("tags", "mullion:address"),  # the address itself is an input of the network interface
    bucket="azure-native:storage:BlobContainer",
    named="id",
    stored="azure-native:storage:Blob",
    key="blobName",
    role=None,
    passing=("azure-native:",),
    removal="az group delete --name {5}",
    account=(("az", "account", "show", "--output", "json"), ("id",)),
    chosen_by=("ARM_SUBSCRIPTION_ID", "ARM_CLIENT_ID", "AZURE_CONFIG_DIR", "AZURE_CLIENT_ID"),
    unknown="unknown (install the az command line, or see: az account show)",
    versions="az vm image list --all --publisher {0} --offer {1} --sku {2} --query [].version --output tsv",
)

CLOUDS = {each.name: each for each in (AWS, GCP, AZURE)}

MACHINES = frozenset(each.machine for each in CLOUDS.values())
OBJECTS = frozenset(each.stored for each in CLOUDS.values())

KEYS = (*(facts.region_key for facts in clouds.CLOUDS.values()), "gcp:project")
"""Configuration keys of region and project; other keys may hold credentials."""


def of(state: State) -> Cloud:
    """Return the cloud of a state's resources; AWS if it has none."""
    types = {each["type"].partition(":")[0] for each in state}
    return next((each for each in CLOUDS.values() if each.machine.partition(":")[0] in types), AWS)


def of_type(token: str) -> Cloud:
    """Return the cloud of a type."""
    package = token.partition(":")[0]
    return next(each for each in CLOUDS.values() if each.machine.partition(":")[0] == package)


def roles(
    cloud: Cloud, outputs: Mapping[tuple[str, str], Mapping[str, Any]], stack: str, *, joins: bool = False
) -> dict[str, str]:
    """Return role ids by name of the identity, where status records' names begin with them. Raises KeyError if the
    state lacks one. joins: whether the control plane is somebody else's.
    """
    if cloud.role is None:
        return {}
    type_, output = cloud.role
    names = (WORKERS,) if joins else (CONTROL_PLANE, WORKERS)
    return {name: str(outputs[type_, f"{stack}-{name}"][output]) for name in names}


def identities(cloud: Cloud, outputs: Mapping[tuple[str, str], Mapping[str, Any]], stack: str) -> dict[str, str]:
    """Return the name of each machine's identity, where an option decides which machines share one; else nothing.

    A machine has the identity of its creation: after a change of the option until it is replaced.
    """
    if cloud.identity is None:
        return {}
    type_, contains, compared = cloud.identity
    made = {
        str(each.get(compared)): name.removeprefix(f"{stack}-")
        for (kind, name), each in outputs.items()
        if kind == type_
    }
    machines = {name: each.get(contains) or {} for (kind, name), each in outputs.items() if kind == cloud.machine}
    return {
        name.removeprefix(f"{stack}-"): made[str(own[compared])]
        for name, own in machines.items()
        if str(own.get(compared)) in made
    }


GONE, STOPPED = "gone", "stopped"
"""States of an instance that does not run."""


def provider(name: str) -> ModuleType:
    """Return the module that calls a cloud's provider, inside a program: operations/clouds/<cloud>.py."""
    return import_module(f"operations.clouds.{name}")
