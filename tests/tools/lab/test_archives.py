"""Archives of the lab's programs: what machines take out of the publishers' own is in them, at the same place."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.node import downloads
from components.node.role import role
from components.spec.stack import read_stack
from operations.paths import REPOSITORY
from tools.lab import archives, build

VERSIONS = ("1.37.1", "1.24.17")


@pytest.fixture(params=VERSIONS)
def packed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """Version and folder of archives of programs that are their own names."""

    def place(program: Any) -> Path:
        file = tmp_path / "programs" / program.os / program.file_name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{program.name} {program.os}")
        return file

    monkeypatch.setattr(build, "is_built", lambda _: True)
    monkeypatch.setattr(build, "place", place)
    monkeypatch.setattr(archives, "_debian_runc", lambda: b"runc")
    archives.pack(request.param, tmp_path / "mirror")
    return request.param, tmp_path


def entries(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    listed = json.loads((folder / "artifacts.json").read_text())
    return {(each["name"], each["version"], each["os"]): each for each in listed}


def test_each_entry_pins_what_lies_at_its_address_in_the_mirror(packed: tuple[str, Path]) -> None:
    _, folder = packed
    found = entries(folder)
    files = {str(each.relative_to(folder / "mirror")) for each in (folder / "mirror").rglob("*") if each.is_file()}
    assert {each["url"].removeprefix("https://") for each in found.values()} == files
    for each in found.values():
        content = (folder / "mirror" / each["url"].removeprefix("https://")).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (each["sha256"], each["size"])


def test_every_download_of_linux_machines_is_there_with_all_that_their_plan_takes_of_it(
    packed: tuple[str, Path],
) -> None:
    version, folder = packed
    config = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.aws-dev.yaml").read_text(encoding="utf-8"))["config"]
    config["mullion:cluster"] |= {"kubernetes": version, "acknowledge": {}}
    spec = read_stack("aws-dev", config).spec
    found = entries(folder)
    for pool in (None, "linux"):
        for each in downloads.wanted(role("aws-dev", spec, pool)):
            entry = found[each.name, each.version, "linux"]
            content = (folder / "mirror" / entry["url"].removeprefix("https://")).read_bytes()
            if each.program:
                continue
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                members = {member.name.removeprefix("./"): member for member in archive if member.isfile()}
            assert set(each.members) <= members.keys()
            assert all(member.mode == 0o755 and member.name.count("/") >= each.strip for member in members.values())


def test_the_same_programs_give_the_same_bytes(packed: tuple[str, Path]) -> None:
    version, folder = packed
    before = entries(folder)
    archives.pack(version, folder / "mirror")
    assert entries(folder) == before
