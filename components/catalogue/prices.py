"""Price tables of the clouds: data files with a date and a source for each table, read when a command needs them.

Keys of a table are instance types (USD an hour) and the keys of UNITS. A region's own table takes precedence over the
one for all regions ("*"), which leaves out those of APART.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from components.catalogue import instance_sizes

FOLDER = Path(__file__).with_name("price_tables")
HOURS = 730
"""Hours of a month, as in the clouds' own calculators."""
CURRENCY = "USD"
EVERYWHERE = "*"
APART = ("cn-", "us-gov-")
"""Prefixes of AWS regions that have price lists of their own: China, where another company bills in another currency,
and GovCloud."""

HOUR, MONTH, GIB, GB = "hour", "month", "GiB a month", "GB"
"""Units of prices: an hour or a month of one item, a month of one GiB, a GB of traffic."""

UNITS = {
    "windows-vcpu": HOUR,
    "gp3": GIB,
    "pd-balanced": GIB,
    "hyperdisk-balanced": GIB,
    "io2": GIB,
    "pd-ssd": GIB,
    "PremiumV2_LRS": GIB,
    **{f"{kind}-iops": MONTH for kind in ("gp3", "io2", "hyperdisk-balanced")},
    **{f"{kind}-throughput": MONTH for kind in ("gp3", "hyperdisk-balanced")},
    "public-ipv4": HOUR,
    "nat-gateway": HOUR,
    "nat-vm": HOUR,
    "nat-gb": GB,
    "endpoint": HOUR,
    "egress-gb": GB,
    "load-balancer": HOUR,
    "bastion": HOUR,
    "dns-zone": MONTH,
    "secret": MONTH,
    "store-gib": GIB,
    "claims": MONTH,
}
"""Keys other than instance types. windows-vcpu: premium of one vCPU; nat-vm: one machine behind Cloud NAT;
endpoint: a private endpoint, on AWS in one zone; claims: all volumes that storage drivers make, whose size no plan
says, so no table has it."""

INCLUDED_IOPS = {"gp3": 3000, "hyperdisk-balanced": 3000}
INCLUDED_THROUGHPUT = {"gp3": 125, "hyperdisk-balanced": 140}
"""Operations and MiB a second that the price of a type's GiB includes ("Amazon EBS pricing"; Compute Engine, "Disk and
image pricing")."""

WINDOWS = "windows/"
"""Prefix of keys for the premium of Windows on a type whose premium differs from windows-vcpu."""

AZURE_DISKS = {f"P{tier}": gib for tier, gib in ((4, 32), (6, 64), (10, 128), (15, 256), (20, 512), (30, 1024))}
AZURE_DISKS.update({"P40": 2048, "P50": 4096, "P60": 8192, "P70": 16384})
"""Azure: tiers of premium disks and their GiB. A disk is billed as the next larger tier ("Azure managed disk
types")."""


@dataclass(frozen=True)
class Table:
    """One table. date: of the prices, YYYY-MM-DD. prices: by key."""

    region: str
    date: str
    source: str
    prices: dict[str, float]


@dataclass(frozen=True)
class Price:
    """A price of a table, in USD."""

    amount: float
    table: Table


@cache
def tables(cloud: str) -> tuple[Table, ...]:
    """Return the tables of a cloud, in the order of the file."""
    return tuple(Table(**each) for each in document(cloud)["tables"])


def document(cloud: str) -> dict[str, Any]:
    """Return the data file of a cloud."""
    return json.loads(path(cloud).read_text("utf-8"))


def path(cloud: str) -> Path:
    """Return the data file's path."""
    return FOLDER / f"{cloud}.json"


def price(cloud: str, region: str, key: str) -> Price | None:
    """Return the price of a key in a region; None if no table has it."""
    for wanted in (region,) if region.startswith(APART) else (region, EVERYWHERE):
        for table in tables(cloud):
            if table.region == wanted and key in table.prices:
                return Price(table.prices[key], table)
    return None


def unit(key: str) -> str:
    """Return the unit of a key's price."""
    return MONTH if key in AZURE_DISKS else UNITS.get(key, HOUR)


def disk_key(cloud: str, size: str, gib: int) -> tuple[str, float]:
    """Return the key of a machine's disk, and how many of its units one disk has."""
    if cloud == "azure":
        return next((tier for tier, most in AZURE_DISKS.items() if gib <= most), "premium disk"), 1
    return ("gp3" if cloud == "aws" else instance_sizes.gcp_disk(size)), gib


def windows(cloud: str, region: str, size: str) -> tuple[str, float, Price | None]:
    """Return the premium of Windows on one machine: key, units of that key, price.

    The row of the type itself comes first, then the price per vCPU. The price is None for burstable types (AWS T,
    Azure B), whose premium follows another rule, and for types whose number of vCPU is unknown.
    """
    own = price(cloud, region, f"{WINDOWS}{size}")
    if own is not None:
        return f"{WINDOWS}{size}", 1, own
    known = instance_sizes.size(size)
    if known is None or (cloud != "gcp" and instance_sizes.is_burstable(size)):
        return "windows-vcpu", 1, None
    return "windows-vcpu", known.vcpu, price(cloud, region, "windows-vcpu")
