"""Container images of a machine, by the digests of `artifacts.images` where it has them."""

import hashlib
from typing import Any

from components import releases
from components.node.kinds import Step, step
from components.node.layout import KUBEADM_PATCHES
from components.node.plan import canonical
from components.node.role import Role

REGISTRY = "registry.k8s.io"
"""kubeadm's default registry (kubernetes, cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go)."""

_STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""Static pods with the cluster's version as their tag; each is a patch target of kubeadm from 1.22 on."""

_PATCHES: dict[str, tuple[str, str]] = {
    **{each: (each, "") for each in (*_STATIC_PODS, "etcd")},
    "corednsdeployment": ("coredns", "1.31"),
    "kubeproxydaemonset": ("kube-proxy", "1.37"),
}
"""kubeadm's patch target -> the container, and the first minor with the target (kubernetes, knownTargets in
cmd/kubeadm/app/util/patches/patches.go of 1.30.14, 1.31.4, 1.36.3 and 1.37.1)."""


def pinned(role: Role, image: str) -> str:
    """Return the image with its digest appended; unchanged if the stack has none for it."""
    digest = role.spec.artifacts.images.get(image)
    return f"{image}@{digest}" if digest else image


def pause(role: Role) -> str:
    """Return the pause image of a machine."""
    return pinned(role, releases.pause_image(role.spec.kubernetes, role.os))


def stored(role: Role, image: str) -> str:
    """Return the name under which containerd stores an image: without the tag if it has a digest.

    containerd drops the tag before it compares (distribution/reference, ParseDockerRef), so the kubelet's garbage
    collection would delete a pause image that is configured with both.
    """
    digest = role.spec.artifacts.images.get(image)
    return f"{image.rpartition(':')[0]}@{digest}" if digest else image


def by_container(role: Role, cluster: dict[str, Any]) -> dict[str, str]:
    """Return the images that kubeadm starts, without digests, by container.

    cluster: ClusterConfiguration, whose registries and tags count (kubernetes, cmd/kubeadm/app/images/images.go).
    """
    version, release = role.spec.kubernetes, role.release
    registry = cluster.get("imageRepository") or REGISTRY
    etcd: dict[str, str] = cluster.get("etcd", {}).get("local", {})
    dns: dict[str, str] = cluster.get("dns", {})
    path, _, tag = release.coredns.rpartition(":")
    from_default = (dns.get("imageRepository") or registry) == REGISTRY
    name = f"{REGISTRY}/{path}" if from_default else f"{dns.get('imageRepository') or registry}/coredns"
    return {
        **{each: f"{registry}/{each}:v{version}" for each in (*_STATIC_PODS, "kube-proxy")},
        "etcd": f"{etcd.get('imageRepository') or registry}/etcd:{etcd.get('imageTag') or release.etcd}",
        "coredns": f"{name}:{dns.get('imageTag') or tag}",
    }


def of_kubeadm(role: Role, cluster: dict[str, Any]) -> list[str]:
    """Return the images that kubeadm starts, with digests where its patches can set them."""
    patched = {container: pinned(role, image) for _, container, image in _patchable(role, cluster)}
    return list((by_container(role, cluster) | patched).values())


def pulls(role: Role, cluster: dict[str, Any], programs: tuple[list[str], list[str]]) -> dict[str, list[list[str]]]:
    """Return the commands that pull each image of kubeadm that has a digest, and give it its tag, by container.

    Afterwards kubeadm's preflight checks pull no tag, because they pull only missing images. Pods on this machine whose
    image kubeadm cannot patch start by digest too. programs: crictl and ctr with their options.
    """
    crictl, ctr = programs
    exact = {container: (image, stored(role, image)) for container, image in by_container(role, cluster).items()}
    return {
        container: [[*crictl, "pull", digest], [*ctr, "images", "tag", "--force", digest, image]]
        for container, (image, digest) in exact.items()
        if digest != image
    }


def pinnable(role: Role, cluster: dict[str, Any]) -> tuple[str, ...]:
    """Return the images, without digests, that the machine starts by digest if the stack has one."""
    kubeadms = (image for _, _, image in _patchable(role, cluster))
    return (*kubeadms, releases.pause_image(role.spec.kubernetes, role.os))


def etcd_by_digest(role: Role, cluster: dict[str, Any]) -> str | None:
    """Return etcd's image as containerd stores it; None if the stack has no digest for it."""
    image = by_container(role, cluster)["etcd"]
    return stored(role, image) if image in role.spec.artifacts.images else None


def patches(role: Role, cluster: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return kubeadm's strategic merge patches by target; empty if no image of the control plane has a digest."""
    found: dict[str, dict[str, Any]] = {}
    for target, container, image in _patchable(role, cluster):
        if (exact := pinned(role, image)) != image:
            pod = {"spec": {"containers": [{"name": container, "image": exact}]}}
            found[target] = {"spec": {"template": pod}} if target != container else pod
    return found


def folder(of: dict[str, dict[str, Any]]) -> str:
    """Return kubeadm's folder of patches: one for each set, because a patch of an older image must not stay there."""
    return f"{KUBEADM_PATCHES}-{hashlib.sha256(canonical(of)).hexdigest()[:12]}" if of else KUBEADM_PATCHES


def steps(of: dict[str, dict[str, Any]]) -> tuple[Step, ...]:
    """Return the steps that write the patches."""
    return tuple(
        step("file", f"image-{target}", path=f"{folder(of)}/{target}+strategic.json", format="json", content=content)
        for target, content in of.items()
    )


def _patchable(role: Role, cluster: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (target, container, image without digest) of what kubeadm of the minor can patch on this machine."""
    if not role.is_control_plane or not role.release.kubelet_patch:
        return []
    images, minor = by_container(role, cluster), role.release.minor
    return [
        (target, container, images[container])
        for target, (container, since) in _PATCHES.items()
        if releases.within(minor, since, "")
    ]
