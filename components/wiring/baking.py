"""Golden images, the same for every cloud: what a builder is made of, and the images that exist already."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components import releases
from components.machine import user_data as userdata
from components.machine.bundle import Bundle, image_bundle
from components.plan import ClusterPlan, MachineGroup

PROJECT = "mullion-images"
"""The Pulumi project of images and builders. Its stacks are in the backend of the clusters' stacks."""
IMAGE_TYPES = {"aws": "aws:ec2/amiFromInstance:AmiFromInstance"}
"""Type of a baked image, by cloud."""
OF_STACK = "mullion:image-of"
"""Tag of an image: the stack it was baked for. Not mullion:cluster, by which `mullion reap --by-tags` finds what ends
with a cluster."""
OS, BUILD, CREATED = "mullion:os", "mullion:build", "mullion:created"
"""Tags of an image: windows-2022; the build of Windows, such as 10.0.20348; its time, RFC 3339."""


FOUND = "images"
"""Output of the program: the ids of all images of the stack that the account has."""


@dataclass(frozen=True)
class BakedImage:
    """An image that exists. source: id of the machine that it was made of, which is gone. tags: all of them."""

    name: str
    source: str
    tags: Mapping[str, str]
    id: str = ""


@dataclass(frozen=True)
class Baking:
    """One image to bake.

    plan: of the stack. group: the pool. name: of the builder and its parts. image: name of the image. created: time of
    the image, RFC 3339. tags: of the builder, with the time at which it expires. target: cloud or sandbox. seconds:
    longest wait until the builder has stopped.
    """

    plan: ClusterPlan
    group: MachineGroup
    name: str
    image: str
    created: str
    tags: Mapping[str, str]
    target: str
    seconds: float
    bundle: Bundle = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bundle", image_bundle(self.group.node_plan, self.cloud))

    @property
    def cloud(self) -> str:
        """Return the name of the cloud."""
        return self.group.cloud.value

    @property
    def disk_gb(self) -> int:
        """Return the size of the builder's disk: no pool with this system may have a smaller one than the image."""
        return min(each.disk_gb for each in self.plan.machine_groups if each.os is self.group.os)

    def image_tags(self) -> dict[str, str]:
        """Return the tags of the image."""
        ours = {
            OF_STACK: self.plan.name,
            "mullion:pool": self.group.name,
            OS: self.group.os.value,
            BUILD: releases.windows(self.group.os.value).build,
            "mullion:kubernetes": self.plan.spec.kubernetes,
            "mullion:bundle": self.bundle.sha256,
            CREATED: self.created,
        }
        return {**self.plan.spec.tags, **ours, "Name": self.image}

    def user_data(self, url: str) -> str:
        """Return the user-data of the builder. url: of the bundle."""
        facts = {"cloud": self.cloud, userdata.TARGET: self.target}
        document = userdata.document(url, self.bundle.sha256, {"name": self.name}, facts)
        return userdata.image_user_data(document, self.cloud)
