"""All kinds, and the fields that every kind has."""

from components.node.kinds.addons import ADDONS
from components.node.kinds.archives import ARCHIVES
from components.node.kinds.artifacts import ARTIFACTS
from components.node.kinds.authorizers import AUTHORIZERS
from components.node.kinds.certificates import CERTIFICATES
from components.node.kinds.cluster import CLUSTER
from components.node.kinds.commands import COMMANDS
from components.node.kinds.disks import DISKS
from components.node.kinds.endpoint import ENDPOINT
from components.node.kinds.files import FILES
from components.node.kinds.flannel import FLANNEL
from components.node.kinds.founding import FOUNDING
from components.node.kinds.hns import HNS
from components.node.kinds.hypervisor import HYPERVISOR
from components.node.kinds.joining import JOINING
from components.node.kinds.keys import KEYS
from components.node.kinds.kubeadm import KUBEADM
from components.node.kinds.model import Field, Kind, OnChange
from components.node.kinds.network import NETWORK
from components.node.kinds.pods import PODS
from components.node.kinds.registry import REGISTRY
from components.node.kinds.restart import RESTART
from components.node.kinds.restoring import RESTORING
from components.node.kinds.services import SERVICES
from components.node.kinds.system import SYSTEM
from components.node.kinds.tasks import TASKS

KINDS: dict[str, Kind] = {
    **FILES,
    **ARTIFACTS,
    **ARCHIVES,
    **KEYS,
    **AUTHORIZERS,
    **CLUSTER,
    **FOUNDING,
    **KUBEADM,
    **CERTIFICATES,
    **ENDPOINT,
    **ADDONS,
    **SERVICES,
    **TASKS,
    **COMMANDS,
    **DISKS,
    **SYSTEM,
    **HYPERVISOR,
    **REGISTRY,
    **RESTART,
    **NETWORK,
    **JOINING,
    **PODS,
    **FLANNEL,
    **HNS,
    **RESTORING,
}

TUNING: dict[str, Field] = {
    "timeout_seconds": Field(
        {"type": "integer", "minimum": 1},
        "Time limit of one attempt in seconds; at the limit a program's whole process group is killed.",
        required=False,
        on_change=OnChange.NEW_NODES,
    ),
    "retries": Field(
        {"type": "integer", "minimum": 0},
        "Number of further attempts after a temporary failure, after 2, 5, 10, 20, then 40 seconds. Default 3.",
        required=False,
        on_change=OnChange.NEW_NODES,
    ),
}
"""Fields of every kind for the executor only; a change of them never replaces a machine."""
