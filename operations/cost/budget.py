"""The budget of a stack file, and the refusal of a cluster that costs more."""

from components.cost.bill import Bill, bill
from components.plan import ClusterPlan
from operations.console.exits import Exit, Stop
from operations.cost import shown

LARGEST = 4
"""Number of items that a refusal names."""


def refuse(bill_: Bill, most: int | None) -> None:
    """Raise Stop if a bill exceeds the budget, by the prices and by the bounds of unknown ones. most: USD a month; None
    without a budget. Machines without either are stopped by the check `budget-without-price`.
    """
    if most is None or bill_.judged <= most:
        return
    bounded = bill_.judged > bill_.month
    amount = f"{'up to' if bounded else 'at least' if bill_.unbounded else ''} USD {bill_.judged:,.2f}".strip()
    largest = "; ".join(f"{item.pool} {item.what}: {month:,.2f}" for item, month in bill_.largest(LARGEST))
    lacking = f" Not counted: {shown.lacking(bill_.unbounded, bill_.region)}." if bill_.unbounded else ""
    bound = " Spot machines count with their price on demand." if bounded else ""
    raise Stop(
        Exit.REFUSED,
        f"budget.month: {bill_.cluster} costs {amount} a month, more than its budget of {most:,}.{bound}"
        f" The largest items: {largest}.{lacking} Use fewer or smaller machines, or raise budget.month; nothing was"
        " changed",
    )


def refuse_planned(planned: ClusterPlan, region: str) -> None:
    """Raise Stop if a planned cluster costs more than its budget."""
    if (budget := planned.spec.budget) is not None:
        refuse(bill(planned, region), budget.month)
