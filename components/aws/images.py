"""Lookups of machine images and zone names."""

from functools import partial

import pulumi_aws as aws
from pulumi import InvokeOptions, Output

from components import releases
from components.aws.offerings import Offers, fitting_first
from components.plan import ClusterPlan
from components.wiring.images import ImageLookup


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """Return the id of the newest image of an operating system."""
    return aws.ssm.get_parameter_output(name=releases.image("aws", os), opts=opts).insecure_value


def zones(plan: ClusterPlan, offered: Output[Offers], opts: InvokeOptions | None = None) -> Output[list[str]]:
    """Return the region's zones that need no opt-in, in order, those that offer all planned sizes first."""
    plain = [aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])]
    found = aws.get_availability_zones_output(state="available", filters=plain, opts=opts)
    return Output.all(found.names, offered).apply(lambda known: fitting_first(plan, *known))


def lookup(plan: ClusterPlan, offered: Output[Offers]) -> ImageLookup:
    """Return the lookups for a planned cluster."""
    return ImageLookup(
        newest, partial(zones, plan, offered), withdrawn="AWS withdraws Windows images after some three months"
    )
