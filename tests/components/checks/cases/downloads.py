"""Downloads: what no digest is known of, and the stack's own entries."""

from typing import Any

from tests.components.spec.documents import Case

_DIGEST = {"sha512": 128 * "0"}


def _entry(os: str, version: str = "1.37.1", **fields: str) -> dict[str, Any]:
    url = f"https://files.example/{version}/kubernetes-node-{os}-amd64.tar.gz"
    return {"name": "kubernetes-node", "version": version, "os": os, "url": url, **(fields or _DIGEST)}


def _own(*entries: dict[str, Any], kubernetes: str = "1.37.1") -> dict[str, Any]:
    return {"kubernetes": kubernetes, "artifacts": {"entries": list(entries)}}


def _pinned(kubernetes: str, *images: str) -> dict[str, Any]:
    digests = {f"registry.k8s.io/{image}": f"sha256:{64 * '7'}" for image in images}
    return {"kubernetes": kubernetes, "artifacts": {"images": digests}}


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
        "image-digest-of-another-version",
        _pinned("1.37.0", "kube-apiserver:v1.36.4"),
        "artifacts.images",
        _pinned("1.37.0", "kube-apiserver:v1.36.4", "kube-apiserver:v1.37.0"),
    ),
    Case(  # kubeadm of 1.30 cannot patch CoreDNS
        "image-digest-of-another-version",
        _pinned("1.31.14", "coredns/coredns:v1.8.0"),
        "artifacts.images",
        _pinned("1.30.14", "coredns/coredns:v1.8.0"),
    ),
    Case(
        "artifact-twice",
        _own(_entry("linux"), _entry("linux")),
        "artifacts.entries",
        _own(_entry("linux"), _entry("windows")),
    ),
)
