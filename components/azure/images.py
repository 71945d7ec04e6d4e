"""What machines are made from, and the zones' names: on Azure nothing of it is looked up.

The provider has no function that lists an image's versions. So machines take the newest version when they are made,
and keep it; a version pinned in `images` is the same for all.
"""

from typing import Any

from components import releases
from components.plan import MachineGroup

ZONES = ("1", "2", "3")
"""Zones have the same names in every region that has them ("What are availability zones?")."""
NEWEST = "latest"


def reference(group: MachineGroup) -> dict[str, Any]:
    """The image of a group's machines: PUBLISHER:OFFER:SKU:VERSION, or the id of one of the user's own."""
    image = group.image or f"{releases.image('azure', group.os.value)}:{NEWEST}"
    if image.startswith("/"):
        return {"id": image}
    return dict(zip(("publisher", "offer", "sku", "version"), image.split(":"), strict=True))
