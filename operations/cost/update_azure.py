"""Prices of Azure from its Retail Prices API, without an account (Microsoft Learn, "Azure Retail Prices REST API")."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from components.catalogue.prices import AZURE_DISKS
from operations.console.exits import Exit, Stop
from operations.cost import asking
from operations.cost.asking import Answers, Found, Wanted

BASE = "https://prices.azure.com/api/retail/prices"
SOURCE = "Azure Retail Prices API (prices.azure.com)"
EVERYWHERE = ("", "Global")
"""Regions of meters that have one price in all regions."""
METERS = (
    ("Load Balancer", "Standard Included LB Rules and Outbound Rules", "load-balancer"),
    ("NAT Gateway", "Standard Gateway", "nat-gateway"),
    ("NAT Gateway", "Standard Data Processed", "nat-gb"),
    ("Virtual Network", "Standard Private Endpoint", "endpoint"),
    ("Azure DNS", "Private Zone", "dns-zone"),
    ("Virtual Network", "Standard IPv4 Static Public IP", "public-ipv4"),
)
"""Service, meter and key of services. A meter is listed for a region, or for EVERYWHERE."""
SERVICES = (*AZURE_DISKS, *(key for _, _, key in METERS))
"""Keys in the query, besides instance types and the premium of Windows."""

AT_ONCE = 20
"""Instance types of one request, so that the filter fits into a URL."""
_CONSUMPTION = "priceType eq 'Consumption'"


def answers(wanted: Wanted) -> Answers:
    """Return the prices that Azure gives for types, disks and services. Raises Stop."""
    found = Found()
    for region in wanted.regions:
        windows: dict[str, float] = {}
        for begin in range(0, len(wanted.sizes), AT_ONCE):
            some = wanted.sizes[begin : begin + AT_ONCE]
            names = " or ".join(f"armSkuName eq '{size}'" for size in some)
            for row in _rows(f"armRegionName eq '{region}' and {_CONSUMPTION} and ({names})"):
                _machine(found, region, row, some, windows)
        asking.premiums(found, region, windows)
        _disks(found, region)
    for service, meter, key in METERS:
        for row in _rows(f"serviceName eq '{service}' and meterName eq '{meter}' and {_CONSUMPTION}"):
            if row.get("tierMinimumUnits"):  # the price of more than a cluster has, such as the 26th zone
                continue
            place = row["armRegionName"]
            for region in wanted.regions if place in EVERYWHERE else {place} & {*wanted.regions}:
                found.add(region, key, float(row["retailPrice"]))
    return found.answers


def _machine(found: Found, region: str, row: Any, sizes: tuple[str, ...], windows: dict[str, float]) -> None:
    """Add the price of a virtual machine; skip rows of spot and low priority machines and of Cloud Services."""
    size, product, sku = row["armSkuName"], row["productName"], row["skuName"]
    if size not in sizes or row["type"] != "Consumption" or row["unitOfMeasure"] != "1 Hour":
        return
    if "Spot" in sku or "Low Priority" in sku or not product.startswith("Virtual Machines"):
        return
    if product.endswith(" Windows"):
        windows[size] = float(row["retailPrice"])
    else:
        found.add(region, size, float(row["retailPrice"]))


def _disks(found: Found, region: str) -> None:
    names = {f"{tier} LRS Disk": tier for tier in AZURE_DISKS}
    where = f"armRegionName eq '{region}' and productName eq 'Premium SSD Managed Disks' and {_CONSUMPTION}"
    for row in _rows(where):
        if (tier := names.get(row["meterName"])) and row["unitOfMeasure"] == "1/Month":
            found.add(region, tier, float(row["retailPrice"]))


def _rows(where: str) -> Iterator[Any]:
    """Yield the rows of all pages; each page names the next. Raises Stop if a page is on another host."""
    url, host = BASE, urlsplit(BASE).hostname
    params: dict[str, str] | None = {"$filter": where, "currencyCode": "'USD'"}
    for _ in range(asking.MOST_PAGES):
        page = asking.get_json(url, params)
        yield from page["Items"]
        url, params = page["NextPageLink"] or "", None  # the link has its own query
        if not url:
            return
        if urlsplit(url).hostname != host:
            raise Stop(Exit.FAILED, f"{host} names a next page on another host: {urlsplit(url).hostname}")
    raise Stop(Exit.FAILED, f"{host} gives more than {asking.MOST_PAGES} pages")
