"""The command of this process, for messages that say how to continue after an interruption."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_commands: list[Callable[[], str]] = []
"""Commands of `continued_by`, the innermost last."""


@contextmanager
def continued_by(command: Callable[[], str]) -> Iterator[None]:
    """In this context, messages name this command as the one that continues. It is asked for when one is written."""
    _commands.append(command)
    try:
        yield
    finally:
        _commands.pop()


def to_continue() -> str:
    """Return the command line that continues what this process does; empty outside `continued_by`."""
    return _commands[-1]() if _commands else ""
