"""What a change of each option does to a running cluster.

`mullion explain` prints this table. A test changes each option of a sample stack and compares the plans, so that the
table says what `up` does.
"""

from collections.abc import Iterator
from enum import Enum


class Effect(str, Enum):
    """What the next `up` does with a changed option."""

    REPLACED = "replaced"
    """It replaces the machines of the pool, wave by wave; for an option outside `pools`, those of every pool.
    Control-plane machines are never replaced: they get the change in place."""
    IN_PLACE = "in place"
    """It applies the change without replacing a machine."""
    NEXT_MACHINE = "next machine"
    """It leaves existing machines unchanged; machines made later have the new value."""
    REFUSED = "refused"
    """It refuses the change and changes nothing: the cluster must be removed and built again."""
    NOT_AVAILABLE = "not available"
    """It refuses every value but the default, also for a new cluster."""


EFFECTS: dict[str, Effect] = {
    "cloud": Effect.REFUSED,
    "kubernetes": Effect.REPLACED,
    "network.mode": Effect.REFUSED,
    "network.pods": Effect.REFUSED,
    "network.services": Effect.REFUSED,
    "network.nodes": Effect.REFUSED,
    "network.dns": Effect.REPLACED,
    "network.domain": Effect.REPLACED,
    "network.vni": Effect.REPLACED,
    "network.port": Effect.NOT_AVAILABLE,
    "network.zones": Effect.REFUSED,
    "network.zone_names": Effect.REFUSED,
    "network.egress": Effect.REFUSED,
    "network.nat_gateways": Effect.IN_PLACE,
    "network.outside": Effect.IN_PLACE,
    "network.neighbour_pods": Effect.IN_PLACE,
    "network.exporter_ports": Effect.IN_PLACE,
    "network.route_limit": Effect.IN_PLACE,
    "network.existing": Effect.REFUSED,
    "network.existing.public_subnets": Effect.IN_PLACE,
    "network.existing.private_zone": Effect.REFUSED,
    "network.existing.service_zones": Effect.IN_PLACE,
    "network.existing.bastion": Effect.IN_PLACE,
    "existing_cluster": Effect.NEXT_MACHINE,
    "existing_cluster.ca": Effect.REFUSED,
    "existing_cluster.nodes": Effect.IN_PLACE,
    "api": Effect.IN_PLACE,
    "ingress": Effect.IN_PLACE,
    "control_plane.count": Effect.IN_PLACE,
    "control_plane.os": Effect.NEXT_MACHINE,
    "control_plane.size": Effect.NEXT_MACHINE,
    "control_plane.disk_gb": Effect.NEXT_MACHINE,
    "control_plane.etcd_disk": Effect.NEXT_MACHINE,
    "control_plane.kubelet": Effect.IN_PLACE,
    "control_plane.kubelet.priority_class": Effect.NOT_AVAILABLE,
    "control_plane.kube_proxy.dsr": Effect.NOT_AVAILABLE,
    "control_plane.kube_proxy.config": Effect.IN_PLACE,
    "control_plane.containerd": Effect.IN_PLACE,
    "control_plane.reboot_window": Effect.IN_PLACE,
    "pools.*.os": Effect.REPLACED,
    "pools.*.runtime": Effect.REPLACED,
    "pools.*.isolation": Effect.REPLACED,
    "pools.*.count": Effect.IN_PLACE,
    "pools.*.size": Effect.REPLACED,
    "pools.*.disk_gb": Effect.REPLACED,
    "pools.*.max_pods": Effect.REPLACED,
    "pools.*.pre_pull": Effect.REPLACED,
    "pools.*.labels": Effect.IN_PLACE,
    "pools.*.taints": Effect.IN_PLACE,
    "pools.*.kubelet": Effect.REPLACED,
    "pools.*.kubelet.accept_low_reserve": Effect.IN_PLACE,
    "pools.*.kube_proxy": Effect.REPLACED,
    "pools.*.containerd": Effect.REPLACED,
    "pools.*.rollout": Effect.IN_PLACE,
    "pools.*.rollout.gate": Effect.NEXT_MACHINE,
    "pools.*.slot": Effect.REPLACED,
    "pools.*.licence": Effect.REPLACED,
    "pools.*.spot": Effect.REPLACED,
    "kubeadm.ignore_preflight": Effect.REPLACED,
    "kubeadm.config": Effect.IN_PLACE,
    "pod_security": Effect.IN_PLACE,
    "pod_identity": Effect.IN_PLACE,
    "snapshots": Effect.IN_PLACE,
    "admission": Effect.IN_PLACE,
    "addons": Effect.IN_PLACE,
    "images": Effect.REPLACED,
    "owner": Effect.IN_PLACE,
    "tags": Effect.IN_PLACE,
    "protect": Effect.IN_PLACE,
    "expires": Effect.IN_PLACE,
    "budget.month": Effect.IN_PLACE,
    "rotation": Effect.IN_PLACE,
    "rotation.images": Effect.REPLACED,
    "cloud_controller": Effect.REPLACED,
    "registry_credentials": Effect.REPLACED,
    "worker_identity": Effect.REPLACED,
    "access": Effect.IN_PLACE,
    "proxy": Effect.REPLACED,
    "trusted_cas": Effect.REPLACED,
    "artifacts.file": Effect.REPLACED,
    "artifacts.entries": Effect.REPLACED,
    "artifacts.images": Effect.REPLACED,
    "artifacts.mirror": Effect.NEXT_MACHINE,
    "encryption_key": Effect.REFUSED,
    "encryption_identity": Effect.IN_PLACE,
    "csi": Effect.IN_PLACE,
    "gmsa": Effect.IN_PLACE,
    "gmsa.plugin": Effect.REPLACED,
    "acknowledge": Effect.IN_PLACE,
}
"""By option path, a pool's name written as *. A path covers all options below it that have no row of their own."""

