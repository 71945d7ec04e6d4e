"""What is looked up once and then kept: machine images and zone names."""

from collections.abc import Callable, Mapping

import pulumi
from pulumi import InvokeOptions, Output, ResourceOptions

from components.plan import ClusterPlan
from components.spec.models import OperatingSystem
from components.wiring.kept_secrets import stash


class Images(pulumi.ComponentResource):
    """Images by operating system, and the region's zones, as they were at the first `up`.

    A newer image or a new zone changes nothing that exists; `images` or `rotation.images` in the spec do.
    """

    ids: Mapping[OperatingSystem, Output[str]]
    """As machines name them."""
    zone_names: Output[list[str]]
    """Zones of the region, in order; or those that the spec names."""

    def __init__(
        self,
        cloud: str,
        plan: ClusterPlan,
        newest: Callable[[str, InvokeOptions], Output[str]],
        zones: Callable[[InvokeOptions], Output[list[str]]],
        withdrawn: str = "",
        opts: ResourceOptions | None = None,
    ) -> None:
        """newest: the newest image of an operating system. withdrawn: why one that is not the newest may go away."""
        systems, spec = plan.operating_systems, plan.spec
        super().__init__(f"mullion:{cloud}:Images", plan.name, {"systems": [each.value for each in systems]}, opts)
        self._withdrawn, self._generation, invoke = withdrawn, spec.rotation.images, InvokeOptions(parent=self)
        self.ids = {os: Output.from_input(image) for os, image in spec.images.items()}
        self.ids |= {os: self._kept(plan.name, os, newest(os.value, invoke)) for os in systems}
        named = list(plan.network.zone_names)
        self.zone_names = Output.from_input(named) if named else stash(f"{plan.name}-zones", zones(invoke), parent=self)
        self.register_outputs({"ids": {os.value: each for os, each in self.ids.items()}, "zone_names": self.zone_names})

    def _kept(self, cluster: str, os: OperatingSystem, found: Output[str]) -> Output[str]:
        kept = stash(f"{cluster}-{os.value}", found, parent=self, trigger=self._generation)
        if not (os.is_windows and self._withdrawn):
            return kept
        return Output.all(kept, found).apply(lambda known: self._said(os, *known))

    def _said(self, os: OperatingSystem, kept: str, newest: str) -> str:
        """The kept image; a warning where there is a newer one, since a withdrawn image stops every roll."""
        if kept != newest:
            pulumi.warn(
                f"{os.value}: new machines boot {kept}, and {newest} is newer. {self._withdrawn}; "
                f"rotation.images: {self._generation + 1} looks it up anew and rolls the pools that use it",
                self,
            )
        return kept
