"""Machines: hardened metadata, encrypted disks, pinned images, and a control plane that no change replaces or stops."""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from policies.rules.rule import (
    AZURE_MACHINE,
    GCP_INSTANCE,
    INSTANCE,
    MACHINES,
    UNKNOWN,
    Resource,
    ResourceRule,
    StackRule,
    at,
    is_control_plane,
    items,
)

KEPT = {
    INSTANCE: ("ami", "instanceType", "rootBlockDevice.encrypted", "ebsBlockDevices", "userData", "userDataBase64"),
    GCP_INSTANCE: ("bootDisk", "attachedDisks", "machineType", "metadata"),
    AZURE_MACHINE: ("osProfile", "hardwareProfile", "storageProfile"),
}
"""By type: inputs whose change replaces or stops a machine, takes a disk from it, or has no effect. The size of AWS's
root disk is not among them: it grows while the machine runs."""
IMAGES, STASH = re.compile(r"mullion:\w+:Images"), "pulumi:index:Stash"
IMAGE = {INSTANCE: "ami", GCP_INSTANCE: "bootDisk.initializeParams.image"}
"""By type: input with the image. Azure chooses the image when it creates the machine, and keeps it."""
WITH_METADATA = frozenset({INSTANCE, "aws:ec2/launchTemplate:LaunchTemplate"})
GUARDED = {
    "aws:s3/bucket:Bucket": "bucket",
    "aws:secretsmanager/secret:Secret": "secret",
    "azure-native:storage:StorageAccount": "storage account",
    "gcp:secretmanager/secret:Secret": "secret",
    "gcp:storage/bucket:Bucket": "bucket",
}
"""By type: resources that a protected stack protects, besides its control plane."""
OF_ISSUER = {"mullion:aws:PodIdentity", "mullion:azure:PodIdentity"}
"""Components whose bucket or storage account has public documents that each run can write again; it goes with its
option."""

_SHIELD = "shieldedInstanceConfig."
SETTINGS: dict[str, tuple[tuple[str, Any, str], ...]] = {
    GCP_INSTANCE: (
        (f"{_SHIELD}enableSecureBoot", True, "programs before the kernel are not verified"),
        (f"{_SHIELD}enableVtpm", True, "the boot is not measured"),
        (f"{_SHIELD}enableIntegrityMonitoring", True, "a changed boot is not reported"),
        ("metadata.serial-port-enable", "FALSE", "everybody who can connect to the serial console gets a prompt"),
    ),
    AZURE_MACHINE: (
        ("securityProfile.securityType", "TrustedLaunch", "programs before the kernel are not verified"),
        (
            "securityProfile.uefiSettings.secureBootEnabled",
            True,
            "programs before the kernel are not verified",
        ),
        ("securityProfile.uefiSettings.vTpmEnabled", True, "the boot is not measured"),
    ),
}
"""By type: path and value of a required setting, and why it is required."""


def _metadata(machine: Resource) -> Iterator[str]:
    if machine.properties.get("metadataOptions") is UNKNOWN:
        return
    options = next(iter(items(machine.properties, "metadataOptions")), {})
    if options.get("httpTokens") not in ("required", UNKNOWN):
        yield "metadataOptions.httpTokens is not `required`: IMDSv1 gives the machine's identity to any HTTP client"
    if options.get("httpPutResponseHopLimit") not in (1, UNKNOWN):
        yield "metadataOptions.httpPutResponseHopLimit is not 1: containers could take the machine's identity"


def _verified(machine: Resource) -> Iterator[str]:
    for path, wanted, wrong in SETTINGS[machine.type]:
        if at(machine.properties, path) not in (wanted, UNKNOWN):
            yield f"{path} is not {wanted}: {wrong}"


def _instance_disks(machine: Resource) -> Iterator[str]:
    properties = machine.properties
    if properties.get("rootBlockDevice") is not UNKNOWN and not items(properties, "rootBlockDevice"):
        yield "rootBlockDevice is missing, so the image decides whether the disk is encrypted; set encrypted"
    for name in ("rootBlockDevice", "ebsBlockDevices"):
        for disk in items(properties, name):
            if disk.get("encrypted") not in (True, UNKNOWN):
                yield f"{name} is not encrypted; set encrypted: true"


