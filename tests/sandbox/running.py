"""A small stack on the real engine, with its own sandbox."""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pulumi import automation as auto

from operations.engine.locate import Engine
from operations.engine.workspace import EngineCommand, prepare
from sandbox.cloud_state import CloudState


class Small(NamedTuple):
    """A small program, which a test module names SMALL."""

    program: Callable[[dict[str, Any]], None]
    settings: Mapping[str, Any] = {}
    """First settings of the program, beside those of every program."""
    place: tuple[str, str] = ("aws:region", "eu-west-1")
    """The provider's setting for its region, and the region."""


class Runner:
    """One stack with its cloud state; runs return operation and replacing properties by resource name."""

    def __init__(self, folder: Path, engine: Engine, small: Small) -> None:
        program, settings, place = small
        self.folder, self.provider = folder, place[0].split(":")[0]
        plain = {"owner": "us", "bundle": "v1", "machines": 2, "size": "m6i.large", "encrypted": True}
        self.settings: dict[str, Any] = {**plain, **settings}
        environment = prepare(folder)
        self.cloud_state = CloudState(folder / "world.db")
        command = EngineCommand(engine)
        options = auto.LocalWorkspaceOptions(env_vars=environment, work_dir=str(folder), pulumi_command=command)
        self.stack = auto.create_or_select_stack(
            "dev", project_name="small", program=lambda: program(self.settings), opts=options
        )
        self.stack.set_config(place[0], auto.ConfigValue(place[1]))

    def run(self, call: Callable[..., Any]) -> dict[str, tuple[str, tuple[str, ...]]]:
        steps: dict[str, tuple[str, tuple[str, ...]]] = {}

        def note(event: auto.EngineEvent) -> None:
            if event.resource_pre_event and event.resource_pre_event.metadata.type.startswith(f"{self.provider}:"):
                metadata = event.resource_pre_event.metadata
                if metadata.op.value in ("create", "update", "replace", "delete", "read"):
                    key = f"{metadata.type.rsplit(':', 1)[-1]} {metadata.urn.rsplit('::', 1)[-1]}"
                    # the engine gives properties in any order
                    steps[key] = (metadata.op.value, tuple(sorted(metadata.diffs or ())))

        call(on_event=note)
        return steps

    def preview_and_up(self, **changes: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Run a preview and an up, which must be equal; return what the up did."""
        self.settings |= changes
        previewed, done = self.run(self.stack.preview), self.run(self.stack.up)
        assert previewed == done
        return done

    def first_up(self) -> dict[str, Any]:
        """Create everything, and run again without a change; return the program's outputs."""
        made = self.preview_and_up()
        assert {operation for operation, _ in made.values()} == {"create"}
        assert len(self.cloud_state.resources()) == len(made)
        outputs = {name: output.value for name, output in self.stack.outputs().items()}
        assert self.preview_and_up() == {}, "a second up changes nothing"
        self.stack.refresh()
        assert self.run(self.stack.preview) == {}, "cloud state and engine state agree"
        return outputs


def collected() -> Iterator[None]:
    """Collect event loops and coroutines that the Automation API leaves, so they do not end in another test."""
    yield
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", ResourceWarning)
        patch.setattr(sys, "unraisablehook", lambda _: None)
        gc.collect()
