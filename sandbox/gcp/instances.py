"""Compute Engine instances."""

import re
from typing import Any

from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.gcp import addresses, boot_obstacles, keys, regions
from sandbox.gcp.names import (
    AUTO_NAME,
    COMPUTE,
    DISK,
    INSTANCE,
    NAMED,
    SUBNETWORK,
    id_of,
    invalid,
    link,
    own_name,
    points_to,
    refuse_missing,
)
from sandbox.gcp.quotas import cpus, external, ssd

VALUE_LIMIT, TOTAL_LIMIT = 256 * 1024, 512 * 1024
"""Bytes of a metadata value, and of all entries together (Compute Engine, "About VM metadata": limitations)."""
DISKS = ("pd-standard", "pd-balanced", "pd-ssd", "pd-extreme", "hyperdisk-balanced", "hyperdisk-extreme")
_FIXED = (
    *("image", "type", "snapshot", "architecture", "storagePool", "enableConfidentialCompute", "replicaZones"),
    *("provisionedIops", "provisionedThroughput", "resourceManagerTags", "resourcePolicies"),
    *("sourceImageEncryptionKey", "sourceSnapshotEncryptionKey"),
)
_KEY = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_FACE = "networkInterfaces[0]"
_IN_SUBNETWORK = points_to(SUBNETWORK, "networkInterfaces[].subnetwork")
# the provider detaches a disk before it deletes it (terraform-provider-google, resource_compute_disk.go)
_OF_DISKS = points_to(DISK, "attachedDisks[].source", "dangle")


def _metadata(request: Request) -> None:
    entries = dict(request.inputs.get("metadata") or {})
    if script := request.inputs.get("metadataStartupScript"):
        entries["startup-script"] = script
    for index, (key, value) in enumerate(entries.items()):
        if not _KEY.fullmatch(key):
            raise invalid(f"metadata.items[{index}].key", key, "Must be a match of regex '[a-zA-Z0-9-_]{1,128}'")
        _size(f"resource.metadata.items[{index}].value", VALUE_LIMIT, len(str(value).encode()))
    _size("resource.metadata", TOTAL_LIMIT, sum(len(key) + len(str(value).encode()) for key, value in entries.items()))


def _size(field: str, most: int, actual: int) -> None:
    if actual > most:
        message = f"Value for field '{field}' is too large: maximum size {most} character(s); actual size {actual}."
        raise Refusal("fieldSizeTooLarge", f"googleapi: Error 413: {message}")


def _kind(request: Request) -> None:
    """Check that zone, machine type, image and disk exist and fit each other."""
    zone, machine = request.inputs.get("zone") or "", request.inputs["machineType"].rpartition("/")[2]
    if zone not in regions.zones(request.place.region):
        message = f"The zone 'projects/{request.account}/zones/{zone}' was not found in {request.place.region}"
        raise Refusal("notFound", f"googleapi: Error 404: {message}")
    if not regions.has(zone, machine):
        value = f"zones/{zone}/machineTypes/{machine}"
        raise invalid("machineType", value, f"Machine type with name '{machine}' does not exist in zone '{zone}'.")
    disk = request.inputs["bootDisk"].get("initializeParams") or {}
    name, kind = disk.get("image") or "", disk.get("type", "pd-standard").rpartition("/")[2]
    family = regions.image(name)
    if name and not family:
        raise invalid("disks[0].initializeParams.sourceImage", name, "The referenced image resource cannot be found.")
    if kind not in DISKS:
        raise invalid("disks[0].initializeParams.diskType", kind, "The referenced diskType resource cannot be found.")
    arm = machine.partition("-")[0] in regions.ARM
    if family and arm != family.endswith("-arm64"):
        want = "ARM64" if arm else "X86_64"
        raise invalid("disks[0].initializeParams.sourceImage", name, f"The image must be of architecture {want}.")
    if not regions.boots_from(machine, kind):
        series = machine.partition("-")[0].upper()
        message = (
            f"[{kind}] features and [instance_type: VIRTUAL_MACHINE, series: {series}] features are not compatible"
        )
        raise Refusal("badRequest", f"googleapi: Error 400: {message} for creating instance.")
    _disk(disk, family)


