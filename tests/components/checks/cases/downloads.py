"""Downloads: what no digest is known of, and the stack's own entries."""

from typing import Any

from tests.components.spec.documents import Case

_DIGEST = {"sha512": 128 * "0"}


def _entry(os: str, version: str = "1.37.1", **fields: str) -> dict[str, Any]:
    url = f"https://files.example/{version}/kubernetes-node-{os}-amd64.tar.gz"
    return {"name": "kubernetes-node", "version": version, "os": os, "url": url, **(fields or _DIGEST)}


def _own(*entries: dict[str, Any], kubernetes: str = "1.37.1") -> dict[str, Any]:
    return {"kubernetes": kubernetes, "artifacts": {"entries": list(entries)}}


CASES = (
    Case("download-without-digest", {"kubernetes": "1.37.1"}, "artifacts", {"kubernetes": "1.37.0"}),
    Case("download-without-digest", _own(_entry("windows")), "artifacts", _own(_entry("linux"), _entry("windows"))),
    Case(
        "download-without-digest",
        _own(_entry("linux", "1.37.0", digest="unknown"), kubernetes="1.37.0"),
        "artifacts",
        _own(_entry("linux", "1.36.4", digest="unknown"), kubernetes="1.37.0"),
    ),
    Case(
        "kubernetes-patch",
        {"kubernetes": "1.36.99"},
        "kubernetes",
        _own(_entry("linux", "1.36.99"), _entry("windows", "1.36.99"), kubernetes="1.36.99"),
    ),
    Case(
        "download-replaced",
        _own(_entry("linux", "1.36.4"), kubernetes="1.36.4"),
        "artifacts.entries.0",
        _own(_entry("linux")),
    ),
    Case(
        "artifact-twice",
        _own(_entry("linux"), _entry("linux")),
        "artifacts.entries",
        _own(_entry("linux"), _entry("windows")),
    ),
)
