"""What differs between the clouds for commands: types of resources, where names stand, which account is meant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from components import clouds
from components.naming import CONTROL_PLANE

State = Iterable[Mapping[str, Any]]
"""The resources of a state, as `pulumi stack export` gives them."""


@dataclass(frozen=True)
class Cloud:
    """One cloud, as states and environments show it. Names of properties are the provider's."""

    name: str
    machine: str
    """Type of a machine."""
    instance: str
    """Output that a machine knows itself by; `id` is the resource's own."""
    zone: str
    tags: str
    """Property with the tags."""
    mark: str
    """How the keys of our tags begin."""
    search: str
    """Command that finds what has a tag with this URN."""
    address: tuple[str | int, ...]
    """Path of the private address among a machine's inputs."""
    bucket: str
    """Type of a store."""
    named: str
    """Output with a store's name."""
    stored: str
    """Type of an object in a store."""
    key: str
    """Input with its name there."""
    role: tuple[str, str] | None
    """Type and output of what names of status records begin with; None: the group of the machines."""
    passing: tuple[str, ...]
    """How keys of a stack's configuration begin that its provider needs."""
    removal: str
    """Command that removes a kept store: {0} is its id, {1} and on are the parts of that between slashes."""
    account: tuple[tuple[str, ...], tuple[str, ...]]
    """Command that says which account this environment leads to, and the way to it in its JSON."""
    chosen_by: tuple[str, ...]
    """Variables that choose an identity; none holds a secret."""
    unknown: str
    """What to say where the account is not known."""
    versions: str = ""
    """Command that lists the versions of an image, whose parts are {0} and on, where the provider does not."""

    def tag_of(self, urn: str) -> str:
        """A URN as its tag holds it."""
        from components.wiring import tags  # which brings Pulumi: not for every command

        return tags.urn_digest(urn) if self.tags == "labels" else tags.tag_value(urn)

    def tag(self, properties: Mapping[str, Any], name: str) -> str:
        """A tag of ours, or empty."""
        return str((properties.get(self.tags) or {}).get(f"{self.mark}{name}") or "")

    def zone_of(self, outputs: Mapping[str, Any]) -> str:
        """Name of a machine's zone, or empty; Azure has a list of one."""
        zone = outputs.get(self.zone) or ""
        return str(zone[0] if isinstance(zone, list) else zone)

    def address_of(self, inputs: Any) -> str:
        """The planned private address of a machine, or empty."""
        for step in self.address:
            try:
                inputs = inputs[step]
            except (KeyError, IndexError, TypeError):
                return ""
        return str(inputs)

    def is_machine(self, resource: Mapping[str, Any]) -> bool:
        """Whether a resource of a state is a machine that is not about to go."""
        return resource["type"] == self.machine and not resource.get("delete")


AWS = Cloud(
    name="aws",
    machine="aws:ec2/instance:Instance",
    instance="id",
    zone="availabilityZone",
    tags="tags",
    mark="mullion:",
    search="aws resourcegroupstaggingapi get-resources --tag-filters Key=mullion:urn,Values={}",
    address=("privateIp",),
    bucket="aws:s3/bucket:Bucket",
    named="bucket",
    stored="aws:s3/bucketObjectv2:BucketObjectv2",
    key="key",
    role=("aws:iam/role:Role", "uniqueId"),
    passing=("aws:",),
    removal="aws s3 rb --force s3://{}",
    account=(("aws", "sts", "get-caller-identity", "--output", "json"), ("Account",)),
    chosen_by=("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN"),
    unknown="unknown (install the AWS command line, or see: aws sts get-caller-identity)",
)

GCP = Cloud(
    name="gcp",
    machine="gcp:compute/instance:Instance",
    instance="instanceId",
    zone="zone",
    tags="labels",
    mark="mullion_",
    search="gcloud asset search-all-resources --query=labels.mullion_urn={}",
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
)

AZURE = Cloud(
    name="azure",
    machine="azure-native:compute:VirtualMachine",
    instance="vmId",
    zone="zones",
    tags="tags",
    mark="mullion:",
    search="az resource list --tag mullion:urn={}",
    address=("tags", "mullion:address"),  # the interface has it
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
"""Keys of a stack's configuration that say where it is; others may hold credentials."""


def of(state: State) -> Cloud:
    """The cloud that a state's resources are in; AWS where it has none."""
    types = {each["type"].partition(":")[0] for each in state}
    return next((each for each in CLOUDS.values() if each.machine.partition(":")[0] in types), AWS)


def of_type(token: str) -> Cloud:
    """The cloud that a type belongs to."""
    package = token.partition(":")[0]
    return next(each for each in CLOUDS.values() if each.machine.partition(":")[0] == package)


def role(cloud: Cloud, outputs: Mapping[tuple[str, str], Mapping[str, Any]], stack: str, group: str) -> str:
    """What names of status records begin with. KeyError where the state does not tell."""
    if cloud.role is None:
        return group
    type_, output = cloud.role
    return str(outputs[type_, f"{stack}-{group}"][output])


GONE, STOPPED = "gone", "stopped"
"""What a cloud says of an instance that does not run."""

GROUPS = (CONTROL_PLANE, "workers")


def provider(name: str) -> ModuleType:
    """The module that asks a cloud's provider, inside a program: operations/on_<cloud>.py."""
    return import_module(f"operations.clouds.{name}")