def _attached(request: Request) -> None:
    """Refuse further disks of another zone, or of a type that the machine's series does not have ("Choose a disk type",
    machine series support).
    """
    machine = request.inputs["machineType"].rpartition("/")[2]
    for id in _OF_DISKS.ids(request):
        record = request.cloud_state.find(DISK, id)
        if record and record.inputs["zone"] != request.inputs["zone"]:
            raise invalid("disks[1].source", id, "The disk must be in the zone of the instance.")
        kind = str(record.inputs.get("type") or "pd-standard").rpartition("/")[2] if record else ""
        if kind and not regions.boots_from(machine, kind):
            message = f"[{kind}] features and [instance_type: VIRTUAL_MACHINE] features are not compatible"
            raise Refusal("badRequest", f"googleapi: Error 400: {message} for creating instance.")


def _maintenance(request: Request) -> None:
    """Refuse machines that cannot be moved live and are not planned to stop for maintenance."""
    series = request.inputs["machineType"].rpartition("/")[2].partition("-")[0]
    stops = (request.inputs.get("scheduling") or {}).get("onHostMaintenance") == "TERMINATE"
    if series in regions.NOT_MOVED and not stops:
        message = f"Instances {regions.NOT_MOVED[series]} do not support live migration."
        raise Refusal("badRequest", f"googleapi: Error 400: {message}")


def _disk(disk: dict[str, Any], family: str) -> None:
    least, size = regions.IMAGES[family][1] if family else 10, disk.get("size")
    if size is not None and size < least:
        why = f"Requested disk size cannot be smaller than the image size ({least} GB)"
        raise invalid("disks[0].initializeParams.diskSizeGb", size, why)
    if size is not None and size > 65536:
        raise invalid("disks[0].initializeParams.diskSizeGb", size, "Disk size cannot be larger than 65536 GB")


def _grown(request: Request) -> None:
    """Refuse a boot disk that shrinks (Compute Engine API reference, disks.resize)."""
    if request.old is None:
        return
    old, new = [each["bootDisk"].get("initializeParams") or {} for each in (request.old.inputs, request.inputs)]
    if (new.get("size") or 0) < (old.get("size") or 0):
        why = f"New disk size '{new.get('size')}' must be larger than existing size '{old['size']}'."
        raise invalid("sizeGb", new.get("size") or 0, why)


def _scheduling(request: Request) -> None:
    """Refuse scheduling that a spot machine cannot have (Compute Engine API reference, scheduling; "Create and use Spot
    VMs").
    """
    given = request.inputs.get("scheduling") or {}
    spot = given.get("provisioningModel") == "SPOT"
    if (spot or given.get("preemptible")) and given.get("automaticRestart", True):
        raise invalid("scheduling.automaticRestart", True, "Scheduling must have automatic restart be false.")
    if spot and given.get("onHostMaintenance", "TERMINATE") != "TERMINATE":
        raise invalid("scheduling.onHostMaintenance", given["onHostMaintenance"], "Spot VMs cannot be migrated.")
    if given.get("instanceTerminationAction") and not spot:
        action = given["instanceTerminationAction"]
        raise invalid("scheduling.instanceTerminationAction", action, "It can be set only for Spot VMs.")


def _network(request: Request) -> None:
    """Check that the subnetwork is in the zone's region, and that a fixed address is free."""
    faces = request.inputs["networkInterfaces"]
    for face in faces:
        if not face.get("subnetwork") and not face.get("network"):
            raise invalid(_FACE, "", "At least one of network and subnetwork must be given.")
    for id, face in zip(_IN_SUBNETWORK.ids(request), faces, strict=False):
        region = id.split("/")[3]
        if region != regions.region_of(request.inputs["zone"]):
            raise invalid(f"{_FACE}.subnetwork", id, "The subnetwork must be in the region of the instance's zone.")
        if address := face.get("networkIp"):
            addresses.check(request, f"{_FACE}.networkIP", id, addresses.resolve(request.cloud_state, address))


def _faces(request: Request) -> list[dict[str, Any]]:
    """Return the interfaces with the addresses and URLs that the cloud adds."""
    if request.old:
        return request.old.outputs["networkInterfaces"]
    made: list[dict[str, Any]] = []
    for index, (face, subnetwork) in enumerate(
        zip(request.inputs["networkInterfaces"], _IN_SUBNETWORK.ids(request), strict=False)
    ):
        record = request.cloud_state.find(SUBNETWORK, subnetwork)
        given = face.get("networkIp")
        address = addresses.resolve(request.cloud_state, given) if given else addresses.free(request, subnetwork)
        accesses = [
            {
                "networkTier": "PREMIUM",
                **access,
                "natIp": access.get("natIp") or addresses.public(request, f"nat{index}"),
            }
            for access in face.get("accessConfigs") or []
        ]
        place = {"subnetwork": COMPUTE + subnetwork, "network": record.outputs["network"] if record else ""}
        made.append({**face, **place, "name": f"nic{index}", "networkIp": address, "accessConfigs": accesses})
    return made


