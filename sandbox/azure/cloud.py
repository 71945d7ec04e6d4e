"""The cloud description of Azure for the sandbox."""

from sandbox.azure import boot_obstacles
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
    "azure-native",
    SUBSCRIPTION,
    TYPES,
    Shapes(PROPERTIES),
    FUNCTIONS,
    REGIONS,
    seconds_of(LATENCIES),
    TAGGING,
    FAILURES,
    boot_obstacles.settle,
    READS,
    region="location",
    project="subscriptionId",
    deletes_first=True,  # pulumi-azure-native, provider.go: Diff
)
