"""Other values for the options of a Bastion host, and a stack that has one."""

from typing import Any

from tests.existing_networks import BASTION, EXISTING

VALUES: dict[str, Any] = {
    "network.existing.bastion.id": BASTION["id"].replace("/hub", "/spare"),
    "network.existing.bastion.range": "10.31.0.64/26",
}
HUB: dict[str, Any] = {
    "cloud": "azure",
    "access": "session",
    "network": {"nodes": "10.30.0.0/20", "existing": {**EXISTING["azure"], "bastion": BASTION}},
}
"""Sessions through a Bastion host of the user."""
