"""Snapshots of volumes: their definitions, and the controller that binds them to the drivers' own."""

from components.node import volumes
from components.node.manifests import Manifest, manifests_of, pod_of
from components.node.role import Role
from components.releases import storage_drivers


def manifests(role: Role) -> list[Manifest]:
    """Return the definitions and the controller; empty without a driver that makes snapshots."""
    if not volumes.has_snapshots(role):
        return []
    made = [*manifests_of("volume-snapshots.yaml"), *manifests_of("volume-snapshot-controller.yaml")]
    (deployment,) = (each for each in made if each["kind"] == "Deployment")
    deployment["spec"]["replicas"] = min(2, role.spec.control_plane.count)
    (container,) = pod_of(deployment)["containers"]
    container["image"] = volumes.image(role, *storage_drivers.SIDECARS["snapshot-controller"])
    return made
