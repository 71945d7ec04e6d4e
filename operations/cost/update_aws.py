"""Prices of AWS from its price list, without an account: one CSV for each offer and region (AWS "Price List Bulk API").

EC2's list has several hundred MB per region, so it is read row by row.
"""

import csv
import re
from collections.abc import Iterable, Iterator

from components.catalogue.prices import WINDOWS
from operations.cost import asking
from operations.cost.asking import Answers, Found, Wanted

BASE = "https://pricing.us-east-1.amazonaws.com"
SOURCE = "AWS price list (pricing.us-east-1.amazonaws.com/offers/v1.0)"
SERVICES = ("gp3", "nat-gateway", "nat-gb", "public-ipv4", "load-balancer", "endpoint")
"""Keys in the query, besides instance types and the premium of Windows."""

OFFERS = ("AmazonEC2", "AmazonVPC", "AWSELB")
_PREFIX = r"(?:[A-Z0-9]+-)?"
"""Prefix of a usage type: the region's short name; us-east-1 has none."""
_USAGES = {
    f"{_PREFIX}NatGateway-Hours": "nat-gateway",
    f"{_PREFIX}NatGateway-Bytes": "nat-gb",
    f"{_PREFIX}PublicIPv4:InUseAddress": "public-ipv4",
    f"{_PREFIX}VpcEndpoint-Hours": "endpoint",
}
_BALANCER = re.compile(f"{_PREFIX}LoadBalancerUsage")


def answers(wanted: Wanted) -> Answers:
    """Return the prices that AWS gives for types and services. Raises Stop."""
    found = Found()
    for region in wanted.regions:
        windows: dict[str, float] = {}
        for offer in OFFERS:
            url = f"{BASE}/offers/v1.0/aws/{offer}/current/{region}/index.csv"
            with asking.lines(url) as rows:
                for row in _rows(rows):
                    _take(found, region, row, wanted.sizes, windows)
        asking.premiums(found, region, windows)
    return found.answers


def _rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the on-demand rows of a list. The row that begins with SKU names the columns."""
    names: list[str] = []
    for cells in csv.reader(lines):
        if not names:
            names = cells if cells[:1] == ["SKU"] else []
            continue
        row = dict(zip(names, cells, strict=False))
        on_demand = row["TermType"] == "OnDemand" and row["Currency"] == "USD"
        if on_demand and row["Location Type"] == "AWS Region":  # not a local or wavelength zone
            yield row
    if not names:
        raise ValueError("no columns")


def _take(found: Found, region: str, row: dict[str, str], sizes: tuple[str, ...], windows: dict[str, float]) -> None:
    """Add the price of a row; ignore rows of other products and rows with the price zero."""
    key = _key(row, sizes)
    if key is None or not (amount := float(row["PricePerUnit"])):
        return
    if key.startswith(WINDOWS):
        windows[key.removeprefix(WINDOWS)] = amount
    else:
        found.add(region, key, amount)


def _key(row: dict[str, str], sizes: tuple[str, ...]) -> str | None:
    """Return the key of a row's price: for machines with Windows, WINDOWS and the type. None: not asked for."""
    size, usage = row.get("Instance Type", ""), row["usageType"]
    if size in sizes:
        shared = row["Tenancy"] == "Shared" and row["CapacityStatus"] == "Used" and row["Pre Installed S/W"] == "NA"
        if not shared or row["License Model"] != "No License required" or row["Unit"] != "Hrs":
            return None
        return {"Linux": size, "Windows": f"{WINDOWS}{size}"}.get(row["Operating System"])
    if row.get("Volume API Name") == "gp3" and row["Unit"] == "GB-Mo":
        return "gp3"
    if row["Product Family"] == "Load Balancer-Network" and _BALANCER.fullmatch(usage):
        return "load-balancer"
    return next((key for pattern, key in _USAGES.items() if re.fullmatch(pattern, usage)), None)
