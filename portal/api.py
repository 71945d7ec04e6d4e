"""The JSON API below /api/v1/. It has no rules of its own: `access` and `actions` decide, as for pages."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import NinjaAPI, Status
from ninja.errors import HttpError
from ninja.security import HttpBearer

from portal import access, actions, changes, spending, tokens
from portal.api_calls import CALLS, CHANGES, FAILURES, REFUSALS, caller, visible
from portal.api_documents import (
    Changed,
    ClusterDocument,
    ClusterWithJob,
    EventDocument,
    Hours,
    JobDocument,
    Me,
    Plan,
    Request,
    TemplateDocument,
    Wish,
)
from portal.inquiry_api import router
from portal.models import Cluster, Event, Template, User
from portal.planning import propose
from portal.refusals import NotPossible


class Bearer(HttpBearer):
    """A token in the header Authorization. Cookies of pages are not accepted, so no page can call the API."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return the person of a token. Raises 429 after too many unknown tokens from an address."""
        user = tokens.bearer(token)
        if user is None and not FAILURES.allow_request(request):
            raise HttpError(429, "Too many unknown tokens from this address; wait a minute.")
        return user


api = NinjaAPI(
    title="Mullion portal",
    version="1",
    description="Ask for clusters, extend and remove them. Make a token on the page /tokens/.",
    docs_url=None,  # its page would load scripts of another host
    auth=Bearer(),
    throttle=[CALLS],
)
api.add_router("", router)


@api.exception_handler(NotPossible)
def _refused(request: HttpRequest, error: Exception) -> HttpResponse:
    return api.create_response(request, {"detail": str(error)}, status=409)


@api.get("/me", response={200: Me, **REFUSALS}, operation_id="me")
def me(request: HttpRequest) -> Me:
    """Return the token's owner, team and expiry."""
    user = caller(request)
    if (token := user.token) is None:
        raise HttpError(401, "Call with a token.")
    return Me(
        user=user.username, service=user.is_service, team=token.team.name, token=token.name, expires=token.expires
    )


@api.get("/templates", response={200: list[TemplateDocument], **REFUSALS}, operation_id="catalogue")
def catalogue(request: HttpRequest) -> list[TemplateDocument]:
    """List the templates, each with the plan of its defaults."""
    return [_template(each) for each in Template.objects.filter(withdrawn=False).order_by("name")]


def _template(template: Template) -> TemplateDocument:
    version = template.newest
    offer = version.offer
    return TemplateDocument(
        name=template.name,
        version=version.number,
        title=offer.title,
        help=offer.help,
        fields=list(offer.fields),
        hours=offer.hours,
        most_hours=offer.limits.hours,
        plan=Plan.of(propose(offer, {}, offer.hours)),
    )


@api.post("/templates/{name}/plan", response={200: Plan, **REFUSALS}, operation_id="plan")
def plan(request: HttpRequest, name: str, wish: Wish) -> Plan:
    """Return the plan of a cluster with these values, without asking for the cluster."""
    offer = get_object_or_404(Template, name=name, withdrawn=False).newest.offer
    return Plan.of(propose(offer, wish.choices, offer.hours if wish.hours is None else wish.hours))


@api.get("/clusters", response={200: list[ClusterDocument], **REFUSALS}, operation_id="list")
def clusters(request: HttpRequest, *, gone: bool = False, to_decide: bool = False) -> list[ClusterDocument]:
    """List clusters. gone: also removed and refused ones. to_decide: only those that wait for the caller's decision."""
    user = caller(request)
    if to_decide:
        return [_described(user, each) for each in access.to_decide(user)]
    found = access.clusters(user).distinct()
    return [_described(user, each) for each in (found if gone else found.filter(state__in=Cluster.OPEN))]


@api.post("/clusters", response={201: ClusterDocument, **REFUSALS}, operation_id="ask", throttle=[CALLS, CHANGES])
def ask(request: HttpRequest, wanted: Request) -> Any:
    """Ask for a cluster. It is built at once, or waits for approval (state `asked`)."""
    user = caller(request)
    team = get_object_or_404(access.teams(user), name=wanted.team)
    template = get_object_or_404(Template, name=wanted.template)
    hours = template.newest.offer.hours if wanted.hours is None else wanted.hours
    made = actions.ask(user, team, template, wanted.name, wanted.choices, hours)
    return Status(201, _described(user, visible(user, made.name)))


