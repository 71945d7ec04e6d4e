"""Storage drivers (CSI) that the control plane applies: controllers, node plug-ins of both systems, and classes."""

from collections.abc import Iterable
from typing import Any

from components.node import volume_rights
from components.node.manifests import Manifest, filled, manifests_of, pod_of
from components.node.role import Role
from components.node.volume_drivers import DRIVERS, Driver, has_windows
from components.releases import storage_drivers
from components.spec.choices import StorageDriver

LEAST: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""Security context of containers that need no rights on the machine."""

_LOCAL, _ANY = "127.0.0.1", "0.0.0.0"  # noqa: S104  (an address in the pod's own network)
_NODE_PORTS = 10
"""Distance from a controller's port to that of its node plug-ins."""
_REQUESTS = {"requests": {"cpu": "10m", "memory": "40Mi"}}


def manifests(role: Role) -> list[Manifest]:
    """Return the manifests of all storage drivers of the spec. Drivers that Mullion does not build have none."""
    return [each for driver in DRIVERS if driver in role.spec.csi for each in _of(role, driver)]


def has_snapshots(role: Role) -> bool:
    """Return whether a driver of the spec makes snapshots."""
    return any("csi-snapshotter" in DRIVERS[driver].sidecars for driver in DRIVERS if driver in role.spec.csi)


def _of(role: Role, driver: StorageDriver) -> list[Manifest]:
    release, how = storage_drivers.DRIVERS[driver], DRIVERS[driver]
    texts = {
        "<name>": f"csi-{driver.value}",
        "<driver>": release.plugin,
        "<port>": str(how.port),
        "<listen>": _LOCAL if how.mounts or how.asks_metadata else _ANY,
    }
    controller = filled(manifests_of("csi-controller.yaml"), texts)
    _fill_controller(role, driver, controller)
    # a driver that mounts has its node plug-in in the machine's network too, beside its controller
    texts["<port>"] = str(how.port + _NODE_PORTS)
    node = filled(manifests_of("csi-node.yaml"), texts)
    _fill_node(role, driver, node)
    windows = filled(manifests_of("csi-node-windows.yaml"), texts) if has_windows(role) and how.windows else []
    for each in windows:
        _fill_windows(role, driver, pod_of(each))
    return [*controller, *node, *_node_rights(driver), *windows, *how.classes(role)]


def _fill_controller(role: Role, driver: StorageDriver, manifests: list[Manifest]) -> None:
    how = DRIVERS[driver]
    (rights,) = (each for each in manifests if each["kind"] == "ClusterRole")
    rights["rules"] = volume_rights.rules(how.sidecars, how.controller_rights)
    (chosen,) = (each for each in manifests if each["kind"] == "Role")
    leases = volume_rights.leases(how.sidecars, storage_drivers.DRIVERS[driver].plugin)
    chosen["rules"][1]["resourceNames"] = leases
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    deployment["spec"]["replicas"] = min(2, role.spec.control_plane.count)
    pod = pod_of(deployment)
    pod["containers"] = [
        each for each in pod["containers"] if each["name"] in ("driver", "liveness-probe", *how.sidecars)
    ]
    main, *others = pod["containers"]
    main |= {
        "image": image(role, *_driver_image(driver, "linux")),
        "args": [*how.controller, *how.tags(role)],
        **_command(how),
    }
    if how.mounts:
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
        main["securityContext"] = {"privileged": True}
        pod["volumes"].append({"name": "work", "emptyDir": {}})
        main["volumeMounts"].append({"name": "work", "mountPath": "/tmp"})  # noqa: S108  # nosec B108 # its working-mount-dir
    else:
        main["securityContext"] = LEAST
        pod["securityContext"] |= {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000}
    main["resources"] = _REQUESTS
    arguments = how.sidecar_arguments(role)
    for each in others:
        _fill_sidecar(role, each)
        each["args"] = _with(each["args"], arguments.get(each["name"], ()))
        each["volumeMounts"] = [{"name": "socket", "mountPath": "/csi"}]
        each["securityContext"] = LEAST
    _without_attributes_classes(role, others)


