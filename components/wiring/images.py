"""Machine images and zone names: looked up at the first `up`, then kept in the state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi
from pulumi import InvokeOptions, Output, ResourceOptions

from components.spec.models import OperatingSystem
from components.wiring.context import ClusterContext
from components.wiring.kept_secrets import stash


@dataclass(frozen=True)
class ImageLookup:
    """A cloud's functions that look up images and zones."""

    newest: Callable[[str, InvokeOptions], Output[str]]
    """Returns the newest image of an operating system."""
    zones: Callable[[InvokeOptions], Output[list[str]]]
    """Returns the region's zones, in order."""
    withdrawn: str = ""
    """A sentence on when the cloud removes older Windows images; empty if it keeps them."""


class Images(pulumi.ComponentResource):
    """Images by operating system, and the region's zones, as looked up at the first `up`.

    A newer image or zone changes nothing; `images` and `rotation.images` of the stack file do.
    """

    ids: Mapping[OperatingSystem, Output[str]]
    """Image ids as the arguments of machines take them."""
    zone_names: Output[list[str]]
    """The region's zones in order, or those that the spec names."""

    def __init__(self, context: ClusterContext, lookup: ImageLookup, opts: ResourceOptions | None = None) -> None:
        plan, spec, systems = context.plan, context.plan.spec, context.plan.operating_systems
        inputs = {"systems": [os.value for os in systems]}
        super().__init__(f"mullion:{spec.cloud.value}:Images", plan.name, inputs, opts)
        self._withdrawn, self._generation, invoke = lookup.withdrawn, spec.rotation.images, InvokeOptions(parent=self)
        self.ids = {os: Output.from_input(image) for os, image in spec.images.items()}
        self.ids |= {os: self._kept(plan.name, os, lookup.newest(os.value, invoke)) for os in systems}
        if plan.network.zone_names:
            self.zone_names = Output.from_input(list(plan.network.zone_names))
        else:
            self.zone_names = stash(f"{plan.name}-zones", lookup.zones(invoke), parent=self)
        self.register_outputs({"ids": {os.value: id_ for os, id_ in self.ids.items()}, "zone_names": self.zone_names})

    def _kept(self, cluster: str, os: OperatingSystem, newest: Output[str]) -> Output[str]:
        kept = stash(f"{cluster}-{os.value}", newest, parent=self, trigger=self._generation)
        if not (os.is_windows and self._withdrawn):
            return kept
        return Output.all(kept, newest).apply(lambda images: self._warned(os, *images))

    def _warned(self, os: OperatingSystem, kept: str, newest: str) -> str:
        """Return the kept image; warn if a newer one exists, because a withdrawn image stops every roll."""
        if kept != newest:
            pulumi.warn(
                f"{os.value}: new machines boot {kept}, and {newest} is newer. {self._withdrawn}; "
                f"rotation.images: {self._generation + 1} looks it up anew and rolls the pools that use it",
                self,
            )
        return kept
