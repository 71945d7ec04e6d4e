"""Provider plug-ins by digest: what docs/artifacts.md says about the real engine."""

import hashlib
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from operations.engine.locate import Engine

pytestmark = pytest.mark.engine

NAME = "pulumi-resource-shop-v1.2.3-linux-amd64.tar.gz"
Install = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return the archive of a plug-in, in the folder of a server."""
    path = tmp_path / "served" / NAME
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as packed:
        entry, content = tarfile.TarInfo("pulumi-resource-shop"), b"#!/bin/sh\n"
        entry.size, entry.mode = len(content), 0o755
        packed.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture
def server(archive: Path) -> Iterator[str]:
    """Yield the URL of a server with the archive."""
    serve = partial(SimpleHTTPRequestHandler, directory=str(archive.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def install(engine: Engine, tmp_path: Path) -> Install:
    """Return a function that runs `pulumi plugin install` in a home of its own."""
    added = {"PULUMI_HOME": str(tmp_path / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(engine.path), "plugin", "install", "resource", "shop", "1.2.3", *words]
        return subprocess.run(command, env=os.environ | added, capture_output=True, text=True, timeout=300, check=False)

    return run


def test_a_plugin_of_another_digest_is_refused(install: Install, server: str, tmp_path: Path) -> None:
    said = install("--server", server, "--checksum", hashlib.sha256(b"another").hexdigest())
    assert said.returncode and "invalid checksum" in said.stderr
    assert not list((tmp_path / "home").glob("plugins/*/pulumi-resource-shop"))


def test_the_option_checksum_refuses_the_right_plugin_too(install: Install, server: str, archive: Path) -> None:
    """If this test fails, the engine has been fixed, and docs/artifacts.md can recommend the option."""
    said = install("--server", server, "--checksum", hashlib.sha256(archive.read_bytes()).hexdigest())
    assert said.returncode and "invalid checksum" in said.stderr


def test_a_plugin_is_installed_from_a_checked_file(install: Install, archive: Path, tmp_path: Path) -> None:
    said = install("--file", str(archive))
    assert not said.returncode, said.stderr
    assert (tmp_path / "home/plugins/resource-shop-v1.2.3/pulumi-resource-shop").is_file()
