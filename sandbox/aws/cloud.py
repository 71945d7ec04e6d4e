"""AWS as a cloud of the sandbox."""

from sandbox.aws import boots
from sandbox.aws.functions import FUNCTIONS
from sandbox.aws.reads import READS
from sandbox.aws.regions import ACCOUNT, REGIONS
from sandbox.aws.types import PROPERTIES, TYPES
from sandbox.cloud import Cloud
from sandbox.latency import seconds
from sandbox.shapes import Shapes

AWS = Cloud("aws", ACCOUNT, TYPES, Shapes(PROPERTIES), FUNCTIONS, REGIONS, seconds, boots.settle, READS)
