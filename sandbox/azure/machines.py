"""Virtual machines, their extensions and identities."""

import base64
import binascii
import json
import re
from typing import Any

from sandbox.azure import boot_obstacles, regions
from sandbox.azure.identities import assigned
from sandbox.azure.names import (
    DISK_KEY,
    EXTENSION,
    IDENTITY,
    INTERFACE,
    MACHINE,
    changed,
    guid,
    part_of,
    points_to,
    row,
)
from sandbox.azure.quotas import cores
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.values import Secret, plain

CUSTOM_DATA_LIMIT = 87380
"""Longest base64 text of customData, which is 65,535 bytes (Azure REST reference, OSProfile.customData)."""
WINDOWS_NAME, LINUX_NAME = 15, 64
"""Longest computer name (Azure, "Resolve naming errors": virtual machines)."""
_FORBIDDEN = re.compile(r"[`~!@#$%^&*()=+_\[\]{}\\|;:.'\",<>/?]")
_USERS = frozenset(
    [
        *("administrator", "admin", "admin1", "admin2", "adm", "user", "user1", "user2", "user3", "user4", "user5"),
        *(
            "test",
            "test1",
            "test2",
            "test3",
            "1",
            "123",
            "a",
            "actuser",
            "aspnet",
            "backup",
            "console",
            "david",
            "guest",
        ),
        *("john", "owner", "root", "server", "sql", "support", "support_388945a0", "sys"),
    ]
)
"""Refused administrator names (Azure, "FAQ about Windows virtual machines")."""


def _profile(request: Request) -> dict[str, Any]:
    return request.inputs.get("osProfile") or {}


def is_windows(inputs: dict[str, Any]) -> bool:
    """Return whether a machine's image is Windows."""
    reference = (inputs.get("storageProfile") or {}).get("imageReference") or {}
    return reference.get("publisher") == "MicrosoftWindowsServer"


def _parameter(message: str) -> Refusal:
    return Refusal("InvalidParameter", message)


def _names(request: Request) -> None:
    profile, windows = _profile(request), is_windows(request.inputs)
    name, user = profile.get("computerName") or request.inputs["vmName"], profile.get("adminUsername", "")
    most = WINDOWS_NAME if windows else LINUX_NAME
    if len(name) > most or name.isdecimal() or _FORBIDDEN.search(name):
        raise _parameter(
            f"{'Windows' if windows else 'Linux'} computer name cannot be more than {most} characters long, be entirely"
            " numeric, or contain the following characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] {{ }} \\ | ; : . ' \" ,"
            " < > /"
            f" ?. It is '{name}'."
        )
    if profile and (not user or user.lower() in _USERS):
        raise _parameter("The Admin Username specified is not allowed.")


