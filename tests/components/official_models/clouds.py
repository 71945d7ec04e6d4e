"""The judges of the three clouds, what none judges, and faults that are not ours."""

from collections.abc import Callable
from typing import Any

from tests.components.official_models import aws_requests, aws_table, azure_models, azure_requests, gcp_requests
from tests.components.official_models.cases import Body

TABLES: dict[str, dict[str, Any]] = {
    "aws": aws_table.ROWS,
    "azure": azure_requests.ROWS,
    "gcp": gcp_requests.ROWS,
}
"""The request of each resource type, by cloud and type without the provider's name."""

WITHOUT_JUDGE = {
    "azure-native:storage:Blob": "the provider uploads it by the storage account itself, whose client has no models of"
    " requests; azure-storage-blob judges the same uploads in tests/sandbox/services",
    "azure-native:storage:StorageAccountStaticWebsite": "the provider switches it by the storage account itself; it has"
    " no input but the account",
}
"""Registered resource types that no model describes, and why."""

NOT_REGISTERED = {
    "aws:ebs/snapshot:Snapshot": "the storage driver creates it for a VolumeSnapshot",
    "aws:ebs/volume:Volume": "the storage driver creates it for a claim",
    "aws:ec2/amiFromInstance:AmiFromInstance": "the program of `mullion image bake` registers it, no stack; judged by"
    " tests/components/aws/test_baking.py",
    "aws:elb/loadBalancer:LoadBalancer": "AWS's cloud controller creates it for a Service",
    "azure-native:network:Route": "Azure's cloud controller creates it for a Node",
    "gcp:compute/snapshot:Snapshot": "the storage driver creates it for a VolumeSnapshot",
}
"""Resource types of the sandbox that no component registers, and why it has them."""

EXCUSED = {
    ("azure-native:compute:VirtualMachine", "hardwareProfile.vmSize", "is not one of"): "the model lists the sizes of"
    " 2019 and says itself that the list is no longer updated; sizes are judged by components/catalogue",
    ("gcp:compute/instanceGroup:InstanceGroup", "network", "output only"): "an argument of the provider, which sends"
    " it; whether the API reads it can only be seen in a project",
}
"""Faults that the models find and that are not mended: type, path, words; why."""

_JUDGES: dict[str, Callable[[Body, dict[str, Any]], list[str]]] = {
    "aws": lambda body, inputs: aws_requests.faults(row(body.type), inputs, body.name),
    "azure": lambda body, inputs: azure_models.faults(row(body.type), inputs),
    "gcp": lambda body, inputs: gcp_requests.faults(row(body.type), inputs),
}


def row(type_: str) -> Any:
    """Return the row of a resource type with the provider's name."""
    package, _, name = type_.partition(":")
    return TABLES[cloud(package)][name]


def cloud(package: str) -> str:
    """Return the cloud of a provider's name or of a type that begins with it."""
    return package.partition(":")[0].removesuffix("-native")


def faults(body: Body, inputs: dict[str, Any] | None = None) -> list[str]:
    """Return what the cloud's models say against a body, with other inputs if given, without what is excused."""
    found = _JUDGES[cloud(body.type)](body, body.inputs if inputs is None else inputs)
    return [fault for fault in found if not excuse(body.type, fault)]


def excuse(type_: str, fault: str) -> tuple[str, str, str] | None:
    """Return the row of EXCUSED that a fault belongs to."""
    rows = (key for key in EXCUSED if key[0] == type_ and fault.startswith(f"{key[1]}:") and key[2] in fault)
    return next(rows, None)


def excused(body: Body) -> set[tuple[str, str, str]]:
    """Return the rows of EXCUSED that a body needs."""
    found = _JUDGES[cloud(body.type)](body, body.inputs)
    return {key for fault in found if (key := excuse(body.type, fault))}
