"""Options of a cluster's budget."""

from typing import Annotated

from pydantic import Field

from components.spec.options import Model


class Budget(Model):
    """The most that the cluster may cost, by the price tables of `mullion cost`."""

    month: Annotated[int, Field(ge=1)]
    """USD a month of 730 hours. `plan` and `up` refuse a cluster that costs more, with spot at its price on demand."""
