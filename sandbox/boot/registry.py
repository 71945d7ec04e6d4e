"""The images of booted machines as a registry has them, to pull from: what containerd itself keeps, served as it is.

A folder of containerd's has blobs by digest. For an archive that was imported there is an index among them, which names
each image (containerd, core/images/archive/importer.go). Answers are those of the OCI distribution specification.
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
"""The annotation of an index that holds an image's whole name."""
LARGEST = 65536
"""Bytes of an index, at most; layers are larger."""
START = "/v2/"
_ASKED = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs)/(?P<what>[^/]+)")


@dataclass(frozen=True)
class Found:
    """A blob: its file, digest and media type."""

    file: Path
    digest: str
    type: str


class Registry:
    """Every image of some folders of containerd's."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._blobs = [folder / BLOBS for folder in folders]
        self.digests = {name: digest for each in reversed(self._blobs) for name, digest in _named(each)}
        """By whole name, e.g. registry.k8s.io/pause:3.10; where two folders have one name the first counts."""

    def find(self, url: str) -> Found | None:
        """What a URL below START asks for. A mirror's client says in `ns` whose registry it means."""
        asked = urlsplit(url)
        words = _ASKED.fullmatch(asked.path)
        if not words:
            return None
        digest = words["what"]
        if not digest.startswith("sha256:"):
            (space,) = parse_qs(asked.query).get("ns", [""])
            digest = self.digests.get(f"{space}/{words['name']}:{digest}", "")
        name = digest.removeprefix("sha256:")
        file = next((each / name for each in self._blobs if name.isalnum() and (each / name).is_file()), None)
        if file is None:
            return None
        manifest = words["kind"] == "manifests"
        return Found(
            file, digest, json.loads(file.read_text())["mediaType"] if manifest else "application/octet-stream"
        )


def _named(blobs: Path) -> Iterator[tuple[str, str]]:
    """Names of images and digests of their manifests."""
    for file in blobs.glob("*"):
        if file.stat().st_size > LARGEST:
            continue
        try:
            told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            continue
        for each in told.get("manifests") or []:
            if name := (each.get("annotations") or {}).get(NAME):
                yield name, each["digest"]
