"""`mullion cost update`: update the price tables from the clouds' public price interfaces.

A cloud's file is replaced whole or not at all: it stays unchanged after an error, or if the answers lack a price that
the file has.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType

from components.catalogue import instance_sizes, prices
from components.catalogue.prices import EVERYWHERE, WINDOWS, Table
from operations.console.exits import Exit, Stop
from operations.cost import update_aws, update_azure, update_gcp
from operations.cost.asking import Answers, Wanted

INTERFACES: Mapping[str, ModuleType] = {"aws": update_aws, "azure": update_azure, "gcp": update_gcp}
WIDTH = 118
"""Characters of a line of a data file."""


def update(cloud: str) -> str:
    """Ask a cloud for the prices of its tables, write its file, and return a summary. Raises Stop."""
    interface, old = INTERFACES[cloud], prices.tables(cloud)
    asked = wanted(cloud, old)
    try:
        answers: Answers = interface.answers(asked)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        reason = f"{type(error).__name__} {error}"
        raise Stop(Exit.FAILED, f"{interface.BASE} answered in an unknown format: {reason}") from error
    services = {*interface.SERVICES, "windows-vcpu"}
    mine = {
        (table.region, key)
        for table in old
        if table.region != EVERYWHERE
        for key in table.prices
        if key in asked.sizes or key in services or key.startswith(WINDOWS)
    }
    lacking = sorted(mine - set(answers))
    if lacking:
        named = ", ".join(f"{key} in {region}" for region, key in lacking[:5])
        raise Stop(
            Exit.FAILED,
            f"{len(lacking)} prices that the table has are missing in the answers ({named}); the table stays as it was",
        )
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    new = [
        Table(
            region,
            today,
            interface.SOURCE,
            {key: amount for (where, key), amount in answers.items() if where == region},
        )
        for region in asked.regions
    ]
    kept = [Table(table.region, table.date, table.source, _others(table, asked.sizes, services)) for table in old]
    write(prices.path(cloud), [table for table in (*new, *kept) if table.prices])
    prices.tables.cache_clear()
    changed = _changed(old, answers)
    return f"{cloud}: {len(answers)} prices in {len(asked.regions)} regions, {changed} new or changed"


def wanted(cloud: str, old: tuple[Table, ...]) -> Wanted:
    """Return the query for a cloud: all regions and all instance types of its tables."""
    sizes = {key for table in old for key in table.prices if instance_sizes.cloud_of(key) == cloud}
    regions = {table.region for table in old} - {EVERYWHERE}
    known = set(prices.UNITS) | set(prices.AZURE_DISKS)
    return Wanted(tuple(sorted(regions)), tuple(sorted(sizes - known)))


def _others(table: Table, sizes: tuple[str, ...], services: set[str]) -> dict[str, float]:
    """Return the prices of an old table that stay: those that the interface is not asked for.

    All prices of the table for all regions stay, for regions that the answers lack.
    """
    if table.region == EVERYWHERE:
        return table.prices
    asked = {*sizes, *services}
    return {key: amount for key, amount in table.prices.items() if key not in asked and not key.startswith(WINDOWS)}


def _changed(old: tuple[Table, ...], answers: Answers) -> int:
    """Return how many answers are new or differ from the old tables."""
    before = {(table.region, key): amount for table in reversed(old) for key, amount in table.prices.items()}
    return sum(
        before.get((region, key), before.get((EVERYWHERE, key))) != now for (region, key), now in answers.items()
    )


def write(path: Path, tables: list[Table]) -> None:
    """Write a data file, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text(tables), "utf-8")
    part.replace(path)


def text(tables: list[Table]) -> str:
    """Return the data file's text: prices in lines of at most WIDTH characters."""
    return f'{{\n "currency": "{prices.CURRENCY}",\n "tables": [\n' + ",\n".join(map(_table, tables)) + "\n ]\n}\n"


def _table(table: Table) -> str:
    head = "".join(f'   "{name}": {json.dumps(getattr(table, name))},\n' for name in ("region", "date", "source"))
    cells = [f"{json.dumps(key)}: {json.dumps(table.prices[key])}" for key in table.prices]
    lines = [""]
    for cell in (*(f"{each}," for each in cells[:-1]), cells[-1]):
        if lines[-1] and len(lines[-1]) + len(cell) > WIDTH - 5:
            lines.append("")
        lines[-1] += f" {cell}" if lines[-1] else cell
    body = "\n".join(f"    {line}" for line in lines)
    return f'  {{\n{head}   "prices": {{\n{body}\n   }}\n  }}'
