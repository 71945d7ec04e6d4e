"""Price interfaces on loopback: answers in the form that the clouds publish, with faults.

Forms: AWS, columns of AWSELB.csv in huggingface.co/datasets/labofsahil/aws-pricing-dataset and the user guide of the
price list ("Reading the service price list files"). Azure: answers recorded in
github.com/rshade/finfocus-plugin-azure-public, internal/pricing/testdata/retail; regions, tiers and meters of networks
and zones as several public programs that ask for them describe the answers. Google: the reference of cloudbilling.v1
`services.skus.list`, descriptions of forwarding rules as in public estimates of 2026.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, str]
Asked = Callable[[str, dict[str, str]], Answer]
"""Path and parameters of a request -> status and text. Status 0: close the connection in the middle of the text."""

HEAD = '"FormatVersion","v1.0"\n"Publication Date","2026-09-25T17:45:21Z"\n"Version","20260925174521"\n'
"""Lines before the columns, as in the CSV of the price list (docs: "Reading the service price list files")."""

NAMES = [
    *("SKU", "TermType", "Currency", "PricePerUnit", "Unit", "Product Family", "usageType", "Location Type"),
    *("Instance Type", "Tenancy", "Operating System", "License Model", "CapacityStatus", "Pre Installed S/W"),
    "Volume API Name",
]


@contextmanager
def serving(answer: Asked) -> Iterator[tuple[str, list[str]]]:
    """Serve answers; yield the address, and the list of requested paths with their parameters."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked.append(self.path)
            given = {key: values[0] for key, values in parse_qs(parts.query).items()}
            given |= {"key": self.headers.get("X-Goog-Api-Key", "")}
            status, text = answer(parts.path, given)
            content = text.encode()
            self.send_response(status or 200)
            self.send_header("Content-Length", str(len(content) + (0 if status else 100)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def aws_row(**cells: str) -> str:
    """Return a row of the price list; an instance of Linux, shared and on demand, unless cells say otherwise."""
    usual = {"SKU": "X", "TermType": "OnDemand", "Currency": "USD", "Unit": "Hrs", "Location Type": "AWS Region"}
    usual |= {"Tenancy": "Shared", "Operating System": "Linux", "License Model": "No License required"}
    usual |= {"CapacityStatus": "Used", "Pre Installed S/W": "NA"}
    row = {**usual, **{key.replace("_", " "): value for key, value in cells.items()}}
    return ",".join(f'"{row.get(name, "")}"' for name in NAMES)


def aws_list(*rows: str) -> str:
    """Return a price list of these rows."""
    return HEAD + ",".join(f'"{name}"' for name in NAMES) + "\n" + "\n".join(rows) + "\n"


def azure_row(size: str, price: float, **more: Any) -> dict[str, Any]:
    """Return an item of the Retail Prices API, with the fields that its documentation lists."""
    item = {
        "currencyCode": "USD",
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": "eastus",
        "meterName": size,
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": size,
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "armSkuName": size,
    }
    return item | more


def azure_page(*items: dict[str, Any], following: str | None = None) -> str:
    """Return a page of the Retail Prices API."""
    return json.dumps({"BillingCurrency": "USD", "Items": items, "NextPageLink": following, "Count": len(items)})


def gcp_sku(text: str, nanos: int, region: str, family: str = "Compute", usage: str = "OnDemand") -> dict[str, Any]:
    """Return a SKU of the Cloud Billing Catalog API, as its reference describes it."""
    rate = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": nanos}}
    return {
        "skuId": "0000-0000-0000",
        "description": text,
        "category": {"resourceFamily": family, "resourceGroup": "X", "usageType": usage},
        "serviceRegions": [region],
        "pricingInfo": [{"pricingExpression": {"usageUnit": "h", "tieredRates": [rate]}}],
    }
