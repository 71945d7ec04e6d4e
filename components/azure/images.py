"""Image references and zone names; on Azure neither is looked up.

The provider has no function that lists an image's versions. So each machine gets the newest version when it is created;
with a version pinned in `images`, all machines get that one.
"""

from typing import Any

from components import releases
from components.plan import MachineGroup

ZONES = ("1", "2", "3")
"""Zone names, the same in every region with zones ("What are availability zones?")."""
NEWEST = "latest"


def reference(group: MachineGroup) -> dict[str, Any]:
    """Return the image reference of a group, from PUBLISHER:OFFER:SKU:VERSION or the id of an image in a gallery."""
    image = group.image or f"{releases.image('azure', group.os.value)}:{NEWEST}"
    if image.startswith("/"):
        return {"id": image}
    return dict(zip(("publisher", "offer", "sku", "version"), image.split(":"), strict=True))
