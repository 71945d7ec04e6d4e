"""State of Windows by area of tests/conformance/state.py: in the state files of the stand-ins, and in the registry."""

import json
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from tests.conformance import windows_hns

CURRENT = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
MEMORY = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
NAME = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName"
AUTOMATIC = [r"?:\pagefile.sys"]
DEFAULT = "0.0.0.0/0"
"""The default route of a machine, to interface 7, unless a case changes it; null: none."""
BUILD = {"build": 17763, "ubr": 6293}


def text(data: Any, kind: str = "String") -> dict[str, Any]:
    """Return a registry value."""
    return {"type": kind, "data": data}


def value_place(path: str) -> dict[str, str]:
    r"""Return key\value with the hive's full name."""
    key, _, name = path.rpartition("\\")
    _, _, below = key.partition("\\")
    return {"key": f"HKEY_LOCAL_MACHINE\\{below}", "name": name}


def values(area: str, wanted: Any) -> list[dict[str, Any]]:
    """Return the registry values of an area."""
    if area == "registry":
        return [{**value_place(path), "value": each} for path, each in wanted.items()]
    if area == "build":
        pairs = {"CurrentBuildNumber": text(str(wanted["build"])), "UBR": text(wanted["ubr"], "DWord")}
        return [{"key": CURRENT, "name": name, "value": each} for name, each in pairs.items()]
    if area == "hostname":
        return [{"key": NAME, "name": "ComputerName", "value": text(wanted)}]
    if area == "pagefile":
        lines = (
            AUTOMATIC if wanted == "automatic" else [f"C:\\pagefile.sys {wanted['initial_mb']} {wanted['maximum_mb']}"]
        )
        return [{"key": MEMORY, "name": "PagingFiles", "value": text(lines, "MultiString")}]
    return []


Books = dict[str, Any]


def _rules(wanted: dict[str, Any]) -> Books:
    return {
        name: None
        if rule is None
        else {
            "Direction": "Inbound", "Action": "Allow", "Enabled": "True", "Protocol": rule["protocol"].upper(),
            "LocalPort": rule["ports"], "RemoteAddress": rule.get("sources"),
        }
        for name, rule in wanted.items()
    }  # fmt: skip


def _seen_rules(books: Books) -> Any:
    return {
        name: {"protocol": rule["Protocol"].lower(), "ports": rule["LocalPort"]}
        | ({"sources": rule["RemoteAddress"]} if rule.get("RemoteAddress") else {})
        for name, rule in books.items()
    }


def _tasks(wanted: dict[str, Any]) -> Books:
    return {f"mullion-{name}": each for name, each in wanted.items()}


def _schedule(task: dict[str, Any]) -> dict[str, Any]:
    interval = task["trigger"]["Repetition"]["Interval"]
    if not interval:
        return {"boot": True}
    hours, _, rest = interval.removeprefix("PT").rpartition("H")
    return {"every_minutes": 60 * int(hours or 0) + int(rest.removesuffix("M") or 0)}


def _seen_tasks(books: Books) -> Any:
    return {name.removeprefix("mullion-"): _schedule(each) for name, each in books.items()}


def _seen_routes(books: Books) -> Any:
    return {
        prefix: f"{each['InterfaceIndex']} link" if each["NextHop"] == "0.0.0.0" else each["InterfaceIndex"]
        for prefix, each in books.items()
    }


def _routes(wanted: dict[str, Any]) -> Books:
    return {prefix: shown and _route(prefix, str(shown)) for prefix, shown in wanted.items()}


def _route(prefix: str, shown: str) -> Books:
    index, _, link = shown.partition(" ")
    return {"DestinationPrefix": prefix, "InterfaceIndex": int(index), "NextHop": "0.0.0.0" if link else "10.20.0.1"}


_PROFILES = {"on": ["True", "NotConfigured"], "off": ["False", "NotConfigured"], "open": ["True", "Allow"]}


def _profiles(wanted: dict[str, Any]) -> Books:
    return {name: _PROFILES[each] for name, each in wanted.items()}


def _seen_profiles(books: Books) -> Any:
    return {
        name: "off" if enabled != "True" else "open" if inbound == "Allow" else "on"
        for name, (enabled, inbound) in books.items()
    }


def _same(books: Any) -> Any:
    return books


def _bytes(wanted: dict[str, int]) -> Books:
    return {name: each << 30 for name, each in wanted.items()}


def _gibibytes(books: Books) -> Any:
    return {name: round(each / (1 << 30)) for name, each in books.items()}


def _flannel(wanted: dict[str, Any]) -> Books:
    gateway = str(next(IPv4Network(wanted["subnet"]).hosts()))
    network = {"type": "Overlay", "subnet": wanted["subnet"], "gateway": gateway, "vni": 4096}
    lines = [
        "FLANNEL_NETWORK=10.244.0.0/16",
        f"FLANNEL_SUBNET={gateway}/24",
        "FLANNEL_MTU=8951",
        "FLANNEL_IPMASQ=false",
    ]
    text = "\n".join([*lines, ""])
    work = {"network": windows_hns.network(wanted["network"], network), "path": wanted["file"], "text": text}
    return {"left": wanted["works_at"], "service": wanted["service"], **work}


KEPT: dict[str, tuple[str, Callable[[Any], Books], Callable[[Books], Any]]] = {
    "tasks": ("tasks", _tasks, _seen_tasks),
    "disk": ("disk", _bytes, _gibibytes),
    "rules": ("rules", _rules, _seen_rules),
    "features": ("features", _same, _same),
    "hypervisor": ("hypervisor", _same, _same),
    "port_ranges": ("ports", _same, _same),
    "defender": ("defender", _same, _same),
    "profiles": ("profiles", _profiles, _seen_profiles),
    "local_users": ("users", _same, _same),
    "routes": ("routes", _routes, _seen_routes),
    "adapters": ("adapters", lambda names: {"names": names}, lambda books: books.get("names")),
    "outage": ("outage", lambda polls: {"polls": polls}, lambda books: books["polls"]),
    "away": ("away", lambda polls: {"made": 0, "left": polls}, lambda books: books["left"]),
    "loss": ("loss", lambda polls: {"polls": polls}, lambda books: books["polls"]),
    "loss_in_wait": ("waits", lambda waits: {"left": waits}, lambda books: books["left"]),
    "unforwardable": ("unforwardable", lambda fails: {"cmdlet": fails}, lambda books: books["cmdlet"]),
    "duplicate": ("duplicate", lambda address: {"address": address}, lambda books: books["address"]),
    "own_addresses": ("addresses", _same, _same),
    "flannel": ("flannel", _flannel, _same),
}
"""Area -> state file of the stand-ins, and its shape there and in cases."""


def keep(fakes: Path, area: str, wanted: Any) -> None:
    """Write an area into the stand-ins' state: exactly the members it names."""
    book, shape, _ = KEPT[area]
    place = fakes / f"{book}.json"
    books = json.loads(place.read_text()) if place.exists() else {}
    books |= shape(wanted)
    lost = [name for name, each in books.items() if each is None and name != DEFAULT]
    place.write_text(json.dumps({name: each for name, each in books.items() if name not in lost}))


def kept(fakes: Path, area: str) -> Any:
    """Return an area from the stand-ins' state."""
    book, _, seen = KEPT[area]
    place = fakes / f"{book}.json"
    return seen(json.loads(place.read_text()) if place.exists() else {})


def read(fakes: Path, book: str) -> Books:
    """Return a state file of the stand-ins; empty if it is not written yet."""
    place = fakes / f"{book}.json"
    return json.loads(place.read_text()) if place.exists() else {}
