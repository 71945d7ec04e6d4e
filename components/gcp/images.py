"""Lookups of machine images and zone names."""

import re
from collections.abc import Iterable
from functools import partial

import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output

from components import clouds, releases
from components.wiring.images import ImageLookup


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """Return the newest image of an operating system: projects/PROJECT/global/images/NAME."""
    project, family = releases.image("gcp", os).split("/")
    image = gcp.compute.get_image_output(project=project, family=family, opts=opts)
    return image.name.apply(lambda name: f"projects/{project}/global/images/{name}")


def zones(region: Output[str], opts: InvokeOptions | None = None) -> Output[list[str]]:
    """Return the region's zones, in order."""
    found = gcp.compute.get_zones_output(region=region, status="UP", opts=opts)
    return Output.all(region, found.names).apply(lambda known: ordinary(*known))


def ordinary(region: str, names: Iterable[str]) -> list[str]:
    """Return a region's zones, in order, without AI zones (us-central1-ai1a), which lack most machine types."""
    form = clouds.CLOUDS["gcp"].zone_form.format(re.escape(region))
    return sorted(name for name in names if re.fullmatch(form, name))


def lookup(region: Output[str]) -> ImageLookup:
    """Return the lookups for a region. GCP keeps deprecated images, so none is withdrawn."""
    return ImageLookup(newest, partial(zones, region))
