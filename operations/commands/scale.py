"""`mullion scale`: change one number in the user's stack file, and nothing else in it."""

from operations.commands import stack_change
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files


def scale(name: str, pool: str, count: int, *, sandbox: bool, yes: bool) -> None:
    """Set a pool's number of machines in the stack file, say what it changes, and make it so."""
    before = stack_files.load(name)
    if pool not in before.spec.pools:
        there = ", ".join(before.spec.pools) or "none"
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {there}")
    stack_change.change(before, ("pools", pool, "count"), str(count), sandbox=sandbox, yes=yes)
