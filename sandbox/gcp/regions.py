"""Regions with their zones; machine types and the zones that lack them; public images.

Zones: Google Cloud documentation, "Regions and zones". Arm machines' zones: the same page's table of machine types.
"""

import re

PROJECT = "mullion-sandbox"
NUMBER = "100000000000"
"""Number of the project, which replaces its id in some names."""

_ROWS = """
us-central1             | abcf
us-east1                | bcd
us-east4                | abc
us-east5                | abc
us-south1               | abc
us-west1                | abc
us-west2                | abc
us-west3                | abc
us-west4                | abc
northamerica-northeast1 | abc
northamerica-northeast2 | abc
southamerica-east1      | abc
europe-central2         | abc
europe-north1           | abc
europe-southwest1       | abc
europe-west1            | bcd
europe-west2            | abc
europe-west3            | abc
europe-west4            | abc
europe-west6            | abc
europe-west8            | abc
europe-west9            | abc
asia-east1              | abc
asia-northeast1         | abc
asia-northeast3         | abc
asia-south1             | abc
asia-southeast1         | abc
australia-southeast1    | abc
"""
REGIONS = {name.strip(): letters.strip() for name, letters in (row.split("|") for row in _ROWS.strip().splitlines())}
"""Letters of the zones, by region."""

AI_ZONES = {"us-central1": ["us-central1-ai1a"], "us-south1": ["us-south1-ai1b"]}
"""AI zones, which Compute Engine lists among a region's zones ("AI zones"); the sandbox creates nothing in them."""

SIZES = {
    "e2": "2 4 8 16 32",
    "n1": "1 2 4 8 16 32 64 96",
    "n2": "2 4 8 16 32 48 64 80 96 128",
    "n2d": "2 4 8 16 32 48 64 80 96 128 224",
    "n4": "2 4 8 16 32 48 64 80",
    "c2": "4 8 16 30 60",
    "c2d": "2 4 8 16 32 56 112",
    "c3": "4 8 22 44 88 176",
    "c3d": "4 8 16 30 60 90 180 360",
    "c4": "2 4 8 16 24 32 48 96 144 192 288",
    "c4d": "2 4 8 16 32 48 64 96 192 384",
    "n4d": "2 4 8 16 32 48 64 80 96",
    "n4a": "1 2 4 8 16 32 48 64",
    "t2d": "1 2 4 8 16 32 48 60",
    "t2a": "1 2 4 8 16 32 48",
    "c4a": "1 2 4 8 16 32 48 64 72",
    "g2": "4 8 12 16 24 32 48 96",
    "h3": "88",
    "h4d": "192",
}
"""vCPUs of a family's sizes (Compute Engine, "Machine families resource and comparison guide")."""
ARM = ("t2a", "c4a", "n4a")
NOT_MOVED = {"g2": "with guest accelerators", "h3": "of H3 machine types", "h4d": "of H4D machine types"}
"""Series without live migration, and how the refusal names them."""
_PERSISTENT = frozenset({"e2", "f1", "g1", "n1", "n2", "n2d", "c2", "c2d", "c3", "c3d", "t2d", "t2a", "g2", "h3"})
_HYPERDISK = frozenset({"c3", "c3d", "c4", "c4a", "c4d", "h4d", "n4", "n4a", "n4d"})
"""Series that boot from pd-balanced, and from hyperdisk-balanced (Compute Engine, "Choose a disk type": machine series
support)."""
_SHARED = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2, "f1-micro": 1, "g1-small": 1}
_ONLY = {
    "t2a": (
        *("us-central1-a", "us-central1-b", "us-central1-f", "europe-west4-a", "europe-west4-b", "europe-west4-c"),
        *("asia-southeast1-b", "asia-southeast1-c"),
    )
}
"""Zones of families that only some zones offer."""

