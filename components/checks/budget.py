"""Prices without which a budget says nothing."""

from collections.abc import Iterator

from components.catalogue import prices
from components.checks.check import Finding, Subject, at, warning
from components.naming import CONTROL_PLANE
from components.spec.models import Licence, Pool

WITHOUT_PRICE = "budget-without-price"
"""Id of the warning about machines that no budget can judge; it stops `up` unless it is acknowledged."""


def _without_price(subject: Subject) -> Iterator[Finding]:
    """Find machines, and licences of Windows on them, of which no price table has a price. That of spot machines is at
    most the price on demand.
    """
    spec, cloud = subject.spec, subject.spec.cloud.value
    if spec.budget is None:
        return
    for group in subject.groups:
        size = group.options.size
        if not group.count or (group.name == CONTROL_PLANE and spec.existing_cluster is not None):
            continue
        lacking = [] if prices.price(cloud, subject.region, size) else [size]
        own = isinstance(group.options, Pool) and group.options.licence is Licence.OWN
        if group.os.is_windows and not own and prices.windows(cloud, subject.region, size)[2] is None:
            lacking.append(f"the licence of Windows on {size}")
        if lacking:
            what, machines = " and of ".join(lacking), "machine" if group.count == 1 else "machines"
            yield at(*group.path, "size", what=what, region=subject.region, count=group.count, machines=machines)


CHECKS = (
    warning(
        WITHOUT_PRICE,
        "budget.month <machines>.size <machines>.count <machines>.os cloud region",
        _without_price,
        "no table has the price of {what} in {region}, so budget.month cannot judge {count} {machines}; `up` stops"
        " unless this is acknowledged",
        "run `mullion cost update`, which asks the cloud for it, or use a size with a price (docs/cost.md), or"
        " acknowledge this with what the machines cost",
    ),
)
