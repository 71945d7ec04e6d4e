"""Answers of a portal's API, as far as `mullion request` reads them (portal/api_documents.py has all of them)."""

from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import NotRequired, TypedDict


class Machine(TypedDict):
    """A machine of a plan."""

    name: str
    os: str
    size: str


class Plan(TypedDict):
    """The plan of the chosen values."""

    machines: list[Machine]
    month: float
    unpriced: list[str]
    problems: list[str]
    approval: list[str]


class Choice(TypedDict):
    """A field that a team may choose."""

    path: str
    label: str
    default: str | int
    options: list[str]
    least: int | None
    most: int | None


class Template(TypedDict):
    """An entry of the catalogue."""

    name: str
    title: str
    hours: int
    most_hours: int
    fields: list[Choice]
    plan: Plan


class Job(TypedDict):
    """The newest job of a cluster."""

    kind: str
    state: str
    attempt: int
    lines: str


class Cluster(TypedDict):
    """A cluster, with its newest job where the answer has one."""

    name: str
    template: str
    state: str
    reason: str
    month: str | float
    asked_by: str
    expires: str | None
    endpoint: str
    cost_so_far: NotRequired[str]
    job: NotRequired[Job | None]


class Kubeconfig(TypedDict):
    """What a person adds to the own private key for a kubeconfig."""

    server: str
    server_name: str
    certificate_authority: str
    certificate: str
    user: str
    role: str
    expires: str


class TestRow(TypedDict):
    """A result of a test of a cluster."""

    check: str
    where: str
    what: str
    verdict: str
    said: str


class Tests(TypedDict):
    """Results of the tests of a cluster."""

    passed: bool
    rows: list[TestRow]


class Inquiry(TypedDict):
    """An inquiry about a cluster. said: messages. kubeconfig, verify: the answer of this kind."""

    id: int
    state: str
    said: str
    kubeconfig: Kubeconfig | None
    verify: Tests | None


class Event(TypedDict):
    """A row of a cluster's history."""

    at: str
    actor: str
    action: str


def fits(document: Any, form: Any) -> bool:
    """Return whether an answer has this form; more fields than it names are allowed."""
    try:
        TypeAdapter(form).validate_python(document)
    except ValidationError:
        return False
    return True
