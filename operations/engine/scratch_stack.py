"""Runs a program once, with a stack's provider and credentials, on a state in a temporary folder."""

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.engine import failures, locate
from operations.engine.process import EngineCommand
from operations.engine.workspace import QUIET, REMOVED, environment, opened, sandbox_environment
from operations.stacks import stack_files
from operations.stacks.target import sandbox_folder


@contextmanager
def passing(
    name: str, program: Callable[[], None], *, sandbox: bool, settings: Mapping[str, str] | None = None
) -> Iterator[auto.Stack]:
    """Yield a temporary stack for a program. The caller deletes its resources (`destroy`).

    settings: of the provider, by full key (aws:region), where the stack file is deleted or lacks them.
    """
    found, config = locate.find(), {**(settings or {}), **stack_files.config(name)}
    with tempfile.TemporaryDirectory() as scratch:
        own = {"PULUMI_BACKEND_URL": Path(scratch).as_uri(), "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(16)}
        if sandbox:
            with opened(name, found, sandbox=True):
                pass  # creates the sandbox if there is none yet
        removed, added = (REMOVED, sandbox_environment(sandbox_folder(name))) if sandbox else ((), QUIET)
        with environment(("PULUMI_CONFIG_PASSPHRASE", *removed), {**added, **own}), failures.reported(name):
            # through a settings file: `set_config` would put each value, such as aws:secretKey, on a command line
            own_config = {key: value for key, value in config.items() if _of_provider(key) and isinstance(value, str)}
            options = auto.LocalWorkspaceOptions(
                work_dir=scratch,
                pulumi_command=EngineCommand(found),
                stack_settings={"passing": auto.StackSettings(config=own_config)},
            )
            yield auto.create_stack("passing", project_name="mullion", program=program, opts=options)


def _of_provider(key: str) -> bool:
    return any(key.startswith(each.passing) for each in cloud_tables.CLOUDS.values())
