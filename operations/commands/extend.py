"""`mullion extend`: move the expiry of a temporary cluster."""

from datetime import datetime, timedelta

from components.spec import expiry
from components.spec.quantities import duration_seconds
from operations.commands import stack_change
from operations.commands.kubeconfig import built
from operations.console.exits import Exit, Stop
from operations.engine import clusters
from operations.recovery import recovery
from operations.stacks import stack_files

MOST_SECONDS = 366 * 86400
"""Longest duration, a year: a longer one is a mistake of the unit."""


def extend(name: str, duration: str, *, sandbox: bool, yes: bool) -> None:
    """Move the expiry by a duration (30m, 2h), from now if it has passed: in the stack file, then by `up`.

    Raises Stop if the cluster has no expiry, or one that cannot be read.
    """
    later = timedelta(seconds=seconds("the duration", duration))
    stack_files.load(name)
    with built(name) as run:
        facts = clusters.read(name, "", recovery.export(run)["deployment"])
    if facts is None or facts.unreadable:
        raise Stop(Exit.REFUSED, f"{name}: {facts.unreadable if facts else 'it has no resources'}; nothing was changed")
    if facts.expires is None:
        raise Stop(Exit.REFUSED, f"{name} does not expire, so there is nothing to extend; nothing was changed")
    expire(name, max(facts.expires, expiry.now()) + later, sandbox=sandbox, yes=yes)


def expire(name: str, at: datetime, *, sandbox: bool, yes: bool) -> None:
    """Write an expiry to the stack file, and bring it into the state and the tags with `up`."""
    text = expiry.written(at)
    stack = stack_files.load(name)
    stack_change.change(stack, ("expires",), f'"{text}"', f"{name} expires at {text}", sandbox=sandbox, yes=yes)


def seconds(what: str, duration: str) -> int:
    """Return a duration (90s, 30m, 2h, 3d) in seconds. Raises Stop if it is none, is zero or longer than a year."""
    try:
        found = duration_seconds(duration)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"{what}: {error}") from None
    if not 0 < found <= MOST_SECONDS:
        raise Stop(Exit.USAGE, f"{what}: {duration} is not between 1s and 366d; write 30m, 2h or 3d")
    return found
