"""What the clouds call the things that these tests change or look at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Things:
    """One cloud's.

    size: a machine's input with its size. larger: one that its stacks do not have, of the control plane's kind and of
    the workers'. listener: type of what leads people to the API. network: how types of its network begin. image: from
    the inputs of a machine, an image for the spec that others do not have. kept: types of what is left of a stack.
    """

    size: str
    larger: tuple[str, str]
    listener: str
    network: str
    image: Callable[[Mapping[str, Any]], str]
    kept: frozenset[str]


THINGS = {
    "aws": Things(
        size="instanceType",
        larger=("m6i.xlarge", "m6i.4xlarge"),
        listener="aws:lb/listener:Listener",
        network="aws:ec2",
        image=lambda inputs: inputs["ami"],
        kept=frozenset(
            f"aws:s3/{each}"
            for each in (
                "bucket:Bucket",
                "bucketLifecycleConfiguration:BucketLifecycleConfiguration",
                "bucketPolicy:BucketPolicy",
                "bucketPublicAccessBlock:BucketPublicAccessBlock",
                "bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
                "bucketVersioning:BucketVersioning",
            )
        ),
    ),
    "gcp": Things(
        size="machineType",
        larger=("n2-standard-4", "n2-standard-16"),
        listener="gcp:compute/forwardingRule:ForwardingRule",
        network="gcp:compute",
        image=lambda inputs: inputs["bootDisk"]["initializeParams"]["image"],
        kept=frozenset({"gcp:storage/bucket:Bucket"}),
    ),
    "azure": Things(
        size="hardwareProfile.vmSize",
        larger=("Standard_D4s_v5", "Standard_D16s_v5"),
        listener="azure-native:network:LoadBalancer",
        network="azure-native:network",
        image=lambda _: "Canonical:ubuntu-24_04-lts:server:24.4.202509090",
        kept=frozenset(
            f"azure-native:{each}"
            for each in (
                *("resources:ResourceGroup", "storage:StorageAccount", "storage:BlobContainer"),
                *("storage:BlobServiceProperties", "storage:ManagementPolicy"),
            )
        ),
    ),
}
