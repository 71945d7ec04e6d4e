"""What is looked up once and then kept: machine images and zone names."""

from collections.abc import Iterable, Mapping

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components import releases
from components.generated import stash
from components.spec.models import OperatingSystem


class Images(pulumi.ComponentResource):
    """Image ids by operating system, and the region's zones, as they were at the first `up`.

    A newer image or a new zone changes nothing that exists; `images` or `rotation.images` in the spec do.
    """

    ids: Mapping[OperatingSystem, Output[str]]
    """AMI ids."""
    zone_names: Output[list[str]]
    """Zones of the region that need no opt-in, in order."""

    def __init__(
        self,
        name: str,
        systems: Iterable[OperatingSystem],
        pinned: Mapping[OperatingSystem, str],
        zone_names: tuple[str, ...],
        generation: int,
        opts: ResourceOptions | None = None,
    ) -> None:
        """systems: those to look up, once a generation. zone_names: from the spec, or empty to look them up."""
        super().__init__("mullion:aws:Images", name, {"systems": [each.value for each in systems]}, opts)
        self.ids = {os: Output.from_input(image) for os, image in pinned.items()}
        self.ids |= {os: self._look_up(f"{name}-{os.value}", os, generation) for os in systems}
        self.zone_names = Output.from_input(list(zone_names)) if zone_names else self._zones(f"{name}-zones")
        self.register_outputs({"ids": {os.value: each for os, each in self.ids.items()}, "zone_names": self.zone_names})

    def _look_up(self, name: str, os: OperatingSystem, generation: int) -> Output[str]:
        found = newest(os.value, InvokeOptions(parent=self))
        kept = stash(name, found, parent=self, trigger=generation)
        return Output.all(kept, found, generation).apply(lambda known: self._kept(os, *known))

    def _kept(self, os: OperatingSystem, kept: str, newest: str, generation: int) -> str:
        """The kept image; a warning where there is a newer one, since a withdrawn image stops every roll."""
        if os.is_windows and kept != newest:
            pulumi.warn(
                f"{os.value}: new machines boot {kept}, and {newest} is newer. AWS withdraws Windows images after some "
                f"three months; rotation.images: {generation + 1} looks it up anew and rolls the pools that use it",
                self,
            )
        return kept

    def _zones(self, name: str) -> Output[list[str]]:
        plain = [aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])]
        found = aws.get_availability_zones_output(state="available", filters=plain, opts=InvokeOptions(parent=self))
        return stash(name, found.names, parent=self)


def newest(os: str, opts: InvokeOptions | None = None) -> Output[str]:
    """The newest image of an operating system."""
    return aws.ssm.get_parameter_output(name=releases.image("aws", os), opts=opts).insecure_value