def _password(request: Request) -> None:
    """Require a password on Windows, and a password or a key on Linux."""
    profile = _profile(request)
    password = profile.get("adminPassword")
    keys = ((profile.get("linuxConfiguration") or {}).get("ssh") or {}).get("publicKeys")
    if profile and not password and not (keys and not is_windows(request.inputs)):
        raise Refusal("InvalidParameter", "Required parameter 'adminPassword' is missing (null).")
    kinds = sum(bool(re.search(kind, password or "")) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[\W_]"))
    if password and (not 8 <= len(password) <= 123 or kinds < 3):
        raise _parameter(
            "The supplied password must be between 8-123 characters long and must satisfy at least 3 of password"
            " complexity"
            " requirements from the following: Contains an uppercase character, Contains a lowercase character,"
            " Contains a"
            " numeric digit, Contains a special character, Control characters are not allowed"
        )


def _custom_data(request: Request) -> None:
    data = _profile(request).get("customData") or ""
    try:
        base64.b64decode(data, validate=True)
        fits = len(data) <= CUSTOM_DATA_LIMIT
    except binascii.Error:
        fits = False
    if not fits:
        raise _parameter(
            "Custom data in OSProfile must be in Base64 encoding and with a maximum length of"
            f" {CUSTOM_DATA_LIMIT} characters."
        )


def _size(request: Request) -> None:
    size, location = (request.inputs.get("hardwareProfile") or {}).get("vmSize") or "", request.region
    if regions.vcpus(size) is None:
        raise _parameter(f"The value {size} provided for the VM size is not valid.")
    zones = request.inputs.get("zones") or []
    known = regions.REGIONS.get(location, ())
    for zone in zones:
        if zone not in known:
            raise Refusal(
                "InvalidAvailabilityZone",
                f"The zone(s) '{zone}' for resource '{MACHINE.arm}/{request.inputs['vmName']}' is not supported. The"
                f" supported zones for location '{location}' are '{','.join(known)}'",
            )
    if len(zones) > 1:
        raise _parameter("A virtual machine is in one zone.")
    if not regions.has(location, size):
        raise Refusal(
            "SkuNotAvailable",
            f"The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: {size}' is"
            " currently"
            f" not available in location '{location}'. Please try another size or deploy to a different location or"
            " different zone.",
        )


def _image(request: Request) -> None:
    profile = request.inputs.get("storageProfile") or {}
    reference = profile.get("imageReference") or {}
    if reference.get("id"):
        raise Refusal("NotFound", f"The sandbox has platform images alone; there is no {reference['id']}")
    least = regions.disk(reference)
    wanted = ":".join(str(reference.get(name, "")) for name in ("publisher", "offer", "sku", "version"))
    if least is None:
        message = f"The platform image '{wanted}' is not available."
        raise Refusal("PlatformImageNotFound", f"{message} Verify that all fields in the storage profile are correct.")
    size = (profile.get("osDisk") or {}).get("diskSizeGB")
    if size is not None and size < least:
        raise _parameter(
            f"The specified disk size {size} GB is smaller than the size of the corresponding disk in the VM image:"
            f" {least}"
            " GB. This is not allowed. Please choose equal or greater size or do not specify an explicit size."
        )
    trusted = (request.inputs.get("securityProfile") or {}).get("securityType") == "TrustedLaunch"
    if trusted and not regions.second_generation(reference):
        raise Refusal(
            "BadRequest",
            "Use of TrustedLaunch setting is not supported for the provided image. Please select Trusted Launch"
            " Supported"
            " Gen2 OS Image.",
        )
    if regions.is_arm(request.inputs["hardwareProfile"]["vmSize"]) != ("arm64" in reference.get("sku", "")):
        raise Refusal("BadRequest", f"The architecture of the image {wanted} does not match that of the VM size.")


def _data_disks(request: Request) -> None:
    """Refuse disks that Azure refuses (REST reference, DataDisk; "Azure managed disk types", Premium SSD v2)."""
    disks = (request.inputs.get("storageProfile") or {}).get("dataDisks") or []
    luns = [each["lun"] for each in disks]
    if len(set(luns)) < len(luns):
        raise _parameter("A LUN cannot be used by two data disks.")
    for disk in disks:
        kind, size = (disk.get("managedDisk") or {}).get("storageAccountType"), disk.get("diskSizeGB")
        if disk["createOption"] == "Empty" and not size:
            raise _parameter("Required parameter 'dataDisk.diskSizeGB' is missing (null).")
        if kind == "PremiumV2_LRS" and disk.get("caching", "None") != "None":
            raise _parameter("Disks of type PremiumV2_LRS support only the caching 'None'.")
        if kind == "PremiumV2_LRS" and not request.inputs.get("zones"):
            raise _parameter("Disks of type PremiumV2_LRS can be attached only to zonal virtual machines.")


def _licence(request: Request) -> None:
    """Refuse a licence that is not of the machine's system (REST reference, VirtualMachine.licenseType)."""
    given = request.inputs.get("licenseType")
    fit = ("Windows_Client", "Windows_Server") if is_windows(request.inputs) else ("RHEL_BYOS", "SLES_BYOS")
    if given not in (None, "None", *fit):
        raise _parameter(f"The value '{given}' of parameter 'licenseType' does not fit the operating system of the VM.")


def _spot(request: Request) -> None:
    """Refuse what spot machines cannot be (Azure, "Use Azure Spot Virtual Machines": limitations; REST reference)."""
    given, size = request.inputs, (request.inputs.get("hardwareProfile") or {}).get("vmSize") or ""
    spot = given.get("priority") in ("Spot", "Low")
    if not spot and (given.get("evictionPolicy") or given.get("billingProfile")):
        raise _parameter("Eviction policy and billing profile can be set only on Azure Spot Virtual Machines.")
    if spot and (size.startswith("Standard_B") or size.endswith("_Promo")):
        raise Refusal("OperationNotAllowed", f"The VM size '{size}' is not supported for Azure Spot Virtual Machines.")


def _interfaces(request: Request) -> None:
    if not points_to(INTERFACE, "networkProfile.networkInterfaces[].id").ids(request):
        raise _parameter("Required parameter 'networkProfile' is missing (null).")
    zones = (request.old.inputs.get("zones") if request.old else None) or []
    if request.old and zones != (request.inputs.get("zones") or []):
        raise Refusal("ResourceAvailabilityZonesCannotBeModified", f"The zones of {request.id} cannot be changed.")


def _attached(request: Request) -> list[tuple[Unique, str]]:
    """Return the claims on interfaces: an interface belongs to one machine."""
    claims: list[tuple[Unique, str]] = []
    for id in points_to(INTERFACE, "networkProfile.networkInterfaces[].id").ids(request):
        message = f"Network Interface {id} is used by another existing virtual machine."
        claims.append((Unique("attached interface", (), "NicInUse", message), id))
    return claims


def _outputs(request: Request) -> dict[str, Any]:
    profile = _profile(request)
    known = {name: value for name, value in profile.items() if name not in ("adminPassword", "customData")}
    computer = {"computerName": profile.get("computerName") or request.inputs["vmName"]}
    made: dict[str, Any] = {"vmId": guid(request, "vm"), "timeCreated": "2026-01-01T00:00:00+00:00"}
    made |= assigned(request)
    if profile:
        withheld = {name: Secret(profile[name]) for name in ("adminPassword",) if name in profile}
        data = {"customData": profile["customData"]} if "customData" in profile else {}
        made["osProfile"] = {**known, **computer, **data, **withheld}
    return made


def _identity(request: Request) -> dict[str, Any]:
    return {
        "clientId": guid(request, "client"),
        "principalId": guid(request, "principal"),
        "tenantId": regions.TENANT,
    }


def _machine(request: Request) -> str:
    """Return the id of an extension's machine; the extension is deleted with it."""
    return part_of(MACHINE).ids(request)[0]


def _settings(request: Request) -> None:
    """Keep data that only the machine may read."""
    told = plain(request.inputs.get("protectedSettings")) or {}
    request.cloud_state.put_secret(_machine(request), "protectedSettings", json.dumps(told))


TYPES: dict[str, ResourceType] = {
    IDENTITY.token: row(IDENTITY, outputs={"type": IDENTITY.arm}, derive=_identity),
    MACHINE.token: row(
        MACHINE,
        outputs={"provisioningState": "Succeeded", "type": MACHINE.arm},
        derive=_outputs,
        completed=("osProfile", "identity"),
        references=(
            points_to(INTERFACE, "networkProfile.networkInterfaces[].id"),
            points_to(IDENTITY, "identity.userAssignedIdentities[]", "dangle", "FailedIdentityOperation"),
            points_to(DISK_KEY, "storageProfile.osDisk.managedDisk.diskEncryptionSet.id"),
            points_to(DISK_KEY, "storageProfile.dataDisks[].managedDisk.diskEncryptionSet.id"),
        ),
        claims=_attached,
        puts=True,
        created=boot_obstacles.start,
        deleted=lambda request: request.cloud_state.remove_secret(request.id),
        rules=(
            *(_names, _password, _custom_data, _size, _image, _data_disks, _licence, _spot, _interfaces, cores),
            changed("osProfile.customData", "osProfile.computerName", "osProfile.adminUsername"),
            changed("priority", "evictionPolicy"),
            changed("storageProfile.imageReference", "networkProfile.networkInterfaces"),
            changed("storageProfile.osDisk.managedDisk.diskEncryptionSet"),
        ),
    ),
    EXTENSION.token: row(
        EXTENSION,
        outputs={"provisioningState": "Succeeded"},
        immutable=("publisher", "type"),
        secret=("protectedSettings",),
        created=_settings,
        deleted=lambda request: request.cloud_state.remove_secret(_machine(request)),
        references=(part_of(MACHINE),),
        unique=(
            Unique(
                "handler",
                ("resourceGroupName", "vmName", "publisher", "type"),
                "BadRequest",
                "Multiple VMExtensions per handler not supported for this OS type. VMExtension with handler"
                " '{in_.publisher}.{in_.type}' already added or specified in input.",
            ),
        ),
        at_least_one=(("publisher",), ("type",), ("typeHandlerVersion",)),
    ),
}
