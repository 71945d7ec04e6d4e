"""What is looked up: machine images and zone names."""

import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output

from components import releases


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """The newest image of an operating system, as machines name it: projects/PROJECT/global/images/NAME."""
    project, family = releases.image("gcp", os).split("/")
    found = gcp.compute.get_image_output(project=project, family=family, opts=opts)
    return found.name.apply(lambda image: f"projects/{project}/global/images/{image}")


def zones(region: Output[str], opts: InvokeOptions | None = None) -> Output[list[str]]:
    """Zones of the region, in order."""
    return gcp.compute.get_zones_output(region=region, status="UP", opts=opts).names.apply(sorted)
