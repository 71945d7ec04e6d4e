"""Instance types, disks, images, counts and rollouts."""

from collections.abc import Iterator

from components.catalogue import instance_sizes
from components.checks.check import Finding, MachineGroupSpec, Rule, Subject, at, error, warning
from components.spec import defaults

GIB = 2**30

CONTROL_PLANE_VCPU, CONTROL_PLANE_MEMORY = 2, 1700 * 2**20
"""vCPU, and bytes: the least that kubeadm's preflight checks NumCPU and Mem accept."""

WINDOWS_VCPU, WINDOWS_MEMORY = 2, 4 * GIB
"""vCPU, and bytes: Server Core takes about 2 GiB at rest, so with less than 4 GiB nothing is left for pods."""

WINDOWS_DISK_SAFE = 64
"""GiB: image layers take tens of GiB beside the image (CloudFacts.windows_image_gib)."""

NODES_MOST = 5000
"""Nodes of a cluster that Kubernetes supports (setup/best-practices/cluster-large)."""


def known(subject: Subject, group: MachineGroupSpec) -> instance_sizes.Size | None:
    """Return the group's instance type; None if the table does not have it."""
    return instance_sizes.TABLES.get(subject.spec.cloud.value, {}).get(group.options.size)


def _example(subject: Subject, family: str = "linux") -> str:
    return defaults.SIZES[subject.spec.cloud.value][family]


