"""Images that booted machines pull: the registry serves the index, manifest and layers of each."""

import json

import pytest

from lab import cluster as programs
from lab import images
from sandbox.boot.mirror import IMAGES
from sandbox.boot.registry import Registry

pytestmark = pytest.mark.lab


def test_the_registry_has_every_image_of_a_version_with_its_manifest_and_layers(built: str) -> None:
    registry = Registry([programs.folder(built) / IMAGES])
    for reference in images.references(built):
        registry_name, _, name = reference.partition("/")
        name, _, tag = name.rpartition(":")
        answer = registry.find(f"/v2/{name}/manifests/{tag}?ns={registry_name}")
        assert answer, reference
        manifest = json.loads(answer.file.read_text())
        for layer in (manifest["config"], *manifest["layers"]):
            blob = registry.find(f"/v2/{name}/blobs/{layer['digest']}?ns={registry_name}")
            assert blob, f"{reference}: {layer['digest']}"
            assert blob.file.stat().st_size == layer["size"]
