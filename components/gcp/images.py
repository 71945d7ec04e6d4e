"""What is looked up once and then kept: machine images and zone names."""

from collections.abc import Iterable, Mapping

import pulumi
import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output, ResourceOptions

from components import releases
from components.generated import stash
from components.spec.models import OperatingSystem


class Images(pulumi.ComponentResource):
    """Images by operating system, and the region's zones, as they were at the first `up`.

    A newer image or a new zone changes nothing that exists; `images` or `rotation.images` in the spec do.
    """

    ids: Mapping[OperatingSystem, Output[str]]
    """As machines name them: projects/PROJECT/global/images/NAME."""
    zone_names: Output[list[str]]
    """Zones of the region, in order."""

    def __init__(
        self,
        name: str,
        systems: Iterable[OperatingSystem],
        pinned: Mapping[OperatingSystem, str],
        zone_names: tuple[str, ...],
        generation: int,
        region: Output[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        """systems: those to look up, once a generation. zone_names: from the spec, or empty to look them up."""
        super().__init__("mullion:gcp:Images", name, {"systems": [each.value for each in systems]}, opts)
        invoke = InvokeOptions(parent=self)
        self.ids = {os: Output.from_input(image) for os, image in pinned.items()}
        for os in systems:
            self.ids[os] = stash(f"{name}-{os.value}", newest(os.value, invoke), parent=self, trigger=generation)
        if zone_names:
            self.zone_names = Output.from_input(list(zone_names))
        else:
            zones = gcp.compute.get_zones_output(region=region, status="UP", opts=invoke).names
            self.zone_names = stash(f"{name}-zones", zones.apply(sorted), parent=self)
        self.register_outputs({"ids": {os.value: each for os, each in self.ids.items()}, "zone_names": self.zone_names})


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """The newest image of an operating system, as machines name it."""
    project, family = releases.image("gcp", os).split("/")
    found = gcp.compute.get_image_output(project=project, family=family, opts=opts)
    return found.name.apply(lambda image: f"projects/{project}/global/images/{image}")
