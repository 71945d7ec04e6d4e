"""Other values for options of existing networks (Bastion hosts, private zones) and clusters, and stacks with them."""

from typing import Any

from tests.certificates import AUTHORITY
from tests.existing_networks import BASTION, EXISTING, SERVICE_ZONES

_BASTION: dict[str, Any] = {
    "network.existing.bastion.id": BASTION["id"].replace("/hub", "/spare"),
    "network.existing.bastion.range": "10.31.0.64/26",
}
_CLUSTER = {
    "existing_cluster.endpoint": "https://kubernetes.example.com:443",
    "existing_cluster.nodes": ["10.41.0.0/24"],
}
VALUES: dict[str, Any] = {
    **_BASTION,
    **_CLUSTER,
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
_JOINED: dict[str, Any] = {
    "network": {"zones": 3, "nodes": "10.30.0.0/16", "existing": EXISTING["aws"]},
    "existing_cluster": {"endpoint": "https://k8s.example.com:6443", "ca": AUTHORITY, "nodes": ["10.40.0.0/24"]},
    "control_plane": {"count": 0},
    "pools": {"linux": {"os": "windows-2019"}},
}
"""Pools that join a cluster of somebody else."""
CONTEXT: dict[str, dict[str, Any]] = {
    **dict.fromkeys(_CLUSTER, _JOINED),
    **dict.fromkeys(_BASTION, _HUB),
    "network.existing.service_zones": _CLOSED,
}
