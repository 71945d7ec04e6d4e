"""Other values for the options of a Bastion host and of private zones in an existing network, and stacks with them."""

from typing import Any

from tests.existing_networks import BASTION, EXISTING, SERVICE_ZONES

_BASTION: dict[str, Any] = {
    "network.existing.bastion.id": BASTION["id"].replace("/hub", "/spare"),
    "network.existing.bastion.range": "10.31.0.64/26",
}
VALUES: dict[str, Any] = {
    **_BASTION,
    "network.existing.service_zones": ["projects/other-project/managedZones/googleapis"],
}
_HUB: dict[str, Any] = {
    "cloud": "azure",
    "access": "session",
    "network": {"nodes": "10.30.0.0/20", "existing": {**EXISTING["azure"], "bastion": BASTION}},
}
"""Sessions through a Bastion host of the user."""
_CLOSED: dict[str, Any] = {
    "cloud": "gcp",
    "proxy": {"https": "http://10.0.0.1:3128"},
    "network": {"nodes": "10.30.0.0/20", "egress": "none", "existing": {**EXISTING["gcp"], **SERVICE_ZONES["gcp"]}},
}
"""No way to the internet, and private zones of the user."""
CONTEXT: dict[str, dict[str, Any]] = {
    **dict.fromkeys(_BASTION, _HUB),
    "network.existing.service_zones": _CLOSED,
}
