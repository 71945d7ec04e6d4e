"""Offers of the catalogue, and the plan of what a team chose. Uses the planner in this process; imports no Django."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from components.checks import UNREADY
from components.cost.bill import Bill, bill
from components.plan import plan_cluster
from components.spec import expiry
from components.spec.access import PersonRole
from components.spec.report import SpecError
from components.stack_files.stack import CLUSTER, Stack, read_stack, refuse_unready

EXAMPLE_NAME = "example"
"""Name of the stack by which an offer is planned before anybody chose a name."""

Choices = Mapping[str, Any]
"""Values that a team chose, by the paths of the offer's fields. Texts of a form are converted."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(_Document):
    """A field that a team may choose: one of `options`, or a whole number from `least` to `most`.

    path: below mullion:cluster, such as pools.windows.count; a path with a colon is a key beside it (aws:region).
    """

    path: str
    label: str
    help: str = ""
    options: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    default: str | int

    @model_validator(mode="after")
    def _one_kind(self) -> "Choice":
        if bool(self.options) == (self.least is not None and self.most is not None):
            raise ValueError(f"{self.path}: give either options, or least and most")
        self.read(self.default)
        return self

    def read(self, value: Any) -> str | int:
        """Return a value as the stack file has it. Raises ValueError that says what may be chosen."""
        if self.options:
            if str(value) not in self.options:
                raise ValueError(f"{self.label}: {value} is not offered; choose one of {', '.join(self.options)}")
            return str(value)
        try:
            number = int(str(value))
        except ValueError:
            number = None
        if number is None or not (self.least or 0) <= number <= (self.most or 0):
            raise ValueError(f"{self.label}: {value} is not a whole number from {self.least} to {self.most}")
        return number


class Limits(_Document):
    """Limits of each cluster of an offer. Empty lists limit nothing. hours: longest life. month: USD by the plan."""

    hours: int = Field(gt=0, le=24 * 90)
    month: int = Field(gt=0)
    machines: int = 50
    clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


class Approval(_Document):
    """When a request waits for approval: always, or above USD a month or hours. Without values: never."""

    always: bool = False
    above_month: int | None = None
    above_hours: int | None = None

    def of_life(self, hours: float) -> str:
        """Return why a cluster that lives so long needs approval; empty if it needs none."""
        if self.always:
            return "every request of this template is approved first"
        if self.above_hours is not None and hours > self.above_hours:
            return f"it lives longer than {self.above_hours} hours"
        return ""


class Rights(_Document):
    """Cluster roles of Kubernetes that people get in the whole cluster, by their role in the portal.

    edit and admin equal cluster-admin there: they include tokens of kube-system's service accounts. approver: also of
    the platform team. hours: life of a kubeconfig.
    """

    member: PersonRole = "view"
    approver: PersonRole = "cluster-admin"
    hours: int = Field(default=4, ge=1, le=12)

    def of(self, *, is_approver: bool) -> PersonRole:
        """Return the role of a person who may have a kubeconfig."""
        return self.approver if is_approver else self.member


class Offer(_Document):
    """A template: a stack file's configuration, the fields that a team may choose, limits, approval rules.

    kubeconfig: who gets which; without it nobody gets one.
    """

    title: str
    help: str = ""
    config: dict[str, Any]
    fields: tuple[Choice, ...] = ()
    hours: int = 8
    limits: Limits
    approval: Approval = Approval()
    kubeconfig: Rights | None = None


@dataclass
class Proposal:
    """The plan of the chosen values. problems: why no cluster can be asked for. approval: why it waits for approval.

    machines: name, pool, operating system, size. month: USD, without the items in `unknown`.
    """

    config: dict[str, Any] = field(default_factory=dict)
    machines: list[tuple[str, str, str, str]] = field(default_factory=list)
    month: float = 0.0
    unknown: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    approval: list[str] = field(default_factory=list)


def propose(offer: Offer, choices: Choices, hours: Any, name: str = EXAMPLE_NAME) -> Proposal:
    """Return the plan of a choice, with everything that is wrong with it."""
    found = Proposal()
    values, life = _read(offer, choices, hours, found.problems)
    if found.problems:
        return found
    found.config = configured(offer, values, f"{life}h")
    try:
        stack = read_stack(name, found.config)
        refuse_unready(stack, UNREADY)
        planned = plan_cluster(name, stack.spec)
    except SpecError as error:
        found.problems.extend(str(error).splitlines())
        return found
    cost = bill(planned, stack.region)
    found.machines = [
        (each.name, group.name, group.os.value, group.size)
        for group in planned.machine_groups
        for each in group.machines
    ]
    found.month, found.unknown = round(cost.month, 2), cost.unknown
    found.warnings = [f"{each.path}: {each.wrong}" for each in stack.warnings if each.acknowledged is None]
    found.problems.extend(_above(offer.limits, stack, cost, found.machines))
    found.approval.extend(_approval(offer.approval, cost, life))
    return found


def _read(offer: Offer, choices: Choices, hours: Any, problems: list[str]) -> tuple[dict[str, str | int], int]:
    values: dict[str, str | int] = {}
    known = {each.path: each for each in offer.fields}
    problems.extend(f"{path}: this template does not let you choose it" for path in choices if path not in known)
    for path, each in known.items():
        try:
            values[path] = each.read(choices.get(path, each.default))
        except ValueError as error:
            problems.append(str(error))
    life = Choice(path="hours", label="Lifetime in hours", least=1, most=offer.limits.hours, default=1)
    try:
        return values, int(life.read(hours))
    except ValueError as error:
        problems.append(str(error))
        return values, 1


def configured(offer: Offer, values: Mapping[str, str | int], expires: str) -> dict[str, Any]:
    """Return a stack file's configuration: the offer's with these values and this expiry."""
    config = deepcopy(offer.config)
    for path, value in values.items():
        at, keys = (config, [path]) if ":" in path else (config[CLUSTER], path.split("."))
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = value
    config[CLUSTER]["expires"] = expires
    return config


def expiring(config: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return a configuration that expires at a time."""
    return {**config, CLUSTER: {**config[CLUSTER], "expires": expiry.written(at)}}


def _above(limits: Limits, stack: Stack, cost: Bill, machines: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    """Yield the limits that a plan exceeds."""
    if cost.month > limits.month:
        yield f"It costs USD {cost.month:,.2f} a month; this template allows {limits.month:,}. Choose less."
    if len(machines) > limits.machines:
        yield f"It has {len(machines)} machines; this template allows {limits.machines}. Choose fewer."
    if limits.clouds and stack.spec.cloud.value not in limits.clouds:
        yield f"Cloud {stack.spec.cloud.value} is not allowed here; choose {', '.join(limits.clouds)}"
    if limits.regions and stack.region not in limits.regions:
        yield f"Region {stack.region} is not allowed here; choose {', '.join(limits.regions)}"
    for size in sorted({each[3] for each in machines}):
        if limits.sizes and size not in limits.sizes:
            yield f"Size {size} is not allowed here; choose {', '.join(limits.sizes)}"


def _approval(rules: Approval, cost: Bill, hours: int) -> Iterator[str]:
    """Yield the reasons why a request waits for approval."""
    if why := rules.of_life(hours):
        yield why
    if rules.above_month is not None and cost.month > rules.above_month:
        yield f"it costs more than USD {rules.above_month:,} a month"
    if rules.above_month is not None and cost.unknown:
        yield f"no price is known for {', '.join(cost.unknown)}"