def _volume(volume: Resource) -> Iterator[str]:
    if volume.properties.get("encrypted") not in (True, UNKNOWN):
        yield "the volume is not encrypted; set encrypted: true"


def _kept(machine: Resource) -> Iterator[str]:
    missing = [each for each in KEPT[machine.type] if not _ignores(machine, each)]
    if missing and is_control_plane(machine.urn):
        yield f"a change of {', '.join(missing)} would replace or stop a control plane; add it to ignore_changes"


def _ignores(machine: Resource, path: str) -> bool:
    """Return whether a machine ignores changes of an input, or of the input that contains it."""
    return not {path, path.partition(".")[0]}.isdisjoint(machine.ignore_changes)


def _chained(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    """Find control planes that do not wait for all before them: the engine would change several at once."""
    waits = {each.urn: each.depends_on for each in resources}
    machines = sorted((each for each in resources if is_control_plane(each.urn)), key=lambda each: each.urn)
    for first, second in pairwise(machines):
        same = _cluster(first) == _cluster(second)
        if same and first.urn not in _before(second.urn, waits):
            yield second, f"does not wait for {first.name}; both would change at once: add it to depends_on"


def _cluster(machine: Resource) -> str:
    """Return the URN without the index."""
    return machine.urn.rpartition("-")[0]


def _before(urn: str, waits: dict[str, frozenset[str]]) -> set[str]:
    """Return everything that a resource waits for, directly or indirectly."""
    found: set[str] = set()
    ahead = list(waits.get(urn, ()))
    while ahead:
        each = ahead.pop()
        if each not in found:
            found.add(each)
            ahead += waits.get(each, ())
    return found


def _pinned(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    """Find machines of a protected stack whose image comes neither from a Stash (looked up once) nor from the spec.

    Both are outputs of Images. A machine that ignores changes of its image keeps it, whatever the spec says now.
    """
    if not _protected(resources):
        return
    stashes = {each.urn for each in resources if each.type == STASH}
    listed = [ids for each in resources if IMAGES.fullmatch(each.type) for ids in items(each.properties, "ids")]
    pinned = {image for ids in listed for image in ids.values() if image is not UNKNOWN}
    for machine in resources:
        path = IMAGE.get(machine.type, "")
        image, comes_from = at(machine.properties, path), machine.inputs_from.get(path.partition(".")[0], frozenset())
        if image is None or stashes & comes_from or image in pinned or _ignores(machine, path):
            continue
        yield machine, "each run looks its image up again; take it from the spec's `images`, or from a Stash"


def _protected(resources: Collection[Resource]) -> bool:
    return any(each.protect for each in resources if is_control_plane(each.urn) or each.type in GUARDED)


def _guarded(resources: Collection[Resource]) -> Iterator[tuple[Resource, str]]:
    if not _protected(resources):
        return
    for resource in resources:
        what = "control plane" if is_control_plane(resource.urn) else GUARDED.get(resource.type)
        if OF_ISSUER & {*resource.urn.split("::")[2].split("$")}:
            continue
        if what and not resource.protect:
            yield resource, f"the {what} is not protected, but others of this stack are; set protect"


RULES = (
    ResourceRule(
        "control-planes-kept",
        "No change of image, size, disk or user-data replaces or stops a control plane.",
        MACHINES,
        _kept,
    ),
    StackRule(
        "control-planes-one-by-one",
        "Each control plane depends on the one before it, so only one changes at a time.",
        _chained,
    ),
    StackRule("protected-together", "A protected stack protects its control plane, stores and secrets.", _guarded),
    StackRule("images-pinned", "Machines of a protected stack keep the image they were planned with.", _pinned),
    ResourceRule(
        "metadata-hardened",
        "Instance metadata requires IMDSv2 with a hop limit of 1, so containers cannot read it.",
        WITH_METADATA,
        _metadata,
    ),
    ResourceRule(
        "machines-shielded",
        "Machines use secure boot and a vTPM; on GCP their serial port is closed.",
        frozenset(SETTINGS),
        _verified,
    ),
    ResourceRule("disks-encrypted", "Disks of machines are encrypted.", frozenset({INSTANCE}), _instance_disks),
    ResourceRule("volumes-encrypted", "Volumes are encrypted.", frozenset({"aws:ebs/volume:Volume"}), _volume),
)
