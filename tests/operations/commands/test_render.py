"""`mullion render`: every file of every machine, or none."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import Result

from tests.operations.conftest import STACK

Run = Callable[..., Result]


def test_every_machine_and_pool_has_its_files(clone: Path, mullion: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert mullion("render", "small", "-o", str(out)).exit_code == 0
    for machine in ("control-plane-0", "linux-0", "web-0", "web-1"):
        text = (out / machine / "user-data").read_text("ascii")
        assert text.startswith("<powershell>" if machine.startswith("web") else "#cloud-config")
        assert machine in text
        assert "<fact:api_host>" in text
    for pool in ("control-plane", "linux", "web"):
        digest = hashlib.sha256((out / pool / "bundle.zip").read_bytes()).hexdigest()
        assert digest in (out / f"{pool}-0" / "user-data").read_text(), "machines fetch exactly this bundle"
        packed = (out / pool / "bundle" / "plan.json").read_bytes()
        assert json.loads(packed) == json.loads((out / pool / "plan.json").read_bytes())
    assert "No fact is a secret" in (out / "README.txt").read_text().replace("\n", " ")


def test_facts_of_the_control_plane_are_in_no_workers_user_data(clone: Path, mullion: Run, tmp_path: Path) -> None:
    mullion("render", "small", "-o", str(tmp_path / "out"))
    assert "<fact:pki_secret>" in (tmp_path / "out" / "control-plane-0" / "user-data").read_text()
    assert "<fact:pki_secret>" not in (tmp_path / "out" / "web-0" / "user-data").read_text()


def test_a_second_render_needs_force_and_leaves_nothing_of_the_first(clone: Path, mullion: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mullion("render", "small", "-o", str(out))
    refused = mullion("render", "small", "-o", str(out))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("count: 2", "count: 1"))
    assert mullion("render", "small", "-o", str(out), "--force").exit_code == 0
    assert not (out / "web-1").exists()


def test_force_does_not_touch_what_mullion_did_not_write(clone: Path, mullion: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")
    assert mullion("render", "small", "-o", str(home), "--force").exit_code == 3
    assert (home / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("added", ["thesis.txt", "web/notes/plan.md", "web-0/user-data.orig", "empty/"])
def test_force_refuses_a_rendered_folder_to_which_anything_was_added(
    added: str, clone: Path, mullion: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    mullion("render", "small", "-o", str(out))
    target = out / added
    target.mkdir() if added.endswith("/") else target.parent.mkdir(exist_ok=True)
    if not added.endswith("/"):
        target.write_text("years of work")
    before = sorted(out.rglob("*"))
    result = mullion("render", "small", "-o", str(out), "--force")
    assert result.exit_code == 3
    assert added.split("/")[0] in result.stderr
    assert sorted(out.rglob("*")) == before


def test_force_follows_no_link_out_of_the_folder(clone: Path, mullion: Run, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    mullion("render", "small", "-o", str(out))
    (out / "web").rename(elsewhere)
    (out / "web").symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    assert mullion("render", "small", "-o", str(out), "--force").exit_code == 0
    assert sorted(elsewhere.rglob("*")) == before
    assert not (out / "web").is_symlink()


@pytest.mark.parametrize("output", [".", "", "..", "/", "sub/..", "stacks/Pulumi.small.yaml/sub", "/proc/x", "loop/x"])
def test_a_place_that_cannot_be_a_new_folder_is_refused(
    output: str, clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone / "sub").mkdir()
    (clone / "loop").symlink_to("loop")
    monkeypatch.chdir(clone)
    before = sorted(clone.rglob("*"))
    for force in ([], ["--force"]):
        result = mullion("render", "small", "-o", output, *force)
        assert result.exit_code == 2, result.output
        assert "folder" in result.stderr
    assert sorted(clone.rglob("*")) == before


def test_a_path_with_dots_is_the_folder_it_leads_to(clone: Path, mullion: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    assert mullion("render", "small", "-o", "out/../out").exit_code == 0
    assert mullion("render", "small", "-o", "out/../out", "--force").exit_code == 0
    assert (clone / "out" / "web-1" / "user-data").exists()


@pytest.mark.parametrize("wrong", ["count: -1", "count: 4999"])
def test_with_errors_nothing_is_written(wrong: str, clone: Path, mullion: Run, tmp_path: Path) -> None:
    (clone / "stacks" / "Pulumi.small.yaml").write_text(STACK.replace("count: 2", wrong))
    assert mullion("render", "small", "-o", str(tmp_path / "out")).exit_code == 2
    assert not (tmp_path / "out").exists()


def test_images_are_rendered_for_windows_pools_alone_and_hold_nothing_of_a_machine(
    clone: Path, mullion: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert mullion("render", "small", "--image", "-o", str(out)).exit_code == 0
    assert sorted(each.name for each in out.iterdir()) == ["README.txt", "web"]
    made = json.loads((out / "web" / "plan.json").read_bytes())
    assert {phase["scope"] for phase in made["phases"]} == {"image"}
    assert json.loads((out / "web" / "image" / "bake.json").read_bytes())["cloud"] == "aws"
    assert (out / "web" / "image" / "image" / "bake.ps1").exists()
    assert "<fact:" not in "".join(each.read_text() for each in out.rglob("*.json"))


def test_a_stack_without_windows_has_no_images_to_render(clone: Path, mullion: Run, tmp_path: Path) -> None:
    settings = yaml.safe_load(STACK)
    del settings["config"]["mullion:cluster"]["pools"]["web"]
    (clone / "stacks" / "Pulumi.small.yaml").write_text(yaml.safe_dump(settings))
    refused = mullion("render", "small", "--image", "-o", str(tmp_path / "out"))
    assert (refused.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "no Windows pool" in refused.stderr
