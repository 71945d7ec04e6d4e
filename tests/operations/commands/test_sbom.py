"""`mullion sbom`: bills of materials, judged by CycloneDX's own schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from typer.testing import Result

from components.node.downloads import needed
from operations.commands import mirror
from operations.stacks import stack_files
from operations.stacks.paths import REPOSITORY
from tests.clones import work_in

Mullion = Callable[..., Result]
JUDGE = JsonStrictValidator(SchemaVersion.V1_6)


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    work_in(REPOSITORY, monkeypatch)


def bill(mullion: Mullion, stack: str) -> dict[str, Any]:
    ended = mullion("sbom", stack)
    assert ended.exit_code == 0, ended.output
    assert JUDGE.validate_str(ended.stdout) is None
    return json.loads(ended.stdout)


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("stack", ["aws-docker", "azure-prod", "gcp-ci"])
def test_the_bill_has_every_download_and_every_image_of_a_stack(mullion: Mullion, stack: str) -> None:
    components = bill(mullion, stack)["components"]
    spec = stack_files.load(stack).spec
    for artifact in needed(stack, spec):
        found = next(
            each for each in components if each["bom-ref"].startswith(f"download/{artifact.os}/{artifact.name}@")
        )
        digests = [f"{each['alg'].replace('-', '').lower()}:{each['content']}" for each in found.get("hashes", ())]
        assert digests == ([artifact.digest] if artifact.is_pinned else [])
        assert PackageURL.from_string(found["purl"]).qualifiers["download_url"] == artifact.url
    images = {each["bom-ref"].removeprefix("image/") for each in components if each["type"] == "container"}
    assert images == set(mirror.images(stack_files.load(stack)))


def test_a_pool_depends_on_what_its_machines_run_and_on_nothing_else(mullion: Mullion, clone: Path) -> None:
    document = bill(mullion, "small")
    runs = {each["ref"]: set(each.get("dependsOn", ())) for each in document["dependencies"]}
    windows = next(group for group, parts in runs.items() if any(part.startswith("os/windows") for part in parts))
    assert not any(part.startswith("download/linux/") for part in runs[windows])
    assert not any("kube-apiserver" in part for part in runs[windows])
    assert any("kube-apiserver" in part for part in runs["pool/control-plane"])
    assert {group for group in runs if group.startswith("pool/")} == runs["cluster/small"]


def test_an_image_with_a_digest_is_named_by_it(mullion: Mullion, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from operations.commands import sbom

    digest = "sha256:" + "7" * 64
    monkeypatch.setattr(sbom, "started_images", lambda *_: [f"host:5000/team/pause:3.10@{digest}", "plain"])
    images = [each for each in bill(mullion, "small")["components"] if each["type"] == "container"]
    pause = next(each for each in images if "pause" in each["name"])
    assert PackageURL.from_string(pause["purl"]) == PackageURL(
        "oci", name="pause", version=digest, qualifiers={"repository_url": "host:5000/team/pause", "tag": "3.10"}
    )
    assert pause["hashes"] == [{"alg": "SHA-256", "content": "7" * 64}]


def test_the_same_stack_gives_the_same_file(mullion: Mullion, clone: Path, tmp_path: Path) -> None:
    ended = mullion("sbom", "small", "-o", str(tmp_path / "bill.json"))
    assert ended.exit_code == 0 and "components of small" in ended.output
    assert (tmp_path / "bill.json").read_text() == mullion("sbom", "small").stdout


def test_a_file_that_cannot_be_written_is_named(mullion: Mullion, clone: Path, tmp_path: Path) -> None:
    ended = mullion("sbom", "small", "-o", str(tmp_path))
    assert ended.exit_code == 2
    assert str(tmp_path) in ended.output
