"""Instance types of each cloud, from a table of families and a table of sizes.

vCPU and GiB are those of the clouds' instance type pages (2026-11). A family has GiB per vCPU and an architecture, a
size has vCPU. Burstable types of AWS have separate tables.
"""

import re
from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True)
class Size:
    """One instance type: vCPU, memory in bytes, architecture (amd64 or arm64)."""

    name: str
    vcpu: int
    memory: int
    architecture: str


VCPUS = {
    "medium": 1,
    "large": 2,
    "xlarge": 4,
    "2xlarge": 8,
    "4xlarge": 16,
    "8xlarge": 32,
    "9xlarge": 36,
    "12xlarge": 48,
    "16xlarge": 64,
    "18xlarge": 72,
    "24xlarge": 96,
    "32xlarge": 128,
    "48xlarge": 192,
}
"""vCPU by size, the same in all families of FAMILIES that have the size."""

_SMALL = "large xlarge 2xlarge 4xlarge"
_SIXTH = f"{_SMALL} 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge"
_SEVENTH = f"{_SMALL} 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge"
_ARM = f"medium {_SMALL} 8xlarge 12xlarge 16xlarge"
_OLDER = f"{_SMALL} 8xlarge 12xlarge 16xlarge 24xlarge"

FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("m5 m5a m5d m5n m5ad m5dn r5 r5a r5d r5n r5ad r5dn r5b c5a c5ad", "amd64", _OLDER),
    ("c5 c5d", "amd64", f"{_SMALL} 9xlarge 12xlarge 18xlarge 24xlarge"),
    ("m6i m6id m6in m6idn r6i r6id r6in r6idn c6i c6id c6in", "amd64", _SIXTH),
    ("m6a r6a c6a", "amd64", f"{_SIXTH} 48xlarge"),
    ("m7i r7i c7i", "amd64", _SEVENTH),
    ("m7a r7a c7a", "amd64", f"medium {_SEVENTH} 32xlarge"),
    ("m7i-flex c7i-flex", "amd64", f"{_SMALL} 8xlarge 12xlarge 16xlarge"),
    ("m8i r8i c8i", "amd64", f"{_SEVENTH} 32xlarge"),
    ("m8a r8a c8a", "amd64", f"medium {_SEVENTH}"),
    ("m6g m6gd r6g r6gd c6g c6gd c6gn m7g m7gd r7g r7gd c7g c7gd", "arm64", _ARM),
    ("m8g r8g c8g", "arm64", f"{_ARM} 24xlarge 48xlarge"),
)
"""AWS: families, architecture, sizes."""

GIB_PER_VCPU = {"c": 2, "m": 4, "r": 8}
"""AWS: GiB per vCPU by the family's first letter (compute, general, memory)."""

BURSTABLE_FAMILIES = {"t2": "amd64", "t3": "amd64", "t3a": "amd64", "t4g": "arm64"}
BURSTABLE = {"micro": (2, 1), "small": (2, 2), "medium": (2, 4), "large": (2, 8), "xlarge": (4, 16), "2xlarge": (8, 32)}
"""AWS: size -> vCPU, GiB of burstable types. t2.micro and t2.small have one vCPU."""


def _table() -> dict[str, Size]:
    sizes: dict[str, Size] = {}
    for families, architecture, names in FAMILIES:
        for family in families.split():
            for name in names.split():
                vcpu = VCPUS[name]
                full = f"{family}.{name}"
                sizes[full] = Size(full, vcpu, vcpu * GIB_PER_VCPU[family[0]] * GIB, architecture)
    for family, architecture in BURSTABLE_FAMILIES.items():
        for name, (vcpu, gib) in BURSTABLE.items():
            full = f"{family}.{name}"
            one = family == "t2" and name in ("micro", "small")
            sizes[full] = Size(full, 1 if one else vcpu, gib * GIB, architecture)
    return sizes


AWS: dict[str, Size] = _table()
"""Instance types of AWS by name."""


