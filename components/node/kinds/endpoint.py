"""Kinds of the API's host name on control planes and of the API's version."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, NAMES, PATH, URL

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_LINUX = ("linux",)
_WINDOWS = ("windows",)

ENDPOINT: dict[str, Kind] = {
    "endpoint": Kind(
        "The hosts file gives the API's name this machine's address, then those of its peers; a founder's its own alone"
        " until it is done; a joining machine's the peers' alone, of whom the first is ready.",
        {
            "host": Field(NAME, "The name."),
            "address": Field(NAME, "This machine's address."),
            "peers": Field(NAMES, "Addresses of all control planes; its own among them counts as none."),
            "founder": Field(PATH, "It founds the cluster when this file exists."),
            "joined": Field(PATH, "It has an API when this file exists."),
            "ca": Field(PATH, "The only authority that a peer's certificate may come from."),
        },
        compares="The name's lines; without an API of its own, that /readyz of the first peer says 200.",
        sets="Asks peers every 2 seconds until one is ready or the time is over (404), then writes the name's lines;"
        " all others stay.",
        undo="other lines with the name",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
    "api-version": Kind(
        "The API server runs at least this version of Kubernetes: no kubelet may be newer than it.",
        {
            "url": Field(URL, "Of the API server; it tells anyone its version."),
            "ca": Field(PATH, "The only authority that its certificate may come from."),
            "version": Field({"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}, "As 1.32.13."),
            "kubectl": Field(PATH, "kubectl.exe, which asks.", required=False, systems=_WINDOWS),
        },
        compares="gitVersion of /version.",
        sets="Asks again every 2 seconds until the time is over (404).",
        cuts=(Cut.BEFORE_SET,),
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=1800,
    ),
}
