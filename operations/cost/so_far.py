"""What a built cluster has cost since its creation, by its recorded spec and the dated price tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import ValidationError

from components.cost.bill import Bill, bill
from components.plan import plan_cluster
from components.spec.models import ClusterSpec


@dataclass(frozen=True)
class SoFar:
    """USD since the creation of a cluster, as if it had had its present machines all the time.

    unknown: items without a price; with any, the sum is a lower bound.
    """

    usd: float
    unknown: tuple[str, ...]
    priced: bool = True
    """Whether any item has a price."""

    @property
    def text(self) -> str:
        """The sum for people: USD 1.23, at least USD 1.23, unknown."""
        if self.unknown and not self.priced:
            return "unknown"
        return f"{'at least ' if self.unknown else ''}USD {self.usd:,.2f}"


def so_far(name: str, recorded: Mapping[str, Any], region: str, age: timedelta | None) -> SoFar | None:
    """Return what a cluster has cost. None if its age or region is unknown, or if this version of Mullion cannot read
    or plan its spec.
    """
    bought = None if age is None else built(name, recorded, region)
    if age is None or bought is None:
        return None
    return SoFar(bought.hour * max(age.total_seconds(), 0) / 3600, bought.unknown, bought.month > 0)


def built(name: str, recorded: Mapping[str, Any], region: str) -> Bill | None:
    """Return the bill of a recorded spec. None if the region is unknown, or if this version of Mullion cannot read or
    plan the spec.
    """
    if not region:
        return None
    try:
        spec = ClusterSpec.model_validate({key: value for key, value in recorded.items() if not key.startswith("__")})
        return bill(plan_cluster(name, spec), region)
    except (ValidationError, ValueError, KeyError):
        return None
