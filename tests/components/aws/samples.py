"""The AWS stacks of the tests, a stack with changed options, and its EC2 instances."""

from typing import Any

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, Registered
from tests.components.recorded_wiring import config, of

STACKS = ("aws-dev", "aws-ci", "aws-prod", "aws-docker", "aws-routed")
INSTANCE = "aws:ec2/instance:Instance"


def changed(stack: str, **fields: Any) -> dict[str, Any]:
    return {**config(stack), CLUSTER: {**config(stack)[CLUSTER], **fields}}


def instances(found: Recording) -> dict[str, Registered]:
    return of(found, INSTANCE)
