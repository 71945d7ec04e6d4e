"""Names in each cloud of the resources that these tests change or read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from operations.clouds import cloud_tables
from sandbox.records import Record


@dataclass(frozen=True)
class Things:
    """One cloud's.

    size: a machine's input with its size. larger: one that its stacks do not have, of the control plane's kind and of
    the workers'. listener: type of what leads people to the API. network: how types of its network begin. image: from
    the inputs of a machine, an image for the spec that others do not have. kept: types of what is left of a stack.
    marked: properties that its SDK itself makes secrets in the state, though what we put there is public.

    route: type of a route, or of a table with its routes; ways: from the inputs of one, the ranges and where they lead,
    which is nothing where that is not a machine. hop: what routes call a machine of the sandbox. moved: whether that
    changes when it is made anew. forwards: type and input that say whether a machine's packets may have addresses of
    pods, and the value for yes.
    """

    size: str
    larger: tuple[str, str]
    listener: str
    network: str
    image: Callable[[Mapping[str, Any]], str]
    kept: frozenset[str]
    marked: frozenset[str]
    route: str
    ways: Callable[[Mapping[str, Any]], list[tuple[str, str | None]]]
    hop: Callable[[Record], str]
    moved: bool
    forwards: tuple[str, str, Any]


THINGS = {
    "aws": Things(
        size="instanceType",
        larger=("m6i.xlarge", "m6i.4xlarge"),
        listener="aws:lb/listener:Listener",
        network="aws:ec2",
        image=lambda inputs: inputs["ami"],
        kept=frozenset(
            f"aws:s3/{kind}"
            for kind in (
                "bucket:Bucket",
                "bucketLifecycleConfiguration:BucketLifecycleConfiguration",
                "bucketPolicy:BucketPolicy",
                "bucketPublicAccessBlock:BucketPublicAccessBlock",
                "bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
                "bucketVersioning:BucketVersioning",
            )
        ),
        marked=frozenset(),
        route="aws:ec2/route:Route",
        ways=lambda inputs: [(inputs["destinationCidrBlock"], inputs.get("networkInterfaceId"))],
        hop=lambda machine: machine.outputs["primaryNetworkInterfaceId"],
        moved=True,
        forwards=("aws:ec2/instance:Instance", "sourceDestCheck", False),
    ),
    "gcp": Things(
        size="machineType",
        larger=("n2-standard-4", "n2-standard-16"),
        listener="gcp:compute/forwardingRule:ForwardingRule",
        network="gcp:compute",
        image=lambda inputs: inputs["bootDisk"]["initializeParams"]["image"],
        kept=frozenset({"gcp:storage/bucket:Bucket"}),
        # of objects in buckets, whose secrets would be found in the sandbox in plain text; and labels
        marked=frozenset({"content", "effectiveLabels", "pulumiLabels"}),
        route="gcp:compute/route:Route",
        ways=lambda inputs: [(inputs["destRange"], inputs.get("nextHopIp"))],
        hop=lambda machine: cloud_tables.GCP.address_of(machine.inputs),
        moved=False,
        forwards=("gcp:compute/instance:Instance", "canIpForward", True),
    ),
    "azure": Things(
        size="hardwareProfile.vmSize",
        larger=("Standard_D4s_v5", "Standard_D16s_v5"),
        listener="azure-native:network:LoadBalancer",
        network="azure-native:network",
        image=lambda _: "Canonical:ubuntu-24_04-lts:server:24.4.202509090",
        kept=frozenset(
            f"azure-native:{kind}"
            for kind in (
                *("resources:ResourceGroup", "storage:StorageAccount", "storage:BlobContainer"),
                *("storage:BlobServiceProperties", "storage:ManagementPolicy"),
            )
        ),
        marked=frozenset(),
        route="azure-native:network:RouteTable",
        ways=lambda inputs: [(each["addressPrefix"], each.get("nextHopIpAddress")) for each in inputs["routes"]],
        hop=lambda machine: cloud_tables.AZURE.address_of(machine.inputs),
        moved=False,
        forwards=("azure-native:network:NetworkInterface", "enableIPForwarding", True),
    ),
}