NOTES: dict[str, str] = {
    "kubernetes": "The control plane is upgraded first; one minor version at a time.",
    "control_plane.count": "From 1 to 3 only; fewer are refused. Write network.zones too: its default depends"
    " on the count, and zones cannot change.",
    "control_plane.size": "`mullion replace-control-plane` replaces a machine.",
    "control_plane.os": "`mullion replace-control-plane` replaces a machine.",
    "control_plane.disk_gb": "`mullion replace-control-plane` replaces a machine.",
    "control_plane.etcd_disk": "`mullion replace-control-plane` replaces a machine, and its disk with it.",
    "existing_cluster": "`mullion up` refuses to add it to a cluster, or to remove it.",
    "existing_cluster.ca": "Another certificate of the same key is in user-data of the next machines.",
    "pools.*.count": "Machines are added or removed.",
    "pools.*.labels": "With existing_cluster the pool's machines are replaced.",
    "pools.*.taints": "With existing_cluster the pool's machines are replaced.",
    "network.existing.private_zone": "Clusters built by earlier versions do not refuse it; do not change it either.",
    "ingress.load_balancers.*.internal": "The load balancer is replaced and gets another address.",
    "network.existing.public_subnets": "Public load balancers, also the API's, take added subnets; a removed subnet"
    " replaces them, and their names change.",
    "kubeadm.ignore_preflight": "Only pools of Linux machines are replaced.",
    "network.vni": "Only pools of Windows machines are replaced.",
    "images": "Only pools of that operating system are replaced; control-plane machines made later have the image.",
    "cloud_controller": "`mullion up` refuses to change external to none.",
    "csi": "`mullion up` refuses to remove a driver.",
    "pod_identity.issuer": "`mullion up` refuses to remove pod_identity while it signs, and with three control planes"
    " to add it without `accepted`.",
    "gmsa.plugin.clsid": "Only pools of Windows machines are replaced.",
    "gmsa.plugin.preinstalled": "Only pools of Windows machines are replaced.",
    "gmsa.plugin.version": "Only pools of Windows machines are replaced.",
    "rotation.images": "Only pools whose operating system has a newer image are replaced.",
    "artifacts.mirror": "Control-plane machines use the new address at once.",
    "artifacts.images": "Only pools whose pause image gets another digest are replaced.",
    "artifacts.entries": "Only pools whose machines download one of the files are replaced.",
    "artifacts.file": "Only pools whose machines download one of the files are replaced.",
}
"""By option path: a sentence to add to the effect."""


def effect(path: str) -> Effect | None:
    """Return what a change of the option does; None if the options below the path differ, or there is no such path.

    path: dotted, with the pool's name or * in its place.
    """
    general = general_path(path)
    below = {value for row, value in EFFECTS.items() if row.startswith(f"{general}.")}
    own = next((EFFECTS[row] for row in _upwards(general) if row in EFFECTS), None)
    if own is None:
        return below.pop() if len(below) == 1 else None
    return own if not below - {own} else None


def note(path: str) -> str:
    """Return the sentence to add about a change of the option, or an empty text."""
    return NOTES.get(general_path(path), "")


def general_path(path: str) -> str:
    """Return the path with * in the place of a name: pools.web.size becomes pools.*.size."""
    parts = path.split(".")
    for above in (["pools"], ["ingress", "load_balancers"], ["gmsa", "credential_specs"]):
        if parts[: len(above)] == above and len(parts) > len(above):
            parts[len(above)] = "*"
    return ".".join(parts)


def _upwards(path: str) -> Iterator[str]:
    """Yield the path, then each path above it."""
    parts = path.split(".")
    yield from (".".join(parts[:length]) for length in range(len(parts), 0, -1))