GCP_FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("e2", "standard:4 highcpu:1", "2 4 8 16 32"),
    ("e2", "highmem:8", "2 4 8 16"),
    ("n1", "standard:3.75 highmem:6.5 highcpu:0.9", "2 4 8 16 32 64 96"),
    ("n2", "standard:4", "2 4 8 16 32 48 64 80 96 128"),
    ("n2", "highmem:8 highcpu:1", "2 4 8 16 32 48 64 80 96"),
    ("n2d", "standard:4 highcpu:1", "2 4 8 16 32 48 64 80 96 128 224"),
    ("n2d", "highmem:8", "2 4 8 16 32 48 64 80 96"),
    ("n4", "standard:4 highmem:8 highcpu:2", "2 4 8 16 32 48 64 80"),
    ("c2", "standard:4", "4 8 16 30 60"),
    ("c2d", "standard:4 highmem:8 highcpu:2", "2 4 8 16 32 56 112"),
    ("c3", "standard:4 highmem:8 highcpu:2", "4 8 22 44 88 176"),
    ("c3d", "standard:4 highmem:8", "4 8 16 30 60 90 180 360"),
    ("t2d", "standard:4", "1 2 4 8 16 32 48 60"),
    ("t2a", "standard:4", "1 2 4 8 16 32 48"),
    ("c4a", "standard:4 highmem:8 highcpu:2", "1 2 4 8 16 32 48 64 72"),
)
"""GCP: series; kinds with GiB per vCPU; vCPU."""

GCP_ARM = frozenset({"t2a", "c4a"})
GCP_SHARED = {"e2-micro": 1, "e2-small": 2, "e2-medium": 4}
"""GCP: GiB of types with shared cores; each has two vCPU for a part of the time."""
GCP_NOT_MOVED = frozenset(("a2", "a3", "a4", "a4x", "g2", "g4", "h3", "h4d"))
"""GCP: series whose machines Google stops for maintenance of their host, because it cannot move them live ("Live
migration process during maintenance events": limitations). Instances must say so, or are refused."""
GCP_MOVED_Z3 = re.compile(r"z3-highmem-(14|22|44)-standardlssd|z3-highmem-(8|16|22)-highlssd")
"""GCP: sizes of Z3 with at most 18,000 GiB of local disks; only these are moved (the same page, "Z3 machine types")."""
GCP_PERSISTENT_DISK = frozenset(
    (
        *("e2", "f1", "g1", "n1", "n2", "n2d", "c2", "c2d", "c3", "c3d", "t2d", "t2a"),
        *("h3", "z3", "m1", "m2", "m3", "a2", "g2"),
    )
)
"""GCP: series that boot from a persistent disk ("Persistent Disk": machine series support). Newer series, such as n4,
n4a, n4d, c4, c4a and c4d, boot only from Hyperdisk."""


def _gcp_table() -> dict[str, Size]:
    sizes = {name: Size(name, 2, gib * GIB, "amd64") for name, gib in GCP_SHARED.items()}
    for series, kinds, counts in GCP_FAMILIES:
        for kind, _, gib in (each.partition(":") for each in kinds.split()):
            for vcpu in map(int, counts.split()):
                name, architecture = f"{series}-{kind}-{vcpu}", "arm64" if series in GCP_ARM else "amd64"
                sizes[name] = Size(name, vcpu, int(vcpu * float(gib) * GIB), architecture)
    return sizes


GCP: dict[str, Size] = _gcp_table()

