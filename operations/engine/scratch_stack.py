"""Runs small programs with a stack's provider and credentials: once, on a state in a temporary folder, or again and
again, on a state of their own in the stack's backend.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.engine import failures, locate
from operations.engine.locate import Engine
from operations.engine.process import EngineCommand
from operations.engine.workspace import QUIET, REMOVED, environment, opened, real_backend, sandbox_environment
from operations.stacks import stack_files
from operations.stacks.target import sandbox_folder

Program = Callable[[], None]


@contextmanager
def passing(
    name: str, program: Program, *, sandbox: bool, settings: Mapping[str, str] | None = None
) -> Iterator[auto.Stack]:
    """Yield a temporary stack for a program. The caller deletes its resources (`destroy`).

    settings: of the provider, by full key (aws:region), where the stack file is deleted or lacks them.
    """
    with tempfile.TemporaryDirectory() as scratch:
        own = {"PULUMI_BACKEND_URL": Path(scratch).as_uri(), "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(16)}
        config = {**(settings or {}), **stack_files.config(name)}
        with _of_stack(name, own, sandbox=sandbox) as engine, failures.reported(name):
            options = _options(engine, scratch, "passing", config)
            yield auto.create_stack("passing", "mullion", program, opts=options)


@contextmanager
def lasting(name: str, stack: str, project: str, *, sandbox: bool) -> Iterator[auto.Stack]:
    """Yield a stack of another project, in the backend of the stack `name`: its state stays. It has no program yet."""
    own = {} if sandbox or not (place := real_backend()) else {"PULUMI_BACKEND_URL": place}
    own |= {"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true"}  # its settings are in a folder that the next run lacks
    with tempfile.TemporaryDirectory() as scratch, _of_stack(name, own, sandbox=sandbox) as engine:
        options = _options(engine, scratch, stack, stack_files.config(name))
        options.secrets_provider = None if sandbox else stack_files.secrets_provider(name) or None
        yield auto.create_or_select_stack(stack, project, lambda: None, opts=options)


@contextmanager
def _of_stack(name: str, own: Mapping[str, str], *, sandbox: bool) -> Iterator[Engine]:
    """Give this process the environment of a stack's engine, and yield the engine. own: variables that replace some."""
    engine = locate.find()
    if sandbox:
        with opened(name, engine, sandbox=True):
            pass  # creates the sandbox if there is none yet
    removed, added = (REMOVED, sandbox_environment(sandbox_folder(name))) if sandbox else ((), QUIET)
    replaced = ("PULUMI_CONFIG_PASSPHRASE",) if "PULUMI_CONFIG_PASSPHRASE" in own else ()  # or its file would be read
    with environment((*replaced, *removed), {**added, **own}):
        yield engine


def _options(engine: Engine, folder: str, stack: str, config: Mapping[str, object]) -> auto.LocalWorkspaceOptions:
    """Return a workspace in a folder, with the provider's settings among a stack file's."""
    # through a settings file: `set_config` would put each value, such as aws:secretKey, on a command line
    own = {key: value for key, value in config.items() if _of_provider(key) and isinstance(value, str)}
    settings = {stack: auto.StackSettings(config=own)}
    return auto.LocalWorkspaceOptions(work_dir=folder, pulumi_command=EngineCommand(engine), stack_settings=settings)


def _of_provider(key: str) -> bool:
    return any(key.startswith(each.passing) for each in cloud_tables.CLOUDS.values())
