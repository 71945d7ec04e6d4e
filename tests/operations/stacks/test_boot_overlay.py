"""Bootable sandboxes: lab.yaml is merged over the stack file from `up --bootable` to `down`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from components.stack_files.stack import CLUSTER
from lab import cluster as programs
from operations.console.exits import Exit, Stop
from operations.engine import workspace
from operations.stacks import boot_overlay, boot_site, stack_files, target
from operations.stacks.target import Target
from sandbox.cloud_state import SERVICES, CloudState

Run = Callable[..., Result]
FILE, BUILT, LINUX_ALONE = "1.36.4", "1.37.1", "1.36.3"
"""Version in the stack file, and the versions whose programs are built."""


@pytest.fixture
def built(clone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone on a machine with the programs of one version for both systems, and of another for Linux only."""
    made = {BUILT: programs.SYSTEMS, LINUX_ALONE: programs.LINUX}
    monkeypatch.setattr(programs, "is_built", lambda version, needs: {*needs} <= {*made.get(version, ())})
    monkeypatch.setattr(programs, "built", lambda needs: [each for each in made if {*needs} <= {*made[each]}])
    for version, size in zip(made, (1, 2), strict=True):
        entry = {"name": "kubernetes-node", "version": version, "os": "linux", "url": "https://a.example/k"}
        shared = {"name": "runc", "version": "1.4.3", "os": "linux", "url": "https://a.example/r", "size": size}
        programs.folder(version).mkdir(parents=True)
        digests = [{**each, "sha256": 64 * "0", "source": "the lab"} for each in (entry, shared)]
        (programs.folder(version) / "artifacts.json").write_text(json.dumps(digests))
    return clone


def test_the_overlay_changes_the_spec_but_not_the_stack_file(built: Path) -> None:
    before = (built / "stacks" / "Pulumi.small.yaml").read_bytes()
    boot_overlay.choose("small", stack_files.written("small"), BUILT)
    spec = stack_files.load("small").spec
    assert (spec.kubernetes, spec.control_plane.os.value, spec.pools["linux"].os.value) == (
        BUILT,
        "debian-12",
        "debian-12",
    )
    assert spec.pools["web"].os.value == "windows-2022"
    assert CloudState(target.root() / "sandbox" / "small" / "world.db").setting(SERVICES) == "http"
    assert (built / "stacks" / "Pulumi.small.yaml").read_bytes() == before
    boot_overlay.forget("small")
    assert (stack_files.load("small").spec.kubernetes, boot_overlay.is_chosen("small")) == (FILE, False)


def test_the_chosen_version_applies_until_the_files_version_changes(built: Path) -> None:
    boot_overlay.choose("small", stack_files.written("small"), BUILT)
    assert [boot_overlay.kubernetes("small", each) for each in (FILE, "1.36.6")] == [BUILT, "1.36.6"]


def test_the_error_about_programs_that_are_not_built_names_the_command_that_builds_them(built: Path) -> None:
    with pytest.raises(Stop, match=rf"(?s)-m lab cluster {FILE}.*--kubernetes {BUILT}") as stop:
        boot_overlay.choose("small", stack_files.written("small"), None)
    assert (stop.value.code, boot_overlay.is_chosen("small")) == (Exit.FAILED, False)


def test_a_stack_without_windows_needs_no_programs_for_windows(built: Path) -> None:
    whole = stack_files.written("small")
    cluster = whole[CLUSTER]
    alone = {**whole, CLUSTER: {**cluster, "pools": {"linux": cluster["pools"]["linux"]}}}
    with pytest.raises(Stop, match=rf"\(linux, windows\).*--kubernetes {BUILT}$"):
        boot_overlay.choose("small", whole, LINUX_ALONE)
    boot_overlay.choose("small", alone, LINUX_ALONE)
    assert boot_overlay.is_chosen("small")


def test_digests_of_every_built_version_are_known_during_an_upgrade(built: Path) -> None:
    boot_overlay.choose("small", stack_files.written("small"), BUILT)
    entries = stack_files.load("small").spec.artifacts.entries
    assert {(each.name, each.version): each.size for each in entries} == {
        ("kubernetes-node", BUILT): None,
        ("kubernetes-node", LINUX_ALONE): None,
        ("runc", "1.4.3"): 1,
    }, "of two that tell of one download the mirror serves the first's"


def test_an_upgrade_to_a_version_that_is_not_built_is_refused_before_any_change(built: Path) -> None:
    whole = stack_files.written("small")
    boot_overlay.choose("small", whole, BUILT)
    boot_overlay.begin("small", whole, None)
    upgraded = {**whole, CLUSTER: {**whole[CLUSTER], "kubernetes": LINUX_ALONE}}
    with pytest.raises(Stop, match=f"lab cluster {LINUX_ALONE}"):
        boot_overlay.begin("small", upgraded, None)
    boot_overlay.forget("small")
    boot_overlay.begin("small", upgraded, None)
    assert not boot_overlay.is_chosen("small")


def test_unbootable_machines_are_removed_before_the_first_boot(built: Path) -> None:
    target.remember("small", target.Target(target.SANDBOX))
    file = target.root() / "sandbox" / "small" / "world.db"
    file.parent.mkdir(parents=True)
    CloudState(file).close()
    with pytest.raises(Stop, match="mullion down small --sandbox"):
        boot_overlay.choose("small", stack_files.written("small"), BUILT)


def test_the_kubeconfig_uses_an_address_of_this_host_while_the_stack_is_booted(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"clusters": [{"cluster": {"server": "https://api.small.mullion.internal:6443"}}]})
    assert boot_site.reached("small", text) == text
    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:4711")
    assert "server: https://127.0.0.1:4711" in boot_site.reached("small", text)


def test_the_program_gets_the_api_address_of_booted_machines_only(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "mullion:booted" not in workspace.sandbox_config("small")
    monkeypatch.setattr(boot_site, "api", lambda name: "https://127.0.0.1:4711")
    assert workspace.sandbox_config("small")["mullion:booted"] == "https://127.0.0.1:4711"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "small", "--bootable"), "--bootable needs --sandbox"),
        (("up", "small", "--sandbox", "--kubernetes", BUILT), "--kubernetes needs --bootable"),
        (("sandbox", "boot", "small"), "up small --sandbox --bootable"),
        (("sandbox", "boot", "small", "--timeout", "soon"), "--timeout"),
        (("sandbox", "ls", "small"), "is not booted"),
        (("sandbox", "cut", "small", "linux-0"), "is not booted"),
        (("verify", "small", "--outside", "example.org"), "is not name:port"),
    ],
)
def test_options_of_a_bootable_sandbox_that_cannot_work_are_refused_with_the_fix(
    words: tuple[str, ...], said: str, built: Path, mullion: Run
) -> None:
    result = mullion(*words)
    assert (result.exit_code, "Traceback" in result.output) == (Exit.USAGE, False)
    assert said in " ".join(result.output.replace("│", " ").split())


def test_stopping_an_unbooted_sandbox_succeeds(built: Path, mullion: Run) -> None:
    assert mullion("sandbox", "stop", "small").stdout == "the sandbox of small was not booted\n"


def test_unbootable_machines_are_refused_before_missing_programs(built: Path) -> None:
    target.remember("small", Target("sandbox"))
    (target.sandbox_folder("small")).mkdir(parents=True)
    CloudState(target.cloud_state_file("small")).close()
    with pytest.raises(Stop, match="remove them first, mullion down small --sandbox") as stop:
        boot_overlay.choose("small", stack_files.written("small"), None)
    assert stop.value.code is Exit.REFUSED
