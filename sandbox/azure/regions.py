"""Locations with their zones, VM sizes, and platform images.

Zones: Azure documentation, "List of Azure regions". Subscriptions differ in the sizes that they see.
"""

import re

SUBSCRIPTION = "00000000-0000-4000-8000-000000000000"
TENANT = "00000000-0000-4000-8000-00000000000a"

_WITH = """
australiaeast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 francecentral
germanywestcentral italynorth japaneast koreacentral northeurope norwayeast polandcentral southafricanorth
southcentralus southeastasia spaincentral swedencentral switzerlandnorth uaenorth uksouth westeurope westus2
westus3
"""
_WITHOUT = "australiasoutheast canadaeast northcentralus southindia ukwest westcentralus westus"
REGIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_WITH.split(), ("1", "2", "3")),
    **dict.fromkeys(_WITHOUT.split(), ()),
}
"""Zones by location."""

_SIZE = re.compile(r"Standard_([A-Z]+?)(\d+)(?:-\d+)?([a-z]*)(?:_v(\d))?")
_VCPUS = {1, 2, 4, 8, 12, 16, 20, 24, 32, 36, 40, 44, 48, 60, 64, 72, 80, 96, 104, 120, 128, 176, 192}
_FAMILIES = {"A": (2,), "B": (0, 2), "D": (1, 2, 3, 4, 5, 6, 7), "DS": (1, 2), "E": (3, 4, 5, 6, 7), "F": (0, 2, 6, 7)}
_FAMILIES |= {"DC": (2, 3, 5, 6), "EC": (5, 6), "L": (0, 2, 3, 4)}
_ABSENT = {("westus", "v6"), ("northcentralus", "v6"), ("westcentralus", "v6"), ("southindia", "v6")}
"""Examples of locations without a generation, to show what happens; no list to plan by."""

IMAGES = {
    ("MicrosoftWindowsServer", "WindowsServer"): 127,
    ("MicrosoftWindowsServer", "windowsserver2022"): 127,
    ("Canonical", "0001-com-ubuntu-server-focal"): 30,
    ("Canonical", "0001-com-ubuntu-server-jammy"): 30,
    ("Canonical", "ubuntu-24_04-lts"): 30,
    ("Debian", "debian-11"): 30,
    ("Debian", "debian-12"): 30,
}
"""Size of the disk in GiB, by publisher and offer."""
SMALL = 30
"""Size of the disk in GiB of Windows images with smalldisk in the SKU."""
_SKUS = {
    "WindowsServer": re.compile(
        r"(2019|2022|2025)-datacenter(-azure-edition)?(-core)?(-smalldisk)?(-gensecond|-gs|-g2)?"
    ),
    "0001-com-ubuntu-server-focal": re.compile(r"20_04-lts(-gen2|-arm64)?"),
    "0001-com-ubuntu-server-jammy": re.compile(r"22_04-lts(-gen2|-arm64)?"),
    "ubuntu-24_04-lts": re.compile(r"server(-gen1|-arm64)?|minimal(-gen1|-arm64)?"),
    "debian-11": re.compile(r"11(-gen2)?(-backports.*)?"),
    "debian-12": re.compile(r"12(-gen2|-arm64)?"),
}
_SKUS["windowsserver2022"] = _SKUS["WindowsServer"]
_VERSION = re.compile(r"latest|\d+\.\d+\.\d+")


PINNED = (
    *(
        f"MicrosoftWindowsServer:WindowsServer:{year}-datacenter-core-smalldisk-g2:{version}"
        for year, version in (
            ("2019", "17763.7919.251105"),
            ("2022", "20348.4405.251105"),
            ("2025", "26100.7171.251105"),
        )
    ),
    "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:22.04.202511050",
    "Canonical:ubuntu-24_04-lts:server:24.4.202511050",
    "Debian:debian-12:12-gen2:0.20251105.2100",
)
"""Generation 2 images in one version each, in the form of a spec."""


def images(region: str) -> dict[str, str]:
    """Images of all regions: publisher and offer by id."""
    return {each: "/".join(each.split(":")[:2]) for each in PINNED}


def vcpus(size: str) -> int | None:
    """Return the vCPUs of a VM size, or None if the size does not exist."""
    found = _SIZE.fullmatch(size)
    if found is None or int(found[4] or 0) not in _FAMILIES.get(found[1], ()) or int(found[2]) not in _VCPUS:
        return None
    return int(found[2])


def is_arm(size: str) -> bool:
    """Return whether a size's processor is arm64: a p follows its number."""
    found = _SIZE.fullmatch(size)
    return found is not None and "p" in found[3]


def has(location: str, size: str) -> bool:
    """Return whether a location offers a size."""
    return (location, f"v{size[-1]}") not in _ABSENT


def disk(reference: dict[str, str]) -> int | None:
    """Return the size of an image's disk in GiB, or None if the image does not exist."""
    offer, sku = reference.get("offer", ""), reference.get("sku", "")
    known = offer in _SKUS and _SKUS[offer].fullmatch(sku) and _VERSION.fullmatch(reference.get("version", ""))
    size = IMAGES.get((reference.get("publisher", ""), offer))
    return (SMALL if "smalldisk" in sku else size) if known else None


def second_generation(reference: dict[str, str]) -> bool:
    """Return whether an image boots as generation 2, which trusted launch needs."""
    sku = reference.get("sku", "")
    new = reference.get("offer") == "ubuntu-24_04-lts" and "gen1" not in sku
    return new or bool(re.search(r"gen2|gensecond|-gs$|-g2$|arm64|azure-edition", sku))
