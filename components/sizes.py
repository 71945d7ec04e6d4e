"""Instance types of AWS: a table of families by a table of sizes.

Figures: vCPU and GiB as the publisher's instance type pages give them (2026-11). A family
gives GiB per vCPU and the architecture; a size gives vCPU. Burstable types have a table of their own.
"""

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
"""vCPU by size name; the same in all families of FAMILIES that offer the size."""

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
"""Families, architecture, sizes."""

GIB_PER_VCPU = {"c": 2, "m": 4, "r": 8}
"""By the family's first letter: compute, general, memory."""

BURSTABLE_FAMILIES = {"t2": "amd64", "t3": "amd64", "t3a": "amd64", "t4g": "arm64"}
BURSTABLE = {"micro": (2, 1), "small": (2, 2), "medium": (2, 4), "large": (2, 8), "xlarge": (4, 16), "2xlarge": (8, 32)}
"""Size: vCPU, GiB. t2.micro and t2.small have one vCPU."""


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
"""Every known instance type by name."""


def size(name: str) -> Size | None:
    """The instance type, or None when the table does not have it."""
    return AWS.get(name)
