"""Instance types: existing names, vCPUs, architecture, and zones without them.

Parsed by the rule of the names (EC2 user guide, "Instance type naming conventions"): family, generation, options, size;
option g is an AWS Graviton (arm64) processor; size Nxlarge has N times the 4 vCPUs of an xlarge.
"""

import re

from sandbox.aws.regions import zones

_NAME = re.compile(r"([a-z]+)(\d+)([a-z-]*)\.(?:(\d*)xlarge|(micro|small|medium|large)|metal(?:-\d+xl)?)")
_FAMILIES = {
    "a": (1,),
    "c": (4, 5, 6, 7, 8),
    "m": (4, 5, 6, 7, 8),
    "r": (4, 5, 6, 7, 8),
    "t": (2, 3, 4),
    "d": (2, 3),
    "i": (3, 4, 7),
    "g": (4, 5, 6),
    "p": (3, 4, 5),
    "x": (1, 2, 8),
    "z": (1,),
}
STANDARD = ("a", "c", "d", "i", "m", "r", "t", "z")
"""Families in the quota for standard machines (EC2 user guide, "On-Demand instance quotas")."""
_ONE_VCPU = ("t2.micro", "t2.small")

_ABSENT = """
us-east-1      | e | m5 m5a m5n m6i m6a m6g m7i m7i-flex m7a m7g m8g c5 c6i c6a c7i c7a r5 r6i r7i t3 t3a t4g
us-east-1      | f | m7i-flex m7a m8g c7a r7a
us-west-1      | c | m8g m7i-flex
us-west-2      | a | m8g r8g
us-west-2      | d | m5a c5a r5a m6a m7a c7a t3a t4g
ca-central-1   | d | m5a c5a r5a t3a m7a
sa-east-1      | b | m6a m7a c7a r7a m8g
eu-west-3      | a | m7a m8g c7a
ap-northeast-1 | d | m8g m7a
ap-southeast-1 | c | m7a m8g
"""
"""Examples of zones without newer or AMD families, from `describe-instance-type-offerings`. Offerings differ by account
and time, and so do the letters of zones: these rows show what happens, and are no list to plan by. us-west-2a is the
first zone of an account whose letter a is a zone that others see as d.
"""


def vcpus(name: str) -> int:
    """Return the vCPUs of an instance type; metal sizes count as 96."""
    found = _NAME.fullmatch(name)
    if found is None or (found[4] is None and found[5] is None):
        return 96
    if found[5]:
        return 1 if name in _ONE_VCPU or (found[5] == "medium" and found[1] != "t") else 2
    return 4 * int(found[4] or 1)


def exists(name: str) -> bool:
    """Return whether an instance type name is possible: a known family and generation, and a size."""
    found = _NAME.fullmatch(name)
    return found is not None and int(found[2]) in _FAMILIES.get(found[1], ()) and vcpus(name) <= 192


def is_standard(name: str) -> bool:
    """Return whether a type counts towards the quota for standard machines."""
    found = _NAME.fullmatch(name)
    return found is not None and found[1] in STANDARD


def architecture(name: str) -> str:
    """Return x86_64 or arm64."""
    found = _NAME.fullmatch(name)
    return "arm64" if found and ("g" in found[3].split("-")[0] or found[1] == "a") else "x86_64"


def offering(region: str, name: str) -> list[str]:
    """Return the names of the region's zones that offer an instance type."""
    family = name.partition(".")[0]
    return [zone for zone in zones(region) if family not in _WITHOUT.get(zone, ())]


_WITHOUT = {
    f"{region.strip()}{letter.strip()}": frozenset(families.split())
    for region, letter, families in (line.split("|") for line in _ABSENT.strip().splitlines())
}
"""Families that a zone lacks, by zone."""