@api.get("/clusters/{name}", response={200: ClusterWithJob, **REFUSALS}, operation_id="show")
def show(request: HttpRequest, name: str) -> ClusterWithJob:
    """Return a cluster with its newest job."""
    user = caller(request)
    return _with_job(user, visible(user, name))


@api.get("/clusters/{name}/events", response={200: list[EventDocument], **REFUSALS}, operation_id="events")
def events(request: HttpRequest, name: str) -> list[EventDocument]:
    """Return the history of a cluster, the newest row first; at most 200 rows."""
    found = visible(caller(request), name)
    rows = Event.objects.filter(subject=found.name, team=found.team.name)[:200]
    return [EventDocument(at=each.at, actor=each.actor, action=each.action, detail=each.detail) for each in rows]


def _change(action: str) -> Any:
    """Register a function as POST /clusters/NAME/ACTION."""
    address, documents = f"/clusters/{{name}}/{action}", {200: ClusterWithJob, **REFUSALS}
    return api.post(address, response=documents, operation_id=action, throttle=[CALLS, CHANGES])


@_change("change")
def change(request: HttpRequest, name: str, changed: Changed) -> ClusterWithJob:
    """Change values of a cluster that is built; fields that are missing keep theirs."""
    return _acted(request, name, lambda user, found: changes.change(user, found, changed.choices))


@api.post("/clusters/{name}/change/plan", response={200: Plan, **REFUSALS}, operation_id="plan_change")
def plan_change(request: HttpRequest, name: str, changed: Changed) -> Plan:
    """Return the plan of a cluster with changed values, without changing it. approval: why another person may have to
    decide.
    """
    return Plan.of(changes.proposed(visible(caller(request), name), changed.choices))


@_change("extend")
def extend(request: HttpRequest, name: str, added: Hours) -> ClusterWithJob:
    """Extend the life of a cluster."""
    return _acted(request, name, lambda user, found: actions.extend(user, found, added.hours))


@_change("approve")
def approve(request: HttpRequest, name: str) -> ClusterWithJob:
    """Approve a request of somebody else."""
    return _acted(request, name, lambda user, found: actions.decide(user, found, approve=True))


@_change("refuse")
def refuse(request: HttpRequest, name: str) -> ClusterWithJob:
    """Refuse a request of somebody else."""
    return _acted(request, name, lambda user, found: actions.decide(user, found, approve=False))


@_change("retry")
def retry(request: HttpRequest, name: str) -> ClusterWithJob:
    """Run the job of a failed cluster again."""
    return _acted(request, name, actions.retry)


@_change("cancel")
def cancel(request: HttpRequest, name: str) -> ClusterWithJob:
    """End the job of a cluster."""
    return _acted(request, name, actions.cancel)


@api.delete(
    "/clusters/{name}", response={200: ClusterWithJob, **REFUSALS}, operation_id="remove", throttle=[CALLS, CHANGES]
)
def remove(request: HttpRequest, name: str) -> ClusterWithJob:
    """Remove a cluster, or take back a request."""
    return _acted(request, name, lambda user, found: actions.remove(user, found, name))


def _acted(request: HttpRequest, name: str, act: Any) -> ClusterWithJob:
    user = caller(request)
    act(user, visible(user, name))
    return _with_job(user, visible(user, name))


def _values(user: User, found: Cluster) -> dict[str, Any]:
    copied = ("name", "state", "reason", "choices", "hours", "month", "asked_at", "built_at", "expires", "endpoint")
    return {
        **{name: getattr(found, name) for name in copied},
        "team": found.team.name,
        "template": found.version.template.name,
        "version": found.version.number,
        "asked_by": found.asked_by.username,
        "may_decide": found.state == Cluster.State.ASKED and access.may_decide(user, found),
    }


def _described(user: User, found: Cluster) -> ClusterDocument:
    return ClusterDocument(**_values(user, found))


def _with_job(user: User, found: Cluster) -> ClusterWithJob:
    job = found.jobs.first()
    shown = JobDocument(**{name: getattr(job, name) for name in JobDocument.model_fields}) if job else None
    cost = spending.of(found, changes.proposed(found, {}))
    return ClusterWithJob(**_values(user, found), job=shown, cost_so_far=cost)
