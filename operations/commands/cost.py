"""`mullion cost`: what a stack's cluster costs, by dated price tables; `mullion cost update` asks for new prices."""

import json
from pathlib import Path

from components.cost import bill as bills
from components.cost.bill import Usage
from components.plan import plan_cluster
from operations.console.exits import Exit, Stop
from operations.cost import shown
from operations.stacks import stack_files

UPDATE = "update"
"""Word in place of a stack's name: `mullion cost update`."""


def cost(name: str, *, as_json: bool, against: Path | None, usage: Usage) -> None:
    """Print what a stack's cluster costs. against: document of an earlier `mullion cost --json` to compare with."""
    earlier = shown.read(against) if against else None
    stack = stack_files.load(name)
    bill = bills.bill(plan_cluster(name, stack.spec), stack.region, usage)
    document = shown.document(bill)
    found = shown.compare(document, earlier) if earlier else None
    if as_json:
        rows = [dict(zip(("pool", "item", "before", "now"), row, strict=True)) for row in found.rows] if found else []
        before = {"before": found.before, "now": found.after, "rows": rows} if found else None
        print(json.dumps({**document, **({"against": before} if before else {})}, indent=2))
        return
    print(shown.text(bill))
    if found:
        print(f"\n{shown.compared(found, str(against))}")


def update(clouds: list[str]) -> None:
    """Update the tables of these clouds; without any, of all. Raises Stop at the end if a cloud was not updated."""
    from operations.cost import update as updating

    chosen = clouds or list(updating.INTERFACES)
    if unknown := [each for each in chosen if each not in updating.INTERFACES]:
        raise Stop(Exit.USAGE, f"--cloud {unknown[0]}: write one of {', '.join(updating.INTERFACES)}")
    failed: list[Stop] = []
    for cloud in chosen:
        try:
            print(updating.update(cloud))
        except Stop as stop:
            failed.append(Stop(stop.code, f"{cloud}: {stop}; its prices stay as they were"))
    if failed:
        raise Stop(failed[0].code, "\n".join(map(str, failed)))
