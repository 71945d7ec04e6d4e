"""What is looked up: machine images and zone names."""

import pulumi_aws as aws
from pulumi import InvokeOptions, Output

from components import releases

WITHDRAWN = "AWS withdraws Windows images after some three months"


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """The id of the newest image of an operating system."""
    return aws.ssm.get_parameter_output(name=releases.image("aws", os), opts=opts).insecure_value


def zones(opts: InvokeOptions | None = None) -> Output[list[str]]:
    """Zones of the region that need no opt-in, in order."""
    plain = [aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])]
    return aws.get_availability_zones_output(state="available", filters=plain, opts=opts).names
