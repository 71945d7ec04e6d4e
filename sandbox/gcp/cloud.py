"""The cloud description of GCP for the sandbox."""

from sandbox.cloud import Cloud
from sandbox.gcp import boot_obstacles, network_reads
from sandbox.gcp.failures import FAILURES
from sandbox.gcp.functions import FUNCTIONS, READS
from sandbox.gcp.labels import TAGGING
from sandbox.gcp.latencies import LATENCIES
from sandbox.gcp.regions import PROJECT, REGIONS
from sandbox.gcp.types import PROPERTIES, TYPES
from sandbox.latency import seconds_of
from sandbox.shapes import Shapes

GCP = CLOUD = Cloud(
    name="gcp",
    account=PROJECT,
    types=TYPES,
    shapes=Shapes(PROPERTIES),
    functions=FUNCTIONS,
    regions=REGIONS,
    seconds=seconds_of(LATENCIES),
    tagging=TAGGING,
    failures=FAILURES,
    settle=boot_obstacles.settle,
    reads={**READS, **network_reads.READS},
    project="project",
)
