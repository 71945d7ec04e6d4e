"""Archives of the lab's programs contain all files that machines take from the publishers' archives, at the same
paths."""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.node import downloads
from components.node.role import role
from components.stack_files.stack import read_stack
from lab import archives, build
from lab.cluster import LINUX, PACKED, SYSTEMS
from operations.stacks.paths import REPOSITORY

VERSIONS = ("1.37.1", "1.24.17")


@pytest.fixture(params=VERSIONS)
def packed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """Pack archives of fake programs; return version and folder."""

    def place(program: Any) -> Path:
        file = tmp_path / "programs" / program.os / program.file_name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{program.name} {program.os}")
        return file

    monkeypatch.setattr(build, "is_built", lambda _: True)
    monkeypatch.setattr(build, "place", place)
    monkeypatch.setattr(archives, "_debian_runc", lambda: b"runc")
    listed = written(request.param, tmp_path / "mirror", SYSTEMS)
    (tmp_path / "artifacts.json").write_text(json.dumps(listed))
    return request.param, tmp_path


def written(version: str, mirror: Path, systems: Collection[str]) -> list[dict[str, Any]]:
    return [each for system in systems for each in PACKED[system](version, mirror)]


def entries(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    listed = json.loads((folder / "artifacts.json").read_text())
    return {(each["name"], each["version"], each["os"]): each for each in listed}


def test_each_entry_pins_the_file_at_its_address_in_the_mirror(packed: tuple[str, Path]) -> None:
    _, folder = packed
    pins = entries(folder)
    files = {str(each.relative_to(folder / "mirror")) for each in (folder / "mirror").rglob("*") if each.is_file()}
    assert {each["url"].removeprefix("https://") for each in pins.values()} == files
    for each in pins.values():
        content = (folder / "mirror" / each["url"].removeprefix("https://")).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (each["sha256"], each["size"])


def test_every_download_of_linux_machines_exists_with_all_members_of_their_plan(
    packed: tuple[str, Path],
) -> None:
    version, folder = packed
    config = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml").read_text(encoding="utf-8"))["config"]
    config["mullion:cluster"] |= {"kubernetes": version, "acknowledge": {}}
    spec = read_stack("aws-dev", config).spec
    pins = entries(folder)
    for pool in (None, "linux"):
        for download in downloads.wanted(role("aws-dev", spec, pool)):
            entry = pins[download.name, download.version, "linux"]
            content = (folder / "mirror" / entry["url"].removeprefix("https://")).read_bytes()
            if download.program:
                continue
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                members = {member.name.removeprefix("./"): member for member in archive if member.isfile()}
            assert set(download.members) <= members.keys()
            assert all(member.mode == 0o755 and member.name.count("/") >= download.strip for member in members.values())


def test_the_same_programs_give_the_same_bytes(packed: tuple[str, Path]) -> None:
    version, folder = packed
    assert written(version, folder / "mirror", SYSTEMS) == list(entries(folder).values())


def test_a_cluster_of_linux_machines_has_the_same_linux_entries_and_no_windows_entry(packed: tuple[str, Path]) -> None:
    version, folder = packed
    pins = written(version, folder / "linux" / "mirror", LINUX)
    assert pins == [entry for key, entry in entries(folder).items() if key[2] == "linux"]
    assert pins


POOLS = {"web": "containerd", "legacy": "docker"}
"""Pools of Windows machines, with their runtimes."""


@pytest.mark.parametrize("pool", POOLS)
def test_every_download_of_windows_machines_exists_with_all_members_of_their_plan(
    pool: str, packed: tuple[str, Path]
) -> None:
    version, folder = packed
    windows = {"os": "windows-2019", "runtime": POOLS[pool], "count": 1}
    cluster = {"cloud": "aws", "kubernetes": version, "artifacts": {"file": str(folder / "artifacts.json")}}
    config = {"aws:region": "eu-west-1", "mullion:cluster": {**cluster, "pools": {pool: windows}}}
    spec = read_stack("lab", config).spec
    pins = entries(folder)
    for download in downloads.wanted(role("lab", spec, pool)):
        entry = pins[download.name, download.version, "windows"]
        content = (folder / "mirror" / entry["url"].removeprefix("https://")).read_bytes()
        if not download.program:
            names = members(entry["url"], content)
            assert {name.removeprefix("./") for name in download.members} <= {name.removeprefix("./") for name in names}
            assert all(name.count("/") >= download.strip for name in names)


def members(url: str, content: bytes) -> list[str]:
    """Return the files in an archive."""
    if url.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.namelist()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return [member.name for member in archive if member.isfile()]
