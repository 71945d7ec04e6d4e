"""All kinds, and the fields that every kind has."""

from components.node.kinds.cluster import CLUSTER
from components.node.kinds.files import FILES
from components.node.kinds.joining import JOINING
from components.node.kinds.machine import MACHINE
from components.node.kinds.model import Field, Kind, OnChange
from components.node.kinds.pod_network import POD_NETWORK
from components.node.kinds.programs import PROGRAMS
from components.node.kinds.restoring import RESTORING
from components.node.kinds.windows import WINDOWS
from components.node.kinds.windows_parts import WINDOWS_PARTS

KINDS: dict[str, Kind] = {
    **FILES,
    **CLUSTER,
    **PROGRAMS,
    **MACHINE,
    **WINDOWS,
    **WINDOWS_PARTS,
    **JOINING,
    **POD_NETWORK,
    **RESTORING,
}

TUNING: dict[str, Field] = {
    "timeout_seconds": Field(
        {"type": "integer", "minimum": 1},
        "One try may take so long; the whole process group of a program is ended then.",
        required=False,
        on_change=OnChange.NEW_NODES,
    ),
    "retries": Field(
        {"type": "integer", "minimum": 0},
        "Further tries after a failure that may pass, with growing waits: 2, 5, 10, 20, then 40 seconds. Default 3.",
        required=False,
        on_change=OnChange.NEW_NODES,
    ),
}
"""Fields of every kind that steer the executor only; they never replace a machine."""
