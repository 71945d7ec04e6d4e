"""Kinds of the API's host name on control planes and of the API's version."""

from components.node.kinds.model import Cut, Field, Kind, OnChange
from components.node.kinds.values import NAME, NAMES, PATH, URL, VERSION

_WRITTEN = (Cut.BEFORE_SET, Cut.BEFORE_RENAME, Cut.AFTER_SET)
_LINUX = ("linux",)
_WINDOWS = ("windows",)

ENDPOINT: dict[str, Kind] = {
    "endpoint": Kind(
        "The hosts file resolves the API's name to this machine, then to its peers. Until a founder has finished, only"
        " to itself; until a joining machine has joined, only to its peers, a ready one first.",
        {
            "host": Field(NAME, "The API's host name."),
            "address": Field(NAME, "This machine's address."),
            "peers": Field(NAMES, "Addresses of all control-plane machines; this machine's is ignored."),
            "founder": Field(PATH, "File that exists if this machine founds the cluster."),
            "joined": Field(PATH, "File that exists once this machine has an API server."),
            "ca": Field(PATH, "The only authority accepted for a peer's certificate."),
        },
        compares="The lines with the name; without an API server on this machine, that /readyz of the first peer"
        " returns 200.",
        sets="Asks peers every 2 seconds until one is ready or the time limit (404), then writes the lines with the"
        " name; other lines stay.",
        undo="other lines with the name",
        cuts=_WRITTEN,
        systems=_LINUX,
        image=False,
        seconds=300,
    ),
    "api-version": Kind(
        "The API server has at least this version of Kubernetes: no kubelet may be newer than the API server.",
        {
            "url": Field(URL, "URL of the API server, which needs no credentials for /version."),
            "ca": Field(PATH, "The only authority accepted for its certificate."),
            "version": Field(VERSION, "Kubernetes version, such as 1.36.4."),
            "kubectl": Field(PATH, "Path of kubectl.exe, which sends the request.", required=False, systems=_WINDOWS),
        },
        compares="gitVersion of /version.",
        sets="Asks again every 2 seconds until the time limit (404).",
        cuts=(Cut.BEFORE_SET,),
        on_change=OnChange.NEW_NODES,
        image=False,
        seconds=1800,
    ),
}
