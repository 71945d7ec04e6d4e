"""Lookups of machine images and zone names."""

import pulumi_aws as aws
from pulumi import InvokeOptions, Output

from components import releases
from components.wiring.images import ImageLookup


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """Return the id of the newest image of an operating system."""
    return aws.ssm.get_parameter_output(name=releases.image("aws", os), opts=opts).insecure_value


def zones(opts: InvokeOptions | None = None) -> Output[list[str]]:
    """Return the region's zones that need no opt-in, in order."""
    plain = [aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])]
    return aws.get_availability_zones_output(state="available", filters=plain, opts=opts).names


LOOKUP = ImageLookup(newest, zones, withdrawn="AWS withdraws Windows images after some three months")
