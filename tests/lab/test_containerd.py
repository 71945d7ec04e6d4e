"""containerd reads each rendered config.toml without a warning and applies all settings, on both systems."""

import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lab import build
from lab.programs import cluster_programs
from tests.lab.conftest import Find
from tests.lab.judge import Judgement, Windows, run
from tests.lab.rendered import Rendered
from tests.operations.downloads.registries import MANIFEST, serving

pytestmark = pytest.mark.lab

Fetch = Callable[[str], Judgement]
CONFIG = "application/vnd.docker.container.image.v1+json"


@pytest.fixture(params=["linux", "windows"])
def os(request: pytest.FixtureRequest) -> str:
    return request.param


def _files(rendered: tuple[Rendered, ...], os: str) -> dict[str, str]:
    """Return each different config.toml once, by machine; machines with Docker have none."""
    found: dict[str, str] = {}
    for each in rendered:
        if (each.pool == "windows") == (os == "windows") and each.has("containerd-config"):
            found.setdefault(each.content("containerd-config"), each.name)
    return {name: text for text, name in found.items()}


def dump(path: Path, config: str, folder: Path, windows: Windows | None) -> Judgement:
    """Return `containerd config dump` of a config.toml."""
    if windows is None:
        (folder / "config.toml").write_text(config, encoding="utf-8")
        return run([path, "--config", folder / "config.toml", "config", "dump"], folder)
    program = windows.install(path, r"C:\lab\containerd.exe")
    windows.path(r"C:\lab\config.toml").write_text(config, encoding="utf-8")
    return windows.run([program, "--config", r"C:\lab\config.toml", "config", "dump"])


def _settings(text: str) -> set[str]:
    """Return lines with settings, with one kind of quotes: containerd writes single or double quotes."""
    lines = (line.strip() for line in text.splitlines() if " = " in line)
    return {line.replace("'", '"').replace("\\\\", "\\") for line in lines}


def _objections(config: str, said: Judgement) -> list[str]:
    """Return warnings, and settings that containerd drops: 1.x drops unknown settings silently."""
    lost = sorted(_settings(config) - _settings(said.text))
    return said.objections + [f"left out: {each}" for each in lost] + ([said.text[-800:]] if said.code else [])


def test_every_config_is_read_without_a_warning(
    rendered: tuple[Rendered, ...], os: str, program: Find, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """RUN-06, RUN-07."""
    path = program("containerd", os)
    machine = request.getfixturevalue("windows") if os == "windows" else None
    files = _files(rendered, os)
    assert len(files) > 1
    for name, config in files.items():
        judgement = dump(path, config, tmp_path, machine)
        assert _objections(config, judgement) == [], name


def test_a_misspelt_key_is_found(
    rendered: tuple[Rendered, ...], os: str, program: Find, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Proves that the check above finds faults."""
    machine = request.getfixturevalue("windows") if os == "windows" else None
    config = next(iter(_files(rendered, os).values()))
    wrong = config.replace("conf_dir =", "conf_dirr =")
    assert wrong != config
    judgement = dump(program("containerd", os), wrong, tmp_path, machine)
    assert _objections(wrong, judgement)


@pytest.fixture
def fetch(
    kubernetes: str, tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> Iterator[Callable[[str], Judgement]]:
    """Return `fetch(image)`: what containerd says when it fetches an image over http into an empty store."""
    found = {each.name: each for each in cluster_programs(kubernetes) if each.name in ("containerd", "ctr")}
    if lacking := [name for name, each in found.items() if not build.is_built(each)]:
        missing("lab", f"{' and '.join(lacking)} are not built; run: python -m lab cluster {kubernetes}")
    config, socket = tmp_path / "config.toml", f"{tmp_path}/s"
    config.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n', encoding="ascii")
    places = ["--config", config, "--root", tmp_path / "root", "--state", tmp_path / "state", "--address", socket]
    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen([build.place(found["containerd"]), *places], stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while not Path(socket).exists() and daemon.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        client = [build.place(found["ctr"]), "--address", socket, "content", "fetch", "--plain-http"]
        yield lambda image: run([*client, image], tmp_path)
    finally:
        daemon.terminate()
        daemon.wait(60)


@pytest.mark.parametrize("moved", [False, True])
def test_an_image_by_digest_is_fetched_only_with_its_own_bytes(fetch: Fetch, moved: bool) -> None:
    """`artifacts.images`: what a registry answers for a digest is compared with it."""
    settings = b'{"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}'
    described = {"mediaType": CONFIG, "digest": digest(settings), "size": len(settings)}
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": [], "annotations": {"a": "1"}}
    true = json.dumps(document).encode()
    given = true.replace(b'"a": "1"', b'"a": "2"') if moved else true
    with serving() as registry:
        registry.manifests = {f"pause:{digest(true)}": given, f"pause:{digest(settings)}": settings}
        said = fetch(f"{registry.url.removeprefix('http://')}/pause@{digest(true)}")
    assert bool(said.code) == moved, said.text
    assert ("unexpected commit digest" in said.text) == moved, said.text


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
