"""What machines are made from, and the zones' names: on Azure nothing of it is looked up.

The provider has no function that lists an image's versions. So machines take the newest version when they are made,
and keep it; a version pinned in `images` is the same for all.
"""

from collections.abc import Mapping
from typing import Any

from components import releases
from components.spec.models import OperatingSystem

ZONES = ("1", "2", "3")
"""Zones have the same names in every region that has them ("What are availability zones?")."""
NEWEST = "latest"


def reference(os: OperatingSystem, pinned: Mapping[OperatingSystem, str]) -> dict[str, Any]:
    """The image of an operating system: PUBLISHER:OFFER:SKU:VERSION, or the id of one of the user's own."""
    image = pinned.get(os) or f"{releases.image('azure', os.value)}:{NEWEST}"
    if image.startswith("/"):
        return {"id": image}
    return dict(zip(("publisher", "offer", "sku", "version"), image.split(":"), strict=True))
