"""What a change costs: the bill of the built cluster beside that of the planned one."""

from collections.abc import Iterator

from components.cost.bill import Bill
from operations.console.table import table
from operations.cost import shown

NEW = "new"
"""Shown in place of a sum before, for a cluster or a pool that is not built yet."""
GONE = "removed"
KNOWN_ONLY = " (known prices only)"


def lines(before: Bill | None, now: Bill) -> Iterator[str]:
    """Yield USD a month before and now, and the difference, and the same of each pool that changed.

    before: bill of the built cluster; None if nothing is built.
    """
    if before is None:
        yield f"  before: {NEW}, nothing is built; now: {_total(now)}"
        return
    known = "" if all(_unpriced(before, pool) == _unpriced(now, pool) for pool in _pools(before, now)) else KNOWN_ONLY
    head = f"  before: {_total(before)}; now: {_total(now)}; difference: {_less(now.month, before.month)}{known}"
    rows = [
        (pool, _pool(before, pool, NEW), _pool(now, pool, GONE), _difference(before, now, pool))
        for pool in _pools(before, now)
        if _items(before, pool) != _items(now, pool)
    ]
    if not rows:
        yield f"{head}; no item differs"
        return
    yield head
    yield table(("pool", "before", "now", "difference"), rows, indent="    ")


def _pools(before: Bill, now: Bill) -> list[str]:
    return list(dict.fromkeys((*before.by_pool, *now.by_pool)))


def _unpriced(bill: Bill, pool: str) -> list[tuple[str, float]]:
    """Return the items of a pool without a price, and their counts. The same items before and now cancel out."""
    return [(item.what, item.count) for item in bill.items if item.pool == pool and item.price is None]


def _total(bill: Bill) -> str:
    if not bill.month:
        return "no price is known"
    return f"{shown.amount(bill.month, bill.at_most(), unknown=bool(bill.unknown))} a month"


def _items(bill: Bill, pool: str) -> list[tuple[str, str, float, float | None]]:
    return [(item.what, item.key, item.count, item.month) for item in bill.items if item.pool == pool]


def _pool(bill: Bill, pool: str, absent: str) -> str:
    """Return a pool's USD a month; `absent` without the pool."""
    return shown.pool_sum(bill, pool) if pool in bill.by_pool else absent


def _difference(before: Bill, now: Bill, pool: str) -> str:
    """Return the difference of a pool; unknown if the items without a price are not the same before and now."""
    if _unpriced(before, pool) != _unpriced(now, pool):
        return "unknown"
    return _less(now.by_pool.get(pool) or 0, before.by_pool.get(pool) or 0)


def _less(now: float, before: float) -> str:
    """Return the difference of two sums as they are shown, in cents, so that the line adds up."""
    return f"{round(now, 2) - round(before, 2):+,.2f}"