def _used(request: Request) -> list[tuple[Unique, str]]:
    faces = request.inputs["networkInterfaces"]
    given = [face.get("networkIp") for face in faces]
    if request.old:
        given = [face["networkIp"] for face in request.old.outputs["networkInterfaces"]]
    known = [addresses.resolve(request.cloud_state, each) if each else None for each in given]
    pairs = zip(_IN_SUBNETWORK.ids(request), known, strict=False)
    return [(addresses.taken(each), addresses.key(subnetwork, each)) for subnetwork, each in pairs if each]


def _protected(request: Request) -> None:
    if request.inputs.get("deletionProtection"):
        message = f"Invalid resource usage: 'Resource is protected against deletion: {request.id}'"
        raise Refusal("invalidResourceUsage", f"googleapi: Error 400: {message}")


def _shape(request: Request) -> None:
    """Refuse to change machine type, service account or shielding of a running machine."""
    old = request.old
    if old is None or request.inputs.get("allowStoppingForUpdate"):
        return
    for name in ("machineType", "serviceAccount", "shieldedInstanceConfig", "minCpuPlatform"):
        if request.inputs.get(name) != old.inputs.get(name):
            raise Refusal(
                "allowStoppingForUpdate",
                "Changing the machine_type, min_cpu_platform, service_account, enable_display or"
                " shielded_instance_config on a started instance requires stopping it. To acknowledge this, please set"
                " allow_stopping_for_update = true in your config.",
            )


def _instance(request: Request) -> dict[str, Any]:
    return {
        "networkInterfaces": _faces(request),
        "zone": request.inputs.get("zone"),
        "instanceId": str(int(request.digits(15, "id"), 16)),
        "currentStatus": "RUNNING",
        "cpuPlatform": "Intel Ice Lake",
        "metadataFingerprint": request.digits(11, str(request.inputs.get("metadata"))),
    }


_ACCOUNT = Reference(
    "serviceAccount.email",
    "gcp:serviceaccount/account:Account",
    "notFound",
    "googleapi: Error 404: The resource '{id}' of type 'serviceAccount' was not found",
    id=lambda request, value: f"projects/{request.account}/serviceAccounts/{value}",
)
_CREATED = "2026-01-01T00:00:00.000-08:00"


def zonal_name(type: str) -> Unique:
    """Return the key of a name: machine and group names are unique in a zone."""
    return Unique(type, ("zone", "name"), own_name(type).code, own_name(type).message)


TYPES: dict[str, ResourceType] = {
    INSTANCE: ResourceType(
        id=id_of(INSTANCE),
        immutable=(
            # not canIpForward, description, size and labels of the disk: terraform-provider-google,
            # resource_compute_instance.go
            *("name", "zone", "project", "hostname", "metadataStartupScript"),
            *(f"bootDisk.initializeParams.{name}" for name in _FIXED),
            *(
                "bootDisk.diskEncryptionKeyRaw",
                "bootDisk.kmsKeySelfLink",
                "bootDisk.source",
            ),
            *("networkInterfaces.networkIp", "networkInterfaces.network", "networkInterfaces.subnetwork"),
            *("scheduling.provisioningModel", "scheduling.preemptible", "scheduling.instanceTerminationAction"),
            *("scratchDisks", "guestAccelerators", "confidentialInstanceConfig", "reservationAffinity"),
        ),
        chosen=(
            *("name", "project", "zone", "scheduling", "shieldedInstanceConfig", "confidentialInstanceConfig"),
            *("guestAccelerators", "keyRevocationActionType", "reservationAffinity", "minCpuPlatform", "metadata"),
        ),
        fallback={"canIpForward": False, "deletionProtection": False, "enableDisplay": False},
        outputs={
            "project": "{account}",
            "selfLink": link(INSTANCE),
            "creationTimestamp": _CREATED,
            "tagsFingerprint": "",
        },
        derive=_instance,
        completed=("networkInterfaces",),
        auto_name=AUTO_NAME,
        patterns=NAMED,
        references=(points_to(SUBNETWORK, "networkInterfaces[].subnetwork"), _OF_DISKS, _ACCOUNT),
        unique=(zonal_name(INSTANCE),),
        claims=_used,
        created=boot_obstacles.start,
        rules=(
            _metadata,
            _kind,
            _attached,
            _maintenance,
            _scheduling,
            _network,
            _shape,
            _grown,
            cpus,
            external,
            ssd,
            keys.disk,
        ),
        delete_rules=(_protected,),
        gone_rules=(refuse_missing,),
    ),
}
