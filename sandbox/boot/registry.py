"""A registry of the images of booted machines, served from the blobs of containerd's content store.

Blobs are files by digest. An imported archive has an index among them that names each image (containerd,
core/images/archive/importer.go). Answers follow the OCI distribution specification.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

BLOBS = Path("io.containerd.content.v1.content") / "blobs" / "sha256"
NAME = "io.containerd.image.name"
"""The annotation of an index with an image's full name."""
LARGEST = 65536
"""Most bytes of an index; layers are larger."""
START = "/v2/"
_REQUEST = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs)/(?P<what>[^/]+)")


@dataclass(frozen=True)
class Blob:
    """A blob: its file, digest and media type."""

    file: Path
    digest: str
    type: str


class Registry:
    """All images in some folders of containerd."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._blobs = [folder / BLOBS for folder in folders]
        self.digests = {name: digest for blobs in reversed(self._blobs) for name, digest in _named(blobs)}
        """Digests by full name (registry.k8s.io/pause:3.10); the first folder wins."""

    def find(self, url: str) -> Blob | None:
        """Return the blob of a URL below START, or None. A client of a mirror names the original registry in `ns`."""
        parts = urlsplit(url)
        request = _REQUEST.fullmatch(parts.path)
        if not request:
            return None
        digest = request["what"]
        if not digest.startswith("sha256:"):
            (space,) = parse_qs(parts.query).get("ns", [""])
            digest = self.digests.get(f"{space}/{request['name']}:{digest}", "")
        name = digest.removeprefix("sha256:")
        files = (blobs / name for blobs in self._blobs if name.isalnum())
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return None
        manifest = request["kind"] == "manifests"
        return Blob(file, digest, json.loads(file.read_text())["mediaType"] if manifest else "application/octet-stream")


def _named(blobs: Path) -> Iterator[tuple[str, str]]:
    """Yield full names of images and digests of their manifests."""
    for file in blobs.glob("*"):
        if file.stat().st_size > LARGEST:
            continue
        try:
            index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            continue
        for manifest in index.get("manifests") or []:
            if name := (manifest.get("annotations") or {}).get(NAME):
                yield name, manifest["digest"]
