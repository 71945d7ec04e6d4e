"""`mullion image` with the real engine: an image that machines start from, and a builder that never stays."""

import json
import signal
import time
from dataclasses import replace
from typing import Any

import pytest
import yaml

from components.stack_files.stack import CLUSTER
from components.wiring.baking import IMAGE_TYPES, PROJECT
from operations.engine.locate import Engine
from sandbox import faults
from sandbox.records import Record
from sandbox.simulated_boot import BOOTED

from .clone import Clone
from .test_reap_by_tags import tomorrow

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

IMAGE, OS = IMAGE_TYPES["aws"], "windows-2022"
SECONDS = 300
"""Longest time until a builder exists."""


@pytest.fixture
def clone(tmp_path: Any, engine: Engine) -> Clone:
    return Clone(tmp_path / "clone", engine)


def of_images(clone: Clone) -> list[Record]:
    """Return what the sandbox has of images and builders."""
    with clone.cloud_state() as cloud_state:
        return [each for each in cloud_state.resources() if each.urn.split("::")[1] == PROJECT]


def pinned(clone: Clone) -> str | None:
    text = (clone.folder / "stacks" / f"Pulumi.{clone.stack}.yaml").read_text("utf-8")
    return yaml.safe_load(text)["config"][CLUSTER].get("images", {}).get(OS)


def bake(clone: Clone, *more: str) -> Any:
    return clone.run("image", "bake", clone.stack, "--sandbox", *more)


def never_stops(clone: Clone) -> None:
    """End the simulation, so that a builder only runs."""
    assert clone.run("image", "clean", clone.stack, "--sandbox").returncode == 0, "creates the sandbox"
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        cloud_state.set_setting(BOOTED, "yes")


def until_built(clone: Clone) -> None:
    """Wait until there is a builder."""
    ends = time.monotonic() + SECONDS
    while not any(each.type == "aws:ec2/instance:Instance" for each in of_images(clone)):
        assert time.monotonic() < ends, "no builder was created"
        time.sleep(0.2)
    time.sleep(2)  # the engine has written its state, and the program waits


def test_machines_start_from_a_baked_image_and_old_images_are_deleted(clone: Clone) -> None:
    first = bake(clone)
    assert first.returncode == 0, first.stderr
    [image] = of_images(clone)
    assert (image.type, image.id) == (IMAGE, pinned(clone)), "the builder and its parts are gone"
    tags = {key.removeprefix("mullion:"): value for key, value in image.tags.items()}
    known = {"image-of": clone.stack, "pool": "windows", "os": OS, "build": "10.0.20348", "kubernetes": "1.36.4"}
    assert {key: tags[key] for key in known} == known
    assert image.outputs["platform"] == "windows"
    up = clone.up()
    assert up.returncode == 0, up.stderr
    assert "not in the state" not in up.stderr
    with clone.cloud_state() as cloud_state:
        machines = {each.name: each.inputs["ami"] for each in cloud_state.resources("aws:ec2/instance:Instance")}
        assert {boot.machine: boot.state for boot in cloud_state.boots()}["windows-0"] == "ready"
    assert machines[f"{clone.stack}-windows-0"] == image.id != machines[f"{clone.stack}-control-plane-0"]

    second = bake(clone, "--keep", "1", "--no-pin")
    assert second.returncode == 0, second.stderr
    assert pinned(clone) == image.id
    newest = next(each.id for each in of_images(clone) if each.id != image.id)
    assert f"images: {{{OS}: {newest}}}" in second.stdout
    assert len(of_images(clone)) == 2, "the stack file names the older one"
    cleaned = clone.run("image", "clean", clone.stack, "--sandbox", "--keep", "0")
    assert (cleaned.returncode, [each.id for each in of_images(clone)]) == (0, [image.id]), cleaned.stderr
    assert f"deleted {newest}" in cleaned.stdout
    down = clone.run("down", clone.stack, "--sandbox", "--yes")
    assert "Left in the sandbox: nothing" in down.stdout + down.stderr


