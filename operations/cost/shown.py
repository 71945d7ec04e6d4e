"""A bill as text and as JSON, and the differences between two bills."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.catalogue.prices import CURRENCY, HOUR, HOURS
from components.cost.bill import Bill, Item, Usage
from operations.console.exits import Exit, Stop
from operations.console.table import table

FORMAT = 1
"""Version of the document; `--against` refuses any other."""


def document(bill: Bill) -> dict[str, Any]:
    """Return a bill as JSON values: USD, items rounded to a cent; null where a price is unknown."""
    return {
        "format": FORMAT,
        "cluster": bill.cluster,
        "cloud": bill.cloud,
        "region": bill.region,
        "currency": CURRENCY,
        "hours_of_a_month": HOURS,
        **summary(bill),
        "traffic_gb": bill.usage.traffic_gb,
        "stored_gib": bill.usage.stored_gib,
        "pools": {pool: None if month is None else round(month, 2) for pool, month in bill.by_pool.items()},
        "items": [_item(item) for item in bill.items],
        "sources": [{"date": date, "source": source} for date, source in sources(bill)],
    }


def summary(bill: Bill) -> dict[str, Any]:
    """Return the sums of a bill: USD an hour and a month, and what has no price. at_most: USD a month if all unknown
    prices have a bound; else None.
    """
    most = bill.at_most()
    return {
        "hour": round(bill.hour, 4),
        "month": round(bill.month, 4),
        "at_most": None if most is None else round(most, 4),
        "unknown": list(bill.unknown),
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "pool": item.pool,
        "item": item.what,
        "count": item.count,
        "unit": item.unit,
        "price": item.price.amount if item.price else None,
        "month": None if item.month is None else round(item.month, 2),
        "at_most": None if item.month_at_most is None else round(item.month_at_most, 2),
    }


def sources(bill: Bill) -> list[tuple[str, str]]:
    """Return date and source of the tables that the bill's prices are from, the newest first."""
    return sorted({(item.price.table.date, item.price.table.source) for item in bill.items if item.price}, reverse=True)


def line(sums: Mapping[str, Any], name: str, region: str) -> str:
    """Return the sums of a cluster in one line."""
    least = f"; {lacking(sums['unknown'], region)}" if sums["unknown"] else ""
    if least and not sums["month"]:
        return f"unknown{least} (`mullion cost {name}`)"
    return f"{amount(sums['month'], sums.get('at_most'), unknown=bool(least))} a month{least} (`mullion cost {name}`)"


def amount(month: float, most: float | None, *, unknown: bool) -> str:
    """Return a sum of USD: at least a sum if prices are unknown, and at most another one if these have bounds."""
    if not unknown:
        return f"USD {month:,.2f}"
    return f"at least USD {month:,.2f}{'' if most is None else f', at most USD {most:,.2f}'}"


def lacking(unknown: Sequence[str], region: str) -> str:
    """Return a sentence that lists the items without a price."""
    return f"no price for {', '.join(unknown)} in {region}"


def text(bill: Bill) -> str:
    """Return a bill as text."""
    return "\n".join(_lines(bill))


def _lines(bill: Bill) -> Iterator[str]:
    month = amount(bill.month, bill.at_most(), unknown=bool(bill.unknown))
    sums = f"{month} a month of {HOURS} hours, {'at least ' if bill.unknown else ''}USD {bill.hour:,.4f} an hour"
    yield f"{bill.cluster} on {bill.cloud} in {bill.region}: {sums if bill.month else 'no price is known'}"
    yield ""
    yield table(("pool", "item", "count", "price", "USD a month"), [_row(item) for item in bill.items])
    yield ""
    yield table(("pool", "USD a month"), [(pool, pool_sum(bill, pool)) for pool in bill.by_pool])
    yield ""
    if bill.unknown:
        yield f"Unknown: {lacking(bill.unknown, bill.region)}; the sums are without it"
    if any(item.price is None and item.most for item in bill.items):
        yield "Spot machines and their licences cost at most their price on demand; what they cost now is unknown"
    yield from assumptions(bill.usage)
    dates = [date for date, _ in sources(bill)]
    if dates:
        yield f"Prices of {dates[-1]} to {dates[0]}; `mullion cost {bill.cluster} --json` names their sources"


def pool_sum(bill: Bill, pool: str) -> str:
    """Return a pool's USD a month; if prices are missing, at least a sum and at most another one, or unknown."""
    month, most = bill.by_pool[pool], bill.at_most(pool)
    if pool not in bill.incomplete:
        return f"{month:,.2f}"
    bounds = [] if month is None else [f"at least {month:,.2f}"]
    return ", ".join([*bounds, *([] if most is None else [f"at most {most:,.2f}"])]) or "unknown"


def _row(item: Item) -> tuple[str, ...]:
    article = "an" if item.unit == HOUR else "a"
    price, month, least = item.price or item.most, item.month_at_most, "" if item.price else "at most "
    if price is None or month is None:
        return item.pool, item.what, f"{item.count:g}", "unknown", "unknown"
    said = f"{least}{price.amount:g} {article} {item.unit}"
    return item.pool, item.what, f"{item.count:g}", said, f"{least}{month:,.2f}"


def assumptions(usage: Usage) -> Iterator[str]:
    """Yield the lines about what the bill assumes and leaves out."""
    if usage.traffic_gb is None:
        yield "Traffic is not counted (--traffic GB: to the internet, a month); nor is traffic between zones"
    else:
        yield f"Traffic: {usage.traffic_gb:g} GB to the internet a month; traffic between zones is not counted"
    if usage.stored_gib is None:
        yield "Stored files and snapshots are not counted (--stored GIB); nor are requests"
    else:
        yield f"Stores: {usage.stored_gib:g} GiB of files and snapshots; requests are not counted"


@dataclass(frozen=True)
class Difference:
    """Two bills compared. rows: pool, item, USD a month before and after, for items that differ."""

    before: float
    after: float
    rows: tuple[tuple[str, str, str, str], ...]
    unknown: bool


def compare(now: Mapping[str, Any], then: Mapping[str, Any]) -> Difference:
    """Return what differs between two documents of `mullion cost --json`."""
    was, is_ = (_months(each) for each in (then, now))
    rows = tuple(
        (*key, was.get(key, "none"), is_.get(key, "none"))
        for key in dict.fromkeys((*was, *is_))
        if was.get(key) != is_.get(key)
    )
    return Difference(then["month"], now["month"], rows, bool(now["unknown"] or then["unknown"]))


def _months(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (each["pool"], each["item"]): "unknown" if each["month"] is None else f"{each['month']:,.2f}"
        for each in document["items"]
    }


def compared(difference: Difference, name: str) -> str:
    """Return the difference as text."""
    change = difference.after - difference.before
    known = " (known prices only)" if difference.unknown else ""
    head = (
        f"Compared with {name}: USD {difference.before:,.2f} a month before, {difference.after:,.2f} now, "
        f"{change:+,.2f}{known}"
    )
    if not difference.rows:
        return f"{head}; no item differs"
    return f"{head}\n{table(('pool', 'item', 'before', 'now'), difference.rows)}"


def read(path: Path) -> dict[str, Any]:
    """Return the document of `mullion cost --json` in a file. Raises Stop for any other file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError("it has another format")  # noqa: TRY301 - one message for both
        float(found["month"])
        _months(found)
        list(found["unknown"])
    except OSError as error:
        raise Stop(Exit.USAGE, f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise Stop(Exit.USAGE, f"{path}: not written by `mullion cost` with --json ({reason})") from error
    return found