IMAGES = {
    "windows-cloud/windows-2019": ("windows-server-2019-dc", 50),
    "windows-cloud/windows-2019-core": ("windows-server-2019-dc-core", 50),
    "windows-cloud/windows-2022": ("windows-server-2022-dc", 50),
    "windows-cloud/windows-2022-core": ("windows-server-2022-dc-core", 50),
    "windows-cloud/windows-2025": ("windows-server-2025-dc", 50),
    "windows-cloud/windows-2025-core": ("windows-server-2025-dc-core", 50),
    "ubuntu-os-cloud/ubuntu-2004-lts": ("ubuntu-2004-focal", 10),
    "ubuntu-os-cloud/ubuntu-2204-lts": ("ubuntu-2204-jammy", 10),
    "ubuntu-os-cloud/ubuntu-2204-lts-arm64": ("ubuntu-2204-jammy-arm64", 10),
    "ubuntu-os-cloud/ubuntu-2404-lts-amd64": ("ubuntu-2404-noble-amd64", 10),
    "ubuntu-os-cloud/ubuntu-2404-lts-arm64": ("ubuntu-2404-noble-arm64", 10),
    "debian-cloud/debian-11": ("debian-11-bullseye", 10),
    "debian-cloud/debian-12": ("debian-12-bookworm", 10),
    "debian-cloud/debian-12-arm64": ("debian-12-bookworm-arm64", 10),
}
"""Name prefix of the images, and disk size in GiB, by project and family."""
NEWEST = "v20251112"
_IMAGE = re.compile(r"projects/([a-z0-9-]+)/global/images/(?:family/([a-z0-9-]+)|([a-z0-9-]+)-v\d{8})")


def zones(region: str) -> list[str]:
    """Return the names of a region's zones."""
    return [f"{region}-{letter}" for letter in REGIONS[region]]


def region_of(zone: str) -> str:
    """Return the region of a zone: europe-west1-b -> europe-west1."""
    return zone.rpartition("-")[0]


def vcpus(machine: str) -> int | None:
    """Return the vCPUs of a machine type, or None if it does not exist."""
    if machine in _SHARED:
        return _SHARED[machine]
    family, _, rest = machine.partition("-")
    kind, _, size = rest.partition("-")
    known = kind in ("standard", "highmem", "highcpu") and size in SIZES.get(family, "").split()
    return int(size) if known else None


def has(zone: str, machine: str) -> bool:
    """Return whether a zone offers a machine type."""
    family = machine.partition("-")[0]
    return vcpus(machine) is not None and zone in _ONLY.get(family, (zone,))


def boots_from(machine: str, disk: str) -> bool:
    """Return whether a machine type's series supports a type of boot disk."""
    family = machine.partition("-")[0]
    return family in (_HYPERDISK if disk.startswith("hyperdisk-") else _PERSISTENT)


def images(region: str) -> dict[str, str]:
    """Return every image, which all regions have: its family, as PROJECT/FAMILY, by id."""
    return {
        f"projects/{family.partition('/')[0]}/global/images/{stem}-{NEWEST}": family
        for family, (stem, _) in IMAGES.items()
    }


def image(name: str) -> str:
    """Return the family, as PROJECT/FAMILY, of an image; an empty string if the image does not exist.

    name: an id, the id with a URL before it, or PROJECT/IMAGE and PROJECT/FAMILY as the provider resolves them.
    """
    short = re.sub(r"^https://(www|compute)\.googleapis\.com/compute/v1/", "", name)
    if short in IMAGES:
        return short
    short = (
        short if short.startswith("projects/") else "projects/{}/global/images/{}".format(*[*short.split("/"), ""][:2])
    )
    match = _IMAGE.fullmatch(short)
    if match is None:
        return ""
    project, family, stem = match.groups()
    wanted = [
        key for key, (known, _) in IMAGES.items() if key == f"{project}/{family}" or (known == stem and project in key)
    ]
    return wanted[0] if wanted else ""
