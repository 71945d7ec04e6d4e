"""The cloud description of AWS for the sandbox."""

from sandbox.aws import boot_obstacles, network_reads, tagged_reads
from sandbox.aws.failures import FAILURES
from sandbox.aws.functions import FUNCTIONS
from sandbox.aws.latencies import LATENCIES
from sandbox.aws.reads import READS
from sandbox.aws.regions import ACCOUNT, REGIONS
from sandbox.aws.tags import TAGGING
from sandbox.aws.types import PROPERTIES, TYPES
from sandbox.cloud import Cloud
from sandbox.latency import seconds_of
from sandbox.shapes import Shapes

AWS = CLOUD = Cloud(
    name="aws",
    account=ACCOUNT,
    types=TYPES,
    shapes=Shapes(PROPERTIES),
    functions=FUNCTIONS,
    regions=REGIONS,
    seconds=seconds_of(LATENCIES),
    tagging=TAGGING,
    failures=FAILURES,
    settle=boot_obstacles.settle,
    reads={**READS, **network_reads.READS, **tagged_reads.READS},
)
