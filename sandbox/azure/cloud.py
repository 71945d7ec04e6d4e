"""The cloud description of Azure for the sandbox."""

from sandbox.azure import boot_obstacles, network_reads
from sandbox.azure.failures import FAILURES
from sandbox.azure.functions import FUNCTIONS, READS
from sandbox.azure.latencies import LATENCIES
from sandbox.azure.regions import REGIONS, SUBSCRIPTION
from sandbox.azure.tags import TAGGING
from sandbox.azure.types import PROPERTIES, TYPES
from sandbox.cloud import Cloud
from sandbox.latency import seconds_of
from sandbox.shapes import Shapes

AZURE = CLOUD = Cloud(
    name="azure-native",
    account=SUBSCRIPTION,
    types=TYPES,
    shapes=Shapes(PROPERTIES),
    functions=FUNCTIONS,
    regions=REGIONS,
    seconds=seconds_of(LATENCIES),
    tagging=TAGGING,
    failures=FAILURES,
    settle=boot_obstacles.settle,
    reads={**READS, **network_reads.READS},
    region="location",
    project="subscriptionId",
    deletes_first=True,  # pulumi-azure-native, provider.go: Diff
)
