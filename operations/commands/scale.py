"""`mullion scale`: change the number of machines of a pool."""

from operations.commands import stack_change
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files


def scale(name: str, pool: str, count: int, *, sandbox: bool, yes: bool) -> None:
    """Write a pool's number of machines to the stack file, print the machines that change, and run `up`."""
    before = stack_files.load(name)
    if pool not in before.spec.pools:
        there = ", ".join(before.spec.pools) or "none"
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {there}")
    stack_change.change(before, ("pools", pool, "count"), str(count), sandbox=sandbox, yes=yes)
