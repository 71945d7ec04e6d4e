"""Request and response bodies of the API."""

from datetime import datetime
from decimal import Decimal

from ninja import Field, Schema

from portal.models import Inquiry
from portal.planning import Choice, Proposal


class Problem(Schema):
    """Why a call was refused."""

    detail: str


class Machine(Schema):
    """A machine of a plan."""

    name: str
    pool: str
    os: str
    size: str


class Plan(Schema):
    """The plan of the chosen values. problems: why no cluster can be asked for. approval: why it waits for approval.

    month: USD by the price tables, without the items in `unpriced`.
    """

    machines: list[Machine]
    month: float
    unpriced: list[str]
    warnings: list[str]
    problems: list[str]
    approval: list[str]

    @classmethod
    def of(cls, found: Proposal) -> "Plan":
        """Return the document of a plan."""
        machines = [Machine(name=name, pool=pool, os=os, size=size) for name, pool, os, size in found.machines]
        return cls(
            machines=machines,
            month=found.month,
            unpriced=list(found.unknown),
            warnings=found.warnings,
            problems=found.problems,
            approval=found.approval,
        )


class TemplateDocument(Schema):
    """An entry of the catalogue. plan: with its defaults. most_hours: longest life. fields: what a team may choose."""

    name: str
    version: int
    title: str
    help: str
    fields: list[Choice]
    hours: int
    most_hours: int
    plan: Plan


class Wish(Schema):
    """What a team chose. Fields that are missing keep the template's default."""

    choices: dict[str, str | int] = Field(default_factory=dict, max_length=50)
    hours: int | None = Field(None, description="Lifetime in hours; default: the template's.")


class Request(Wish):
    """A request for a cluster. name: of the cluster, without the team's name before it."""

    team: str = Field(max_length=10)
    template: str = Field(max_length=40)
    name: str = Field(max_length=15)


class Changed(Schema):
    """Values to change. Fields that are missing keep theirs."""

    choices: dict[str, str | int] = Field(max_length=50)


class Hours(Schema):
    """Hours to add to a cluster's life."""

    hours: int


class JobDocument(Schema):
    """The newest job of a cluster. lines: end of its output."""

    id: int
    kind: str
    state: str
    attempt: int
    asked_at: datetime
    ended_at: datetime | None
    lines: str


class ClusterDocument(Schema):
    """A cluster. month: USD by the plan. reason: why it waited for approval."""

    name: str
    team: str
    template: str
    version: int
    state: str
    reason: str
    choices: dict[str, str | int]
    hours: int
    month: Decimal
    asked_by: str
    asked_at: datetime
    built_at: datetime | None
    expires: datetime | None
    endpoint: str
    may_decide: bool


class ClusterWithJob(ClusterDocument):
    """A cluster with its newest job. cost_so_far: by the plan and the price tables; empty if unknown."""

    job: JobDocument | None
    cost_so_far: str


class PublicKey(Schema):
    """The public half of a key that stays with the person: EC on P-256, PEM (BEGIN PUBLIC KEY)."""

    public_key: str = Field(max_length=1000)


class KubeconfigAnswer(Schema):
    """What a person adds to the own private key for a kubeconfig. Certificates are PEM. role: of Kubernetes."""

    server: str
    server_name: str
    certificate_authority: str
    certificate: str
    user: str
    role: str
    expires: datetime


class TestRow(Schema):
    """A result of a test: check, place, subject, verdict (passed, failed, known limit, not covered), and the reason."""

    check: str
    where: str
    what: str
    verdict: str
    said: str


class TestAnswer(Schema):
    """Results of the tests of a cluster. passed: none failed."""

    passed: bool
    rows: list[TestRow]


class LogsAnswer(Schema):
    """Logs of a machine, which `/clusters/NAME/inquiries/NUMBER/archive` returns as a zip archive."""

    machine: str
    bytes: int


class MachineName(Schema):
    """Name of a machine, as the plan has it."""

    machine: str = Field(max_length=63)


class InquiryDocument(Schema):
    """An inquiry about a cluster. said: messages. kubeconfig, verify, logs: the answer of this kind, once the state is
    `done`.
    """

    id: int
    kind: str
    state: str
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None
    said: str
    kubeconfig: KubeconfigAnswer | None = None
    verify: TestAnswer | None = None
    logs: LogsAnswer | None = None

    @classmethod
    def of(cls, found: Inquiry) -> "InquiryDocument":
        """Return the document of an inquiry."""
        copied = ("id", "kind", "state", "asked_at", "ended_at", "said")
        values = {name: getattr(found, name) for name in copied}
        answer = {found.kind: found.answer} if found.answer else {}
        return cls(**values, asked_by=found.asked_by.username, **answer)


class EventDocument(Schema):
    """A row of the history of a cluster."""

    at: datetime
    actor: str
    action: str
    detail: dict[str, object]


class Me(Schema):
    """Owner, team and expiry of a token."""

    user: str
    service: bool
    team: str
    token: str
    expires: datetime