AZURE_FAMILIES: tuple[tuple[str, float, str, str], ...] = (
    ("D{}s_v3 D{}s_v4 D{}ds_v4 D{}as_v4", 4, "amd64", "2 4 8 16 32 48 64"),
    ("D{}s_v5 D{}ds_v5 D{}as_v5 D{}ads_v5 D{}s_v6 D{}ds_v6 D{}as_v6 D{}ads_v6", 4, "amd64", "2 4 8 16 32 48 64 96"),
    ("E{}s_v3 E{}s_v4 E{}ds_v4 E{}as_v4", 8, "amd64", "2 4 8 16 20 32 48"),
    ("E{}s_v5 E{}ds_v5 E{}as_v5 E{}ads_v5 E{}s_v6 E{}ds_v6 E{}as_v6 E{}ads_v6", 8, "amd64", "2 4 8 16 20 32 48 64 96"),
    ("F{}s_v2", 2, "amd64", "2 4 8 16 32 48 64 72"),
    ("D{}ps_v5 D{}pds_v5 D{}ps_v6 D{}pds_v6", 4, "arm64", "2 4 8 16 32 48 64"),
    ("E{}ps_v5 E{}pds_v5 E{}ps_v6 E{}pds_v6", 8, "arm64", "2 4 8 16 32"),
    ("B{}s_v2 B{}as_v2", 4, "amd64", "2 4 8 16 32"),
    ("B{}ms", 4, "amd64", "2 4 8 12 16 20"),
)
"""Azure: series, where {} is the vCPU; GiB per vCPU; architecture; vCPU. All boot as generation 2, from premium
disks; v6 sizes by NVMe alone, which a gallery's image must declare (docs/images.md)."""

AZURE_SMALL = {"Standard_B1ms": (1, 2), "Standard_B2s": (2, 4), "Standard_B2ls_v2": (2, 4), "Standard_B2als_v2": (2, 4)}
"""Azure: vCPU and GiB of burstable sizes with less memory."""


def _azure_table() -> dict[str, Size]:
    sizes = {name: Size(name, vcpu, gib * GIB, "amd64") for name, (vcpu, gib) in AZURE_SMALL.items()}
    for series, gib, architecture, counts in AZURE_FAMILIES:
        for form in series.split():
            for vcpu in map(int, counts.split()):
                name = f"Standard_{form.format(vcpu)}"
                sizes[name] = Size(name, vcpu, int(vcpu * gib * GIB), architecture)
    return sizes


AZURE: dict[str, Size] = _azure_table()

AZURE_DISK = "Premium_LRS"
"""Type of Azure's disks: etcd and image layers need a guaranteed speed."""

TABLES: dict[str, dict[str, Size]] = {"aws": AWS, "gcp": GCP, "azure": AZURE}
"""By cloud: instance types by name; no name is in two tables."""


FORMS: dict[str, re.Pattern[str]] = {
    "aws": re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+"),
    "azure": re.compile(r"(Standard|Basic)_\w+", re.IGNORECASE),
    "gcp": re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+"),
}
"""By cloud: the form of an instance type's name: m6i.large, Standard_D2s_v5, n2-standard-2."""


def cloud_of(name: str) -> str | None:
    """Return the cloud whose instance types have names of this form; None when no cloud's have."""
    return next((cloud for cloud, form in FORMS.items() if form.fullmatch(name)), None)


def size(name: str) -> Size | None:
    """Return the instance type; None if no table has it."""
    return next((table[name] for table in TABLES.values() if name in table), None)


def is_burstable(name: str) -> bool:
    """Return whether an instance type is fast only while it has CPU credits, or has shared cores."""
    return name.split(".", maxsplit=1)[0] in BURSTABLE_FAMILIES or name in GCP_SHARED or name.startswith("Standard_B")


def gcp_disk(name: str) -> str:
    """Return the type of boot disk for an instance type of GCP."""
    return "pd-balanced" if name.split("-", maxsplit=1)[0] in GCP_PERSISTENT_DISK else "hyperdisk-balanced"


def gcp_is_moved(name: str) -> bool:
    """Return whether Google moves machines of an instance type live when it maintains their host."""
    series = name.split("-", maxsplit=1)[0]
    if series in GCP_NOT_MOVED or name.endswith("-metal"):
        return False
    return series != "z3" or bool(GCP_MOVED_Z3.fullmatch(name))
