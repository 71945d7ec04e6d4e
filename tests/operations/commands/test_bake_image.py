"""`mullion image`: what is refused before a machine costs anything, and which images stay."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from components.plan import plan_cluster
from components.spec.choices import Egress
from components.spec.options import Proxy
from components.wiring.baking import BakedImage
from operations.commands import bake_image
from operations.console.exits import Exit, Stop
from operations.engine import locate
from operations.stacks import stack_files
from tests.operations.conftest import STACK

Mullion = Callable[..., Result]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record each search for an engine, and find none."""
    asked: list[str] = []

    def find() -> locate.Engine:
        asked.append("find")
        raise Stop(Exit.NO_ENGINE, "none")

    monkeypatch.setattr(locate, "find", find)
    return asked


WRONG = {
    "an unknown pool": ((), ("--pool", "nope"), "no Windows pool 'nope'; its Windows pools are web"),
    "a Linux pool": ((), ("--pool", "linux"), "no Windows pool 'linux'"),
    "two Windows pools": ((("count: 2}", "count: 2}\n      api: {os: windows-2022, count: 1}"),), (), "name a pool"),
    "no Windows pool": ((("      web: {os: windows-2022, count: 2}\n", ""),), (), "it has no Windows pool"),
    "a time": ((), ("--timeout", "soon"), "--timeout"),
    "another cloud": (
        (("aws:region: eu-west-1", "azure-native:location: westeurope"), ("cloud: aws", "cloud: azure")),
        (),
        "builds no images on azure yet; bake by hand: docs/images.md",
    ),
    "a file that cannot be edited": (
        (("    pools:", "    images: &all {}\n    pools:"),),
        ("--sandbox",),
        "add to mullion:cluster: images: {windows-2022: ami-",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bake_that_cannot_succeed_is_refused_before_it_starts(
    case: str, clone: Path, mullion: Mullion, started: list[str]
) -> None:
    changes, words, said = WRONG[case]
    text = STACK
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (clone / "stacks" / "Pulumi.small.yaml").write_text(text)
    result = mullion("image", "bake", "small", *words)
    assert (result.exit_code, started) == (Exit.USAGE, []), result.stderr
    assert said in result.stderr


@pytest.mark.parametrize("option", bake_image.OWN_WAYS)
def test_a_stack_whose_machines_reach_downloads_in_a_way_of_their_own_is_refused(option: str) -> None:
    whole = plan_cluster("aws-ci", stack_files.load("aws-ci").spec)
    bake_image._refuse(whole)
    network = {"network.existing": {"existing": True}, "network.egress: none": {"egress": Egress.NONE}}.get(option, {})
    changes: dict[str, Any] = {"network": whole.spec.network.model_copy(update=network)}
    if option == "proxy":
        changes["proxy"] = Proxy(https="http://10.0.0.1:3128")
    planned = replace(whole, spec=whole.spec.model_copy(update=changes))
    with pytest.raises(Stop, match=f"stack aws-ci has {option}: the builder has a network of its own") as refused:
        bake_image._refuse(planned)
    assert refused.value.code == Exit.USAGE


def test_a_bake_in_an_account_asks_and_needs_a_backend(
    clone: Path, mullion: Mullion, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bake_image, "refuse_unusable", lambda _: None)
    asked = mullion("image", "bake", "small", "--keep", "2", "--no-pin")
    assert (asked.exit_code, started) == (Exit.REFUSED, []), asked.stderr
    assert "This creates one " in asked.stderr
    assert mullion("image", "bake", "small", "--yes").exit_code == Exit.NO_ENGINE
    monkeypatch.undo()


@pytest.mark.parametrize("words", [("bake", "small", "--sandbox"), ("clean", "small", "--keep", "1", "--sandbox")])
def test_without_an_engine_nothing_happens(
    clone: Path, mullion: Mullion, started: list[str], words: tuple[str, ...]
) -> None:
    before = (clone / "stacks" / "Pulumi.small.yaml").read_text()
    assert mullion("image", *words).exit_code == Exit.NO_ENGINE
    assert (clone / "stacks" / "Pulumi.small.yaml").read_text() == before


def _image(number: int, os: str = "windows-2022") -> BakedImage:
    created = f"2026-11-{number:02}T00:00:00Z"
    return BakedImage(f"web-{number}", "i-1", {"mullion:os": os, "mullion:created": created}, f"ami-{number}")


def test_a_failure_is_told_also_if_the_builder_cannot_be_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    images = bake_image._Images("small-image", "aws", None)  # type: ignore[arg-type]

    def fails(self: object, baking: object, kept: object) -> None:
        raise Stop(Exit.FAILED, "sysprep failed" if baking else "VPC is in use")

    monkeypatch.setattr(bake_image.state, "resources", lambda run: [])
    monkeypatch.setattr(bake_image._Images, "_up", fails)
    with pytest.raises(Stop) as raised:
        images.bake("a bake", [])  # type: ignore[arg-type]
    lines = str(raised.value).splitlines()
    assert lines[:2] == ["sysprep failed", "VPC is in use"]
    assert "mullion image clean small" in lines[2]


def test_a_builder_of_a_killed_run_is_removed_before_the_next_one_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    images = bake_image._Images("small-image", "aws", None)  # type: ignore[arg-type]
    rows: list[dict[str, Any]] = [{"type": "mullion:aws:Builder"}]
    ran: list[object] = []

    def up(self: object, baking: object, kept: object) -> None:
        ran.append(baking)
        if baking:
            raise Stop(Exit.FAILED, "sysprep failed")

    monkeypatch.setattr(bake_image.state, "resources", lambda run: rows)
    monkeypatch.setattr(bake_image._Images, "_up", up)
    for expected in ([None, "a bake", None], ["a bake", None]):
        with pytest.raises(Stop, match="sysprep failed"):
            images.bake("a bake", [])  # type: ignore[arg-type]
        assert ran == expected
        ran.clear()
        rows.clear()


class _Images(bake_image._Images):
    def _up(self, baking: object, kept: Sequence[BakedImage]) -> None:
        assert baking is None
        self.run.extend(each.id for each in kept)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("keep", "pinned", "kept"),
    [
        (1, (), ["ami-4", "ami-5"]),
        (2, (), ["ami-3", "ami-4", "ami-5"]),
        (1, ("ami-1",), ["ami-1", "ami-4", "ami-5"]),
        (0, (), []),
        (6, (), ["ami-1", "ami-2", "ami-3", "ami-4", "ami-5"]),
        (9, (), ["ami-1", "ami-2", "ami-3", "ami-4", "ami-5"]),
    ],
)
def test_the_newest_images_of_each_system_and_the_pinned_ones_stay(
    keep: int, pinned: tuple[str, ...], kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bake_image.state, "resources", lambda run: [])
    found = [_image(1), _image(2), _image(3), _image(4, "windows-2019"), _image(5)]
    registered: list[str] = []
    deleted = _Images("small-image", "aws", registered).clean(found, keep, pinned)  # type: ignore[arg-type]
    assert registered == kept
    assert sorted([each.id for each in deleted] + kept) == [f"ami-{number}" for number in range(1, 6)]


def test_a_builder_goes_before_an_image_that_the_cloud_does_not_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image may be protected against its deregistration; the engine then ends a run that deletes it."""
    rows: list[dict[str, Any]] = [{"type": "mullion:aws:Builder"}]

    def up(self: object, baking: object, kept: Sequence[BakedImage]) -> None:
        if len(kept) < 3:
            raise Stop(Exit.FAILED, "OperationNotPermitted")
        rows.clear()

    monkeypatch.setattr(bake_image.state, "resources", lambda run: rows)
    monkeypatch.setattr(bake_image._Images, "_up", up)
    images = bake_image._Images("small-image", "aws", None)  # type: ignore[arg-type]
    with pytest.raises(Stop, match="OperationNotPermitted"):
        images.clean([_image(1), _image(2), _image(3)], 1, ())
    assert rows == []
