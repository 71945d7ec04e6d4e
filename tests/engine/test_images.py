"""`mullion image` with the real engine: an image that machines start from, and a builder that never stays."""

import signal
import time
from typing import Any

import pytest
import yaml

from components.stack_files.stack import CLUSTER
from components.wiring.baking import IMAGE_TYPES, PROJECT
from operations.engine.locate import Engine
from sandbox.records import Record
from sandbox.simulated_boot import BOOTED

from .clone import Clone

pytestmark = [pytest.mark.sampled, pytest.mark.engine]

IMAGE, OS = IMAGE_TYPES["aws"], "windows-2022"
SECONDS = 90
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
        ends = time.monotonic() + SECONDS
        while not any(each.type == "aws:ec2/instance:Instance" for each in of_images(clone)):
            assert time.monotonic() < ends, "no builder was created"
            time.sleep(0.2)
        time.sleep(2)  # the engine has written its state, and the program waits
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
