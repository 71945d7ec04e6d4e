"""`mullion pin image POOL`: one value in the user's stack file."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import Result

from operations.commands import pin_image
from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY
from tests.operations.conftest import STACK

Mullion = Callable[..., Result]
IMAGE, OTHER = "ami-0123456789abcdef0", "ami-0fedcba9876543210"
PLACES = {
    "no images": "",
    "another system, in one line": f"    images: {{ubuntu-24.04: {OTHER}}}  # kept\n",
    "another system, in a block": f"    images:\n      # pinned in May\n      ubuntu-24.04: {OTHER}\n",
    "the same system": f"    images: {{windows-2022: {OTHER}, ubuntu-24.04: {OTHER}}}\n",
    "the same system, in a block": f"    images:\n      windows-2022: {OTHER}   # old\n      ubuntu-24.04: {OTHER}\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_one_image_changes_and_every_other_character_stays(place: str) -> None:
    before = STACK + PLACES[place]
    after = pin_image.with_image(before, "windows-2022", IMAGE, Path("Pulumi.small.yaml"))
    old, new = (yaml.safe_load(each)["config"]["mullion:cluster"] for each in (before, after))
    images = {**old.pop("images", {}), "windows-2022": IMAGE}
    assert new.pop("images") == images
    assert new == old
    kept = after.replace(f"windows-2022: {IMAGE}", "")
    for comment in (
        "# a cluster",
        "# one is enough",
        *[each for each in ("# kept", "# pinned in May") if each in before],
    ):
        assert comment in kept


@pytest.mark.parametrize(
    "text",
    [
        "config: {mullion:cluster: {cloud: aws}}",
        "config:\n  other: 1\n",
        "config:\n  mullion:cluster:\n    cloud: aws\n    images: &all {}\n",
        "",
    ],
)
def test_a_file_that_cannot_be_edited_in_place_is_refused_with_the_line_to_add(text: str) -> None:
    with pytest.raises(Stop, match=r"add to mullion:cluster: images: \{windows-2022: ami-") as refused:
        pin_image.with_image(text, "windows-2022", IMAGE, Path("Pulumi.small.yaml"))
    assert refused.value.code == Exit.USAGE


def test_the_stack_file_gets_the_newest_image_and_a_second_time_nothing(
    mullion: Mullion, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(pin_image, "look_up", lambda name, os, **_: asked.append((name, os)) or IMAGE)
    file = clone / "stacks" / "Pulumi.small.yaml"
    ended = mullion("pin", "image", "web", "--stack", "small")
    assert ended.exit_code == 0, ended.output
    assert "Pools that use it: web" in ended.output
    assert yaml.safe_load(file.read_text())["config"]["mullion:cluster"]["images"] == {"windows-2022": IMAGE}
    once = file.read_text()
    assert "has the newest image already" in mullion("pin", "image", "web", "--stack", "small").output
    assert file.read_text() == once
    assert asked == [("small", "windows-2022")] * 2


def test_the_providers_image_is_checked_before_it_is_written(
    mullion: Mullion, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pin_image, "look_up", lambda name, os, **_: "not an image")
    ended = mullion("pin", "image", "web", "--stack", "small")
    assert ended.exit_code == Exit.USAGE
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == STACK


def test_an_unknown_pool_is_named_before_anything_is_asked(mullion: Mullion, clone: Path) -> None:
    ended = mullion("pin", "image", "wbe", "--stack", "small")
    assert ended.exit_code == Exit.USAGE
    assert "has no pool 'wbe'; it has control-plane, linux, web" in ended.output


def test_without_a_list_of_versions_the_message_has_the_command_to_find_one(mullion: Mullion, clone: Path) -> None:
    stack, file = (REPOSITORY / "stacks" / "Pulumi.azure-dev.yaml").read_text(), clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(stack)
    ended = mullion("pin", "image", "web", "--stack", "small")
    assert ended.exit_code == Exit.USAGE
    said = " ".join(ended.output.split())
    image = "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-smalldisk-g2"
    publisher, offer, sku = image.split(":")
    assert f"az vm image list --all --publisher {publisher} --offer {offer} --sku {sku} " in said
    assert f"images: {{windows-2022: {image}:VERSION}}" in said
    assert file.read_text() == stack


@pytest.mark.engine
def test_the_sandbox_gives_an_image_through_the_real_engine(
    engine: object, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pin_image.look_up("small", "windows-2022", sandbox=True)
    assert image.startswith("ami-")
    assert not [each for each in clone.rglob("*.json") if "stacks/mullion/image" in str(each)], "its state is gone"
