"""A small stack on the real engine, with its own sandbox."""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation as auto

from operations.engine.locate import Engine
from operations.engine.workspace import EngineCommand, prepare
from sandbox.cloud_state import CloudState


class Runner:
    """One stack with its cloud state; runs return operation and replacing properties by resource name."""

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        program: Callable[[dict[str, Any]], None],
        place: tuple[str, str] = ("aws:region", "eu-west-1"),
        **settings: Any,
    ) -> None:
        """place: the provider's setting for its region, and the region. settings: first settings of the program."""
        self.folder, self.provider = folder, place[0].split(":")[0]
        plain = {"owner": "us", "bundle": "v1", "machines": 2, "size": "m6i.large", "encrypted": True}
        self.settings: dict[str, Any] = plain | settings
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


def collected() -> Iterator[None]:
    """Collect event loops and coroutines that the Automation API leaves, so they do not end in another test."""
    yield
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", ResourceWarning)
        patch.setattr(sys, "unraisablehook", lambda _: None)
        gc.collect()