def test_an_image_that_cannot_be_deleted_costs_neither_the_new_one_nor_a_builder(clone: Clone) -> None:
    first = bake(clone)
    assert first.returncode == 0, first.stderr
    older = str(pinned(clone))
    text = clone.run("image", "clean", clone.stack, "--sandbox", "--keep", "1")
    assert text.returncode == 0, text.stderr
    unpinned(clone)
    with clone.cloud_state() as cloud_state:
        faults.plan(cloud_state, "fail", 2, type=IMAGE)  # the first call creates the new one
    second = bake(clone, "--keep", "1")
    assert second.returncode == 1, second.stdout
    assert "Not all is removed; to remove the rest: mullion image clean" in second.stderr
    assert pinned(clone) not in (None, older)
    assert {each.id for each in of_images(clone)} == {older, pinned(clone)}, "the builder is gone"
    again = clone.run("image", "clean", clone.stack, "--sandbox", "--keep", "1")
    assert (again.returncode, [each.id for each in of_images(clone)]) == (0, [pinned(clone)]), again.stderr


def test_an_image_that_no_state_has_is_named_and_images_of_another_region_are_left_alone(clone: Clone) -> None:
    assert bake(clone).returncode == 0
    image = str(pinned(clone))
    with clone.cloud_state() as cloud_state, cloud_state.transaction():
        [record] = list(cloud_state.resources(IMAGE))
        cloud_state.put(replace(record, sequence=cloud_state.next_sequence(), id="ami-0123", name="x", urn="urn:x"))
    cleaned = clone.run("image", "clean", clone.stack, "--sandbox")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "aws ec2 deregister-image --image-id ami-0123 --delete-associated-snapshots" in cleaned.stderr
    assert f"--image-id {image}" not in cleaned.stderr
    file = clone.folder / "stacks" / f"Pulumi.{clone.stack}.yaml"
    file.write_text(file.read_text("utf-8").replace("aws:region: eu-west-1", "aws:region: eu-central-1"), "utf-8")
    moved = bake(clone)
    assert moved.returncode == 3, moved.stderr
    assert "are in eu-west-1, and its stack file says eu-central-1; nothing was changed" in moved.stderr


def unpinned(clone: Clone) -> None:
    """Remove the image from the stack file, as its owner would."""
    clone.write({key: value for key, value in clone.document().items() if key != "images"})


def test_the_reaper_removes_a_killed_builder_by_its_tags(clone: Clone) -> None:
    never_stops(clone)
    with clone.start("image", "bake", clone.stack, "--sandbox") as process:
        until_built(clone)
        clone.end(process)
    reaped = tomorrow(clone, "reap", "--sandbox", "--by-tags", "aws", "--yes", "--format", "json")
    assert reaped.returncode == 0, reaped.stdout + reaped.stderr
    rows = {each["name"]: each["result"] for each in json.loads(reaped.stdout)["clusters"]}
    assert rows == {f"{clone.stack}-image": "removed"}
    assert of_images(clone) == []
    cleaned = clone.run("image", "clean", clone.stack, "--sandbox")
    assert cleaned.returncode == 0, cleaned.stderr


def test_a_builder_that_does_not_stop_in_time_is_removed(clone: Clone) -> None:
    never_stops(clone)
    baked = bake(clone, "--timeout", "2s")
    assert baked.returncode == 1, baked.stderr
    assert "is running after 2 s, so its set-up or sysprep failed" in baked.stderr
    assert (of_images(clone), pinned(clone)) == ([], None)


@pytest.mark.parametrize("way", ["SIGTERM", "clean"])
def test_a_builder_is_removed_after_a_signal_or_by_clean_after_a_kill(clone: Clone, way: str) -> None:
    never_stops(clone)
    with clone.start("image", "bake", clone.stack, "--sandbox") as process:
        until_built(clone)
        if way == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=SECONDS * 2)
            assert process.returncode == 130, errors
            assert "interrupted: no image was made" in errors
        else:
            clone.end(process)
            assert of_images(clone) != []
            cleaned = clone.run("image", "clean", clone.stack, "--sandbox")
            assert cleaned.returncode == 0, cleaned.stderr
    assert (of_images(clone), pinned(clone)) == ([], None)
