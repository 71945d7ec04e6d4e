"""`mullion pin images` against a registry on loopback that is the stack's mirror."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.catalogue.artifacts import BUILT_IN
from components.stack_files import artifact_file
from operations.commands import pin_images
from operations.console.exits import Exit
from operations.downloads import fetch
from operations.downloads import registry as client
from tests.operations.conftest import STACK
from tests.operations.downloads.registries import BOTH, OWN, SIGNED_IN, Registry, manifest_list, serving

Mullion = Callable[..., Result]
DIGEST = f"sha256:{hashlib.sha256(BOTH).hexdigest()}"
FILE = "artifacts.json"


@pytest.fixture
def project(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The clone, whose artifacts.json stacks read and `mullion pin images` writes."""
    monkeypatch.setattr(artifact_file.with_file, "__defaults__", (clone,))
    monkeypatch.setattr(pin_images, "REPOSITORY", clone)
    return clone


@pytest.fixture
def registry(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    """The mirror of every registry of the stack `small`; it has every image for both systems."""
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setattr(client, "HOSTS", OWN)
    with serving() as here:
        here.everything = BOTH
        mirrors = f'    control_plane: {{containerd: {{mirrors: {{"*": ["{here.url}"]}}}}}}\n'
        text = STACK.replace("    pools:\n", f"{mirrors}    pools:\n")
        (project / "stacks" / "Pulumi.small.yaml").write_text(text)
        yield here


def plan(mullion: Mullion) -> dict[str, Any]:
    return json.loads(mullion("plan", "small", "--json").stdout)


def test_every_image_that_the_plan_starts_is_written_and_used(
    registry: Registry, mullion: Mullion, clone: Path
) -> None:
    before = plan(mullion)["images"]
    ended = mullion("pin", "images", "small")
    assert ended.exit_code == 0, ended.output
    rows = json.loads((clone / FILE).read_text())
    assert before["by_digest"] == []
    held = {each["image"] for each in rows}
    assert {each["digest"] for each in rows} == {DIGEST}
    assert all(each["source"].startswith(registry.url) for each in rows)
    after = plan(mullion)["images"]
    assert after["by_digest"] == sorted(f"{image}@{DIGEST}" for image in held)
    assert held | set(after["by_tag"]) == set(before["by_tag"])
    assert f"{len(held)} of {len(before['by_tag'])} by digest" in mullion("plan", "small").stdout


def test_the_images_that_kubeadm_takes_by_tag_are_named(registry: Registry, mullion: Mullion, clone: Path) -> None:
    kubernetes = plan(mullion)["kubernetes"]
    ended = mullion("pin", "images", "small")
    left = plan(mullion)["images"]["by_tag"]
    assert left == [f"registry.k8s.io/kube-proxy:v{kubernetes}"]
    assert f"not pinned: {left[0]}, because kubeadm {kubernetes} takes no digest for it" in ended.output
    assert f"by tag: {left[0]}" in mullion("plan", "small").stdout


def test_the_bill_of_materials_has_the_digests(registry: Registry, mullion: Mullion, clone: Path) -> None:
    assert mullion("pin", "images", "small").exit_code == 0
    images = [each for each in json.loads(mullion("sbom", "small").stdout)["components"] if each["type"] == "container"]
    hashed = {each["name"] for each in images if each.get("hashes") == [{"alg": "SHA-256", "content": DIGEST[7:]}]}
    assert {"registry.k8s.io/kube-apiserver", "registry.k8s.io/pause", "ghcr.io/flannel-io/flannel"} <= hashed


def test_a_moved_tag_changes_nothing_until_the_images_are_pinned_again(
    registry: Registry, mullion: Mullion, clone: Path
) -> None:
    mullion("pin", "images", "small")
    before = plan(mullion)["images"]
    registry.everything = manifest_list(("windows", "amd64"), ("linux", "amd64"))
    assert plan(mullion)["images"] == before
    again = mullion("pin", "images", "small")
    assert f", was {DIGEST}" in again.output
    assert not any(DIGEST in each for each in plan(mullion)["images"]["by_digest"])


def test_digests_that_only_a_mirror_gave_are_named(registry: Registry, mullion: Mullion) -> None:
    kubernetes = plan(mullion)["kubernetes"]
    said = mullion("pin", "images", "small").output.replace("\n", " ")
    assert f"only a mirror gave the digest of registry.k8s.io/kube-apiserver:v{kubernetes}" in said


def test_other_stacks_that_read_the_same_file_are_named(registry: Registry, mullion: Mullion, project: Path) -> None:
    text = STACK.replace("    pools:\n", "    artifacts: {file: own.json}\n    pools:\n")
    (project / "stacks" / "Pulumi.apart.yaml").write_text(text)
    (project / "stacks" / "Pulumi.beside.yaml").write_text(STACK)
    said = mullion("pin", "images", "small").output
    shared = next(line for line in said.splitlines() if "is also read by" in line)
    assert "beside" in shared
    assert "apart" not in shared and "small" not in shared.partition("read by")[2]


def test_nothing_is_written_if_one_image_has_no_digest(registry: Registry, mullion: Mullion, clone: Path) -> None:
    registry.manifests["pause:3.10"] = manifest_list(("linux", "amd64"))
    registry.manifests["pause:3.10.1"] = registry.manifests["pause:3.10.2"] = registry.manifests["pause:3.10"]
    ended = mullion("pin", "images", "small")
    assert ended.exit_code == Exit.FAILED
    assert "has no image for windows on amd64" in ended.output and "Nothing was pinned" in ended.output
    assert not (clone / FILE).exists()


def test_credentials_of_docker_are_used_and_never_printed(
    registry: Registry, mullion: Mullion, clone: Path, tmp_path: Path
) -> None:
    registry.private = "Bearer"
    auths = {registry.url.removeprefix("http://"): {"auth": SIGNED_IN}}
    (tmp_path / "config.json").write_text(json.dumps({"auths": auths}))
    ended = mullion("pin", "images", "small")
    assert ended.exit_code == 0, ended.output
    assert SIGNED_IN not in ended.output + (clone / FILE).read_text()


def test_downloads_and_images_stay_side_by_side_in_the_file(registry: Registry, mullion: Mullion, clone: Path) -> None:
    row = {
        "name": "runc",
        "version": BUILT_IN.versions("runc", "linux")[-1],
        "os": "linux",
        "url": "https://x.example/runc",
    }
    (clone / FILE).write_text(json.dumps([{**row, "sha256": 64 * "1", "source": "by hand"}]))
    assert mullion("pin", "images", "small").exit_code == 0
    rows = json.loads((clone / FILE).read_text())
    assert [each["name"] for each in rows if "name" in each] == ["runc"]
    assert [each for each in rows if "image" in each]


def test_a_wrong_row_of_an_image_is_an_error_at_its_place(mullion: Mullion, project: Path) -> None:
    (project / FILE).write_text(json.dumps([{"image": "registry.k8s.io/pause:3.10", "digest": "sha256:77"}]))
    ended = mullion("plan", "small")
    assert ended.exit_code != 0
    assert "artifacts.file[0].digest" in ended.output
