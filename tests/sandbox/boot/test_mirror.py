"""Downloads and images of booted machines: files of several versions, and blobs of containerd."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from sandbox.boot import mirror
from sandbox.boot.registry import BLOBS, NAME

PAUSE = "registry.k8s.io/pause"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def put(folder: Path, content: bytes) -> str:
    """Add a blob to containerd's store; return its digest."""
    name = hashlib.sha256(content).hexdigest()
    (folder / mirror.IMAGES / BLOBS).mkdir(parents=True, exist_ok=True)
    (folder / mirror.IMAGES / BLOBS / name).write_bytes(content)
    return f"sha256:{name}"


def version(folder: Path, number: str) -> Path:
    """Create a version's folder: a download of its own, one that other versions have, and an image."""
    (folder / mirror.DOWNLOADS / "dl.example").mkdir(parents=True)
    for name in (number, "shared"):
        (folder / mirror.DOWNLOADS / "dl.example" / name).write_text(f"made for {number}")
    layer = put(folder, f"layer of {number}".encode())
    manifest = put(folder, json.dumps({"mediaType": MANIFEST, "layers": [{"digest": layer}]}).encode())
    index = {"manifests": [{"digest": manifest, "annotations": {NAME: f"{PAUSE}:{number}"}}]}
    put(folder, json.dumps(index).encode())
    return folder


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[HTTPConnection]:
    """Connect to the mirror of two versions."""
    made = [version(tmp_path / each, each) for each in ("2", "1")]
    server = mirror.server("127.0.0.1", made, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    yield connection
    connection.close()
    server.shutdown()
    server.server_close()
    thread.join()


def answer(connection: HTTPConnection, url: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    connection.request(method, url)
    response = connection.getresponse()
    return response, response.read()


@pytest.mark.parametrize(
    ("path", "said"),
    [("1", b"made for 1"), ("2", b"made for 2"), ("shared", b"made for 2"), ("3", None), ("", None), ("../1", None)],
)
def test_the_mirror_has_downloads_of_all_versions_and_the_first_version_wins(
    asked: HTTPConnection, path: str, said: bytes | None
) -> None:
    response, content = answer(asked, f"/dl.example/{path}")
    assert (response.status, content if said else None) == (200 if said else 404, said)


@pytest.mark.parametrize("number", ["1", "2"])
def test_an_image_is_pulled_by_name_as_containerd_does_through_a_mirror(asked: HTTPConnection, number: str) -> None:
    head, _ = answer(asked, f"/v2/pause/manifests/{number}?ns=registry.k8s.io", "HEAD")
    digest = head.getheader("Docker-Content-Digest")
    assert (head.status, head.getheader("Content-Type")) == (200, MANIFEST)
    got, manifest = answer(asked, f"/v2/pause/manifests/{digest}?ns=registry.k8s.io")
    assert (got.getheader("Content-Type"), len(manifest)) == (MANIFEST, int(head.getheader("Content-Length") or 0))
    assert f"sha256:{hashlib.sha256(manifest).hexdigest()}" == digest
    (layer,) = json.loads(manifest)["layers"]
    _, content = answer(asked, f"/v2/pause/blobs/{layer['digest']}?ns=registry.k8s.io")
    assert content == f"layer of {number}".encode()


@pytest.mark.parametrize(
    "url",
    [
        "/v2/pause/manifests/3?ns=registry.k8s.io",
        "/v2/pause/manifests/1?ns=docker.io",
        "/v2/pause/manifests/1",
        "/v2/pause/blobs/sha256:../../x?ns=registry.k8s.io",
        f"/v2/pause/blobs/sha256:{64 * '0'}",
        "/v2/",
    ],
)
def test_an_unknown_file_or_image_is_not_found(asked: HTTPConnection, url: str) -> None:
    assert answer(asked, url)[0].status == 404