def _command(how: Driver) -> dict[str, list[str]]:
    return {"command": [how.program]} if how.program else {}


def _with(arguments: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return arguments with others, which replace those of the same name."""
    new = list(others)
    names = {each.partition("=")[0] for each in new}
    return [*(each for each in arguments if each.partition("=")[0] not in names), *new]


def _without_attributes_classes(role: Role, sidecars: list[dict[str, Any]]) -> None:
    """Switch off what waits for VolumeAttributesClass where the API server does not serve it."""
    if storage_drivers.has_attributes_classes(role.release.minor):
        return
    for each in sidecars:
        if each["name"] in ("csi-provisioner", "csi-resizer"):
            each["args"].append("--feature-gates=VolumeAttributesClass=false")


def _fill_node(role: Role, driver: StorageDriver, manifests: list[Manifest]) -> None:
    how = DRIVERS[driver]
    (registered,) = (each for each in manifests if each["kind"] == "CSIDriver")
    registered["spec"] = how.csi_driver
    (daemons,) = (each for each in manifests if each["kind"] == "DaemonSet")
    pod = pod_of(daemons)
    main, *others = pod["containers"]
    main |= {"image": image(role, *_driver_image(driver, "linux")), "args": list(how.node), "resources": _REQUESTS}
    main |= _command(how)
    main["env"] += [{"name": key, "value": value} for key, value in how.environment]
    if how.mounts or how.asks_metadata:
        pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet" if how.mounts else "Default"}
        main["livenessProbe"]["httpGet"]["host"] = _LOCAL
    for name, path in how.host_folders:
        pod["volumes"].append({"name": name, "hostPath": {"path": path, "type": "Directory"}})
        main["volumeMounts"].append({"name": name, "mountPath": path})
    if how.mounts:
        pod["volumes"] = [each for each in pod["volumes"] if each["name"] != "devices"]
        main["volumeMounts"] = [each for each in main["volumeMounts"] if each["name"] != "devices"]
    for each in others:
        _fill_sidecar(role, each)
        each["securityContext"] = LEAST


def _node_rights(driver: StorageDriver) -> list[Manifest]:
    """Return the RBAC objects of the node plug-ins; none if they ask nothing of the API."""
    rights, name = DRIVERS[driver].node_rights, f"csi-{driver.value}-node"
    if not rights:
        return []
    group, full = "rbac.authorization.k8s.io", f"mullion:{name}"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}
    about = {"apiVersion": f"{group}/v1", "metadata": {"name": full}}
    return [
        {**about, "kind": "ClusterRole", "rules": volume_rights.rules((), rights)},
        {
            **about,
            "kind": "ClusterRoleBinding",
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": full},
            "subjects": [subject],
        },
    ]


def _fill_windows(role: Role, driver: StorageDriver, pod: dict[str, Any]) -> None:
    """Fill in the node plug-in on Windows.

    Windows ends no process that takes too much memory, so the containers have the limits of the drivers' own manifests.
    """
    how = DRIVERS[driver]
    main, *others = pod["containers"]
    program, *arguments = how.windows
    main |= {"image": image(role, *_driver_image(driver, "windows")), "command": [program], "args": arguments}
    main |= {"resources": {**_REQUESTS, "limits": {"memory": "600Mi"}}}
    main["env"] += [{"name": key, "value": value} for key, value in how.environment]
    for each in others:
        _fill_sidecar(role, each)
        each["resources"] = {**_REQUESTS, "limits": {"memory": "150Mi"}}


def _fill_sidecar(role: Role, container: dict[str, Any]) -> None:
    container["image"] = image(role, *storage_drivers.SIDECARS[container["image"]])
    container["resources"] = _REQUESTS


def _driver_image(driver: StorageDriver, system: str) -> tuple[str, str]:
    return storage_drivers.DRIVERS[driver].images[system]


def image(role: Role, image: str, digest: str) -> str:
    """Return an image with the stack's digest, or else the published one."""
    return f"{image}@{role.spec.artifacts.images.get(image, digest)}"
