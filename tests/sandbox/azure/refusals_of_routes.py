"""Refusals about routes and route tables, in the form of refusals.py."""

from typing import Any

from tests.sandbox.scenes import Row


def route(name: str) -> dict[str, Any]:
    hop = {"nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.20.0.9"}
    return {"name": name, "addressPrefix": "10.244.1.0/24", **hop}


ROUTES: dict[str, Row] = {
    "two routes of one range": (
        "table",
        {"routes": [route("a"), route("b")]},
        "RouteConflict",
        "Route b conflicts with another route of 10.244.1.0/24",
    ),
    "two routes of one name": ("table", {"routes": [route("a"), route("a")]}, "InvalidRequestFormat", "its own"),
    "route in a table with host bits": (
        "table",
        {"routes": [route("a") | {"addressPrefix": "10.244.1.1/24"}]},
        "InvalidCIDRNotation",
        "should be 10.244.1.0/24",
    ),
    "hop without an address": (
        "route",
        {"nextHopIpAddress": None},
        "RouteNextHopIpAddressRequired",
        "VirtualAppliance",
    ),
    "address of another hop": ("route", {"nextHopType": "Internet"}, "InvalidRouteNextHopIpAddress", "alone"),
}
