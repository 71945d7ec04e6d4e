"""Prices of Google Cloud from its Cloud Billing Catalog API, which needs an API key (`cloudbilling.skus.list`).

The key comes from the environment and goes into a header, so that no URL and no error shows it.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from components.catalogue import instance_sizes
from operations.console.exits import Exit, Stop
from operations.cost import asking
from operations.cost.asking import Answers, Found, Wanted

BASE = "https://cloudbilling.googleapis.com"
SOURCE = "Cloud Billing Catalog API (cloudbilling.googleapis.com), services Compute Engine and Networking"
SERVICES = ("pd-balanced", "load-balancer")
"""Keys in the query, besides instance types and the premium of Windows."""

KEY = "GOOGLE_CLOUD_API_KEY"
CATALOG = ("services/6F81-5844-456A", "services/E505-1604-58F8")
"""Compute Engine and Networking in the catalog."""
SERIES = {"n2": "N2 Instance", "n2d": "N2D AMD Instance", "e2": "E2 Instance", "c3": "C3 Instance", "n4": "N4 Instance"}
"""Names of the machine series in the catalog."""
SHARED = {"e2-small": 0.5, "e2-medium": 1.0}
"""Billed vCPU of types with shared cores (Google Cloud, "VM instance pricing")."""

_PART = re.compile(f"({'|'.join(SERIES.values())}) (Core|Ram) running in .+")
_DISK = re.compile(r"Balanced PD Capacity( in .+)?")
_BALANCER = re.compile(r"Cloud Load Balancer Forwarding Rule Minimum for .+ \(([a-z0-9-]+)\)")
"""The first five forwarding rules of a region: those of proxies and of all regions have other names."""
_WINDOWS = re.compile(r"Licensing Fee for Windows Server 2022 Datacenter Edition( on VM)?( \(CPU cost\))?")


def answers(wanted: Wanted) -> Answers:
    """Return the prices that Google gives for types, disks and Windows. Raises Stop."""
    if not os.environ.get(KEY):
        raise Stop(Exit.USAGE, f"set {KEY} to an API key of a project with the Cloud Billing API")
    parts, found = Found(), Found()
    for service in CATALOG:
        for sku in _skus(service):
            _take(sku, wanted.regions, parts, found)
    for region in wanted.regions:
        for size in wanted.sizes:
            amount = _machine(parts.answers, region, size)
            if amount is not None:
                found.add(region, size, amount)
    return found.answers


def _take(sku: Any, regions: tuple[str, ...], parts: Found, found: Found) -> None:
    """Read a SKU of the list: the core or the memory of a series, a disk, forwarding rules, or Windows."""
    text, kind = sku["description"], sku["category"]
    if kind["usageType"] != "OnDemand":
        return
    part, places = _PART.fullmatch(text), [each for each in sku["serviceRegions"] if each in regions]
    if part and kind["resourceFamily"] == "Compute":
        for region in places:
            parts.add(region, f"{part[1]} {part[2]}", _amount(sku))
    elif _DISK.fullmatch(text):
        for region in places:
            found.add(region, "pd-balanced", _amount(sku))
    elif (rules := _BALANCER.fullmatch(text)) and rules[1] in places:
        found.add(rules[1], "load-balancer", _amount(sku))
    elif _WINDOWS.fullmatch(text):
        for region in regions:
            found.add(region, "windows-vcpu", _amount(sku))


def _amount(sku: Any) -> float:
    """Return a SKU's price in USD: that of its last tier."""
    price = sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][-1]["unitPrice"]
    if price["currencyCode"] != "USD":
        raise ValueError(price["currencyCode"])
    return int(price.get("units") or 0) + price["nanos"] / 1e9


def _machine(parts: Answers, region: str, size: str) -> float | None:
    """Return the price of a type by its vCPU and memory; None if the catalog lacks one of them."""
    series, known = SERIES.get(size.partition("-")[0]), instance_sizes.size(size)
    core, ram = parts.get((region, f"{series} Core")), parts.get((region, f"{series} Ram"))
    if known is None or core is None or ram is None:
        return None
    return round(SHARED.get(size, known.vcpu) * core + known.memory / instance_sizes.GIB * ram, 6)


def _skus(service: str) -> Iterator[Any]:
    """Yield the SKUs of a service, page by page."""
    token = ""
    for _ in range(asking.MOST_PAGES):
        page = asking.get_json(
            f"{BASE}/v1/{service}/skus",
            {"pageSize": "5000", "currencyCode": "USD", **({"pageToken": token} if token else {})},
            {"X-Goog-Api-Key": os.environ[KEY]},
        )
        yield from page["skus"]
        token = page.get("nextPageToken") or ""
        if not token:
            return
    raise Stop(Exit.FAILED, f"{BASE} gives more than {asking.MOST_PAGES} pages")
