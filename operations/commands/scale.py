"""`mullion scale`: change the number of machines of a pool."""

import re

from components.spec.models import Pool
from operations.commands import stack_change
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files

MOST = next(int(limit.le) for limit in Pool.model_fields["count"].metadata if hasattr(limit, "le"))
"""Largest allowed number of machines in a pool."""


def scale(name: str, pool: str, count: str, *, sandbox: bool, yes: bool) -> None:
    """Write a pool's number of machines to the stack file, print the machines that change, and run `up`."""
    if not re.fullmatch("[0-9]{1,9}", count) or int(count) > MOST:
        raise Stop(Exit.USAGE, f"N is the new number of machines, a whole number from 0 to {MOST}, not {count!r}")
    before = stack_files.load(name)
    if pool not in before.spec.pools:
        there = ", ".join(before.spec.pools) or "none"
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {there}")
    stack_change.change(before, ("pools", pool, "count"), str(int(count)), sandbox=sandbox, yes=yes)