def _of_another_cloud(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        cloud, value = instance_sizes.cloud_of(group.options.size), group.options.size
        if cloud not in (None, subject.spec.cloud.value):
            example = _example(subject, "windows" if group.os.is_windows else "linux")
            yield at(*group.path, "size", value=value, other=cloud, cloud=subject.spec.cloud.value, example=example)


def _unknown(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        cloud = instance_sizes.cloud_of(group.options.size)
        if not known(subject, group) and cloud in (None, subject.spec.cloud.value):
            yield at(*group.path, "size", value=group.options.size, example=_example(subject))


def _arm64(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        size = known(subject, group)
        if size and size.architecture == "arm64":
            why = "Windows nodes need amd64" if group.os.is_windows else "the pinned downloads are for amd64"
            yield at(*group.path, "size", value=group.options.size, why=why, example=_example(subject))


def _small_control_plane(subject: Subject) -> Iterator[Finding]:
    plane = subject.groups[0]
    size = known(subject, plane)
    if size and (size.vcpu < CONTROL_PLANE_VCPU or size.memory < CONTROL_PLANE_MEMORY):
        figures = {"vcpu": size.vcpu, "gib": size.memory / GIB}
        yield at(*plane.path, "size", value=size.name, example=_example(subject), **figures)


def _small_windows(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        size = known(subject, group)
        if group.os.is_windows and size and (size.vcpu < WINDOWS_VCPU or size.memory < WINDOWS_MEMORY):
            figures = {"vcpu": size.vcpu, "gib": size.memory / GIB}
            yield at(*group.path, "size", value=size.name, example=_example(subject, "windows"), **figures)


def _burstable(subject: Subject) -> Iterator[Finding]:
    plane = subject.groups[0]
    if subject.spec.protect and instance_sizes.is_burstable(plane.options.size):
        yield at(*plane.path, "size", value=plane.options.size, example=_example(subject))


def _windows_disk(*, boots: bool) -> Rule:
    """Return a rule that finds disks smaller than the image; with boots, those that hold the image and little more."""

    def rule(subject: Subject) -> Iterator[Finding]:
        image = subject.spec.cloud.facts.windows_image_gib
        for group in subject.workers:
            size, least = group.options.disk_gb, WINDOWS_DISK_SAFE if boots else image
            if group.os.is_windows and size < least and (size >= image) == boots:
                yield at(*group.path, "disk_gb", value=size, least=least, image=image)

    return rule


def _image_form(subject: Subject) -> Iterator[Finding]:
    facts = subject.spec.cloud.facts
    for os, image in subject.spec.images.items():
        if not facts.image_form.fullmatch(image):
            yield at("images", os.value, value=image, cloud=subject.spec.cloud.value, form=facts.image_words)


def _no_cloud_init(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        if group.os.value in subject.spec.cloud.facts.without_cloud_init and group.os not in subject.spec.images:
            yield at(*group.path, "os", value=group.os.value)


def _never_looked_up(subject: Subject) -> Iterator[Finding]:
    if not subject.spec.cloud.facts.images_looked_up and subject.spec.rotation.images:
        yield at("rotation", "images")


def _newest_image(subject: Subject) -> Iterator[Finding]:
    if subject.spec.protect and not subject.spec.cloud.facts.images_looked_up:
        for os in dict.fromkeys(group.os for group in subject.groups if group.os not in subject.spec.images):
            yield at("images", value=os.value)


def _image_unused(subject: Subject) -> Iterator[Finding]:
    used = {group.os for group in subject.groups}
    for os in subject.spec.images:
        if os not in used:
            yield at("images", os.value, value=os.value)


def _image_shared(subject: Subject) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for os, image in subject.spec.images.items():
        if image in seen:
            yield at("images", os.value, value=image, other=seen[image])
        seen.setdefault(image, os.value)


def _above_count(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if (value := pool.rollout.wave(pool.count)) > max(pool.count, 1):
            yield at("pools", name, "rollout", "max_unavailable", value=value, count=pool.count)


def _whole_pool(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if 1 < pool.count == pool.rollout.wave(pool.count):
            yield at("pools", name, "rollout", "max_unavailable", count=pool.count)


def _too_many(subject: Subject) -> Iterator[Finding]:
    nodes = sum(group.count for group in subject.groups)
    if nodes > NODES_MOST:
        yield at("pools", nodes=nodes, most=NODES_MOST)


CHECKS = (
    error(
        "size-of-another-cloud",
        "<machines>.size <machines>.os cloud",
        _of_another_cloud,
        "{value!r} is an instance type of {other}, but the cluster is on {cloud}",
        "write an instance type of {cloud} such as {example}",
        "RES-06",
    ),
    warning(
        "size-unknown",
        "<machines>.size cloud",
        _unknown,
        "{value!r} is not in the table of instance types, so CPU, memory and architecture are not checked",
        "write a type such as {example}, or acknowledge this warning",
        "RES-06",
    ),
    error(
        "size-arm64",
        "<machines>.size <machines>.os cloud",
        _arm64,
        "{value} has the architecture arm64, but {why}",
        "choose an amd64 type such as {example}",
        "OS-04",
    ),
    error(
        "control-plane-too-small",
        "control_plane.size cloud",
        _small_control_plane,
        "{value} has {vcpu} vCPU and {gib:g} GiB; kubeadm refuses a control plane with less than 2 vCPU or 1700 MiB",
        "choose a larger type such as {example}",
        "CP-01",
    ),
    error(
        "windows-too-small",
        "<machines>.size <machines>.os cloud",
        _small_windows,
        "{value} has {vcpu} vCPU and {gib:g} GiB, but Windows alone takes 2 GiB, and one core while images unpack",
        "choose a type with at least 2 vCPU and 4 GiB, better {example}",
        "RES-01",
    ),
    warning(
        "burstable-control-plane",
        "control_plane.size protect",
        _burstable,
        "{value} is burstable: when its CPU credits are spent, it slows down, and etcd loses its leader",
        "choose a type that is not burstable, such as {example}",
    ),
    error(
        "windows-disk-below-image",
        "<machines>.disk_gb <machines>.os",
        _windows_disk(boots=False),
        "{value} GiB is smaller than the Windows image, which takes {image}",
        "write at least {least}; the default is 128",
    ),
    warning(
        "windows-disk-small",
        "<machines>.disk_gb <machines>.os",
        _windows_disk(boots=True),
        "{value} GiB may be too little: the image takes {image} GiB, and each container base image several more",
        "write at least {least}; the default is 128",
    ),
    error(
        "image-form",
        "images cloud",
        _image_form,
        "{value!r} is not the id of an image on {cloud}",
        "write {form}, or remove it: Mullion then looks the image up once",
        "OS-02",
    ),
    error(
        "os-without-cloud-init",
        "<machines>.os images cloud",
        _no_cloud_init,
        "the cloud's image of {value} has no cloud-init, so its machines would not run their user-data",
        "choose ubuntu-24.04 or ubuntu-22.04, or pin an image with cloud-init in images",
        "OS-02",
    ),
    warning(
        "image-unused",
        "images control_plane.os pools.*.os",
        _image_unused,
        "an image is pinned for {value}, but no machine runs {value}",
        "remove it",
        "OS-02",
    ),
    error(
        "rotation-of-images",
        "rotation.images cloud",
        _never_looked_up,
        "on Azure this has no effect: Mullion looks up no image, and each new machine gets the newest",
        "remove it; pin a version in images, or roll the pool",
    ),
    warning(
        "image-newest",
        "images cloud protect control_plane.os pools.*.os",
        _newest_image,
        "no image is pinned for {value}, so on Azure each replaced machine gets the newest image, untested",
        "pin a version in images, and try a newer one in a stack of its own first",
    ),
    error(
        "image-shared",
        "images",
        _image_shared,
        "{value} is also pinned for {other}",
        "pin one image for each operating system",
        "OS-02 OS-05",
    ),
    error(
        "max-unavailable-above-count",
        "pools.<pool>.rollout.max_unavailable pools.<pool>.count",
        _above_count,
        "{value} machines can be unavailable at once, but the pool has only {count}",
        "write at most {count}, the pool's count",
        "OS-09",
    ),
    warning(
        "whole-pool-at-once",
        "pools.<pool>.rollout.max_unavailable pools.<pool>.count",
        _whole_pool,
        "all {count} machines of the pool can be replaced at the same time",
        "write less than {count}, the pool's count",
        "OS-09",
    ),
    error(
        "too-many-nodes",
        "control_plane.count pools.*.count",
        _too_many,
        "{nodes} nodes are more than the {most} that Kubernetes supports",
        "lower the counts, or build two clusters",
    ),
)
