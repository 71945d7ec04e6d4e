"""The budget of a stack file, and the refusal of a cluster that costs more."""

from components.cost.bill import Bill, bill
from components.plan import ClusterPlan
from operations.console.exits import Exit, Stop
from operations.cost import shown

LARGEST = 4
"""Number of items that a refusal names."""


def refuse(bill_: Bill, most: int | None) -> None:
    """Raise Stop if the known prices of a bill exceed the budget. most: USD a month; None without a budget."""
    if most is None or bill_.month <= most:
        return
    least = "at least " if bill_.unknown else ""
    largest = "; ".join(f"{item.pool} {item.what}: {month:,.2f}" for item, month in bill_.largest(LARGEST))
    lacking = f" Not counted: {shown.lacking(bill_.unknown, bill_.region)}." if bill_.unknown else ""
    raise Stop(
        Exit.REFUSED,
        f"budget.month: {bill_.cluster} costs {least}USD {bill_.month:,.2f} a month, more than its budget of {most:,}."
        f" The largest items: {largest}.{lacking} Use fewer or smaller machines, or raise budget.month; nothing was"
        " changed",
    )


def refuse_planned(planned: ClusterPlan, region: str) -> None:
    """Raise Stop if a planned cluster costs more than its budget."""
    if (budget := planned.spec.budget) is not None:
        refuse(bill(planned, region), budget.month)
