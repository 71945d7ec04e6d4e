"""State of Nodes, etcd, disks and programs before an upgrade."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from components.node.role import CONTROL_PLANE_LABEL
from components.releases.order import is_version, older, order
from components.rollout.kubernetes_api import Refused
from operations.verification.upgrading.findings import Api, Finding, full_name, listed

NODES = "/api/v1/nodes"
FREE_GIB = 4
"""Least free GiB on a control plane: the programs and images of a second version, and a snapshot of etcd."""
PRESSURES = ("DiskPressure", "MemoryPressure", "PIDPressure")
WIDER = "1.28"
"""From this API server on, kubelet and kube-proxy may be three minors older than it; before, two
(https://kubernetes.io/releases/version-skew-policy/).
"""
VERSION = re.compile(r":v(\d+\.\d+\.\d+)")


def findings(api: Api, wanted: str) -> Iterator[Finding]:
    """Yield findings about the Nodes. wanted: version to upgrade to."""
    nodes = listed(api, NODES)
    planes = [each for each in nodes if CONTROL_PLANE_LABEL in (each["metadata"].get("labels") or {})]
    yield from _etcd(api, planes)
    for node in nodes:
        yield from _conditions(node, is_plane=node in planes)
        yield from _kubelet(node, wanted)
    for node in planes:
        yield from _disk(api, node)
    yield from _add_ons(api, wanted)


def _etcd(api: Api, planes: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings about etcd: what the API server says of it, and a member without a ready pod."""
    try:
        api.text("/readyz/etcd")
    except Refused as error:
        yield Finding("etcd", "etcd", f"the API server does not reach it: {error}", "repair etcd first")
    pods = listed(api, "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Detcd")
    ready = {each["spec"].get("nodeName") for each in pods if _is(each, "Ready")}
    for node in planes:
        if (name := node["metadata"]["name"]) not in ready:
            says = "its member of etcd is not ready; an upgrade restarts the others in turn, and etcd needs a majority"
            yield Finding("etcd", f"Node {name}", says, "repair or replace this control plane first")


def _conditions(node: Mapping[str, Any], *, is_plane: bool) -> Iterator[Finding]:
    """Yield findings of a Node's conditions. Workers are replaced, so only a control plane's stop an upgrade."""
    subject = f"Node {node['metadata']['name']}"
    if not _is(node, "Ready"):
        yield Finding("nodes", subject, "it is not Ready", "repair or replace it first", stops=is_plane)
    for each in PRESSURES:
        if _is(node, each):
            about = "disk" if each == "DiskPressure" else "nodes"
            yield Finding(about, subject, f"its kubelet reports {each}", "free some, or replace it", stops=is_plane)


def _kubelet(node: Mapping[str, Any], wanted: str) -> Iterator[Finding]:
    version = node["status"]["nodeInfo"]["kubeletVersion"].removeprefix("v").partition("-")[0].partition("+")[0]
    # a Node whose kubelet never reported has no version; its conditions are a finding
    if version and not is_version(version):  # whoever is root on the machine writes it
        says = f"its kubelet reports the version {version[:40]!r}, which Kubernetes never had"
        yield Finding("skew", f"Node {node['metadata']['name']}", says, "find out who runs it, and replace the machine")
    elif version and (says := _skew(version, wanted, 2 if older(wanted, WIDER) else 3)):
        fix = "replace the machine first, by a roll of its pool"
        yield Finding("skew", f"Node {node['metadata']['name']}", f"its kubelet {says}", fix)


def _add_ons(api: Api, wanted: str) -> Iterator[Finding]:
    """Yield findings about kube-proxy and a cloud controller, which have the versions of Kubernetes."""
    allowed = {"kube-proxy": 2 if older(wanted, WIDER) else 3, "cloud-controller-manager": 1}
    for kind in ("daemonsets", "deployments"):
        for item in listed(api, f"/apis/apps/v1/namespaces/kube-system/{kind}"):
            for container in item["spec"]["template"]["spec"]["containers"]:
                image = container["image"]
                name, found = image.rpartition("/")[2].partition(":")[0].partition("@")[0], VERSION.search(image)
                if found and name in allowed and (says := _skew(found[1], wanted, allowed[name])):
                    subject = f"{kind.removesuffix('s')} {full_name(item)}"
                    yield Finding("skew", subject, f"{name} {says}", "upgrade it first")


def _skew(version: str, wanted: str, most: int) -> str:
    """Return why a program does not fit an API server of the wanted version; empty if it does."""
    (major, minor), (new_major, new_minor) = order(version)[:2], order(wanted)[:2]
    if (major, minor) > (new_major, new_minor):
        return f"{version} is newer than {wanted}"
    if new_major == major and new_minor - minor > most:
        return f"{version} is more than {most} minor version{'s' if most > 1 else ''} older than {wanted}"
    return ""


def _disk(api: Api, node: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding if a file system of a control plane has too little space, by its kubelet's own figures."""
    name = node["metadata"]["name"]
    try:
        said = json.loads(api.text(f"{NODES}/{quote(name)}/proxy/stats/summary"))
    except (Refused, ValueError) as error:
        says = f"its kubelet gives no figures: {str(error)[:200]}"
        yield Finding("disk", f"Node {name}", says, "look at its disks yourself", stops=False)
        return
    systems = {"root": said["node"].get("fs"), "images": (said["node"].get("runtime") or {}).get("imageFs")}
    for what, figures in systems.items():
        free = (figures or {}).get("availableBytes")
        if free is not None and free < FREE_GIB << 30:
            says = f"{free / (1 << 30):.1f} GiB are free for {what}; an upgrade needs {FREE_GIB}"
            yield Finding("disk", f"Node {name}", says, "free some, or replace it with a larger disk_gb")


def _is(item: Mapping[str, Any], condition: str) -> bool:
    conditions: list[dict[str, str]] = (item.get("status") or {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)
