"""Pages. They show only what `access` lets the person see; anything else answers 404."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from portal import access, actions, audit
from portal.models import Cluster, Event, Job, Template
from portal.planning import Offer, propose

Page = Callable[..., HttpResponseBase]


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show the person's clusters, requests to decide, and the catalogue."""
    gone = (Cluster.State.REMOVED, Cluster.State.REFUSED)
    rows = [_offered(each) for each in Template.objects.filter(withdrawn=False).order_by("name")]
    values = {
        "clusters": access.clusters(access.person(request)).exclude(state__in=gone),
        "templates": rows,
        "to_decide": access.to_decide(access.person(request)),
        "teams": access.teams(access.person(request)),
    }
    return render(request, "portal/home.html", values)


def _offered(template: Template) -> dict[str, Any]:
    """Return a template with its plan; `problems` if it no longer plans."""
    offer = template.newest.offer
    return {"name": template.name, "offer": offer, "plan": propose(offer, {}, offer.hours)}


@login_required
def ask(request: HttpRequest, name: str) -> HttpResponse:
    """Show the form of a template with the plan; ask for the cluster when it is posted."""
    template = get_object_or_404(Template, name=name, withdrawn=False)
    teams, offer = access.teams(access.person(request)), template.newest.offer
    given = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        try:
            team = get_object_or_404(teams, name=given.get("team", ""))
            found = actions.ask(
                access.person(request),
                team,
                template,
                given.get("name", ""),
                _choices(offer, given),
                given.get("hours", ""),
            )
            return redirect("cluster", name=found.name)
        except actions.NotPossible as error:
            messages.error(request, str(error))
    values = {"template": template, "offer": offer, "teams": teams, **_planned(offer, given)}
    return render(request, "portal/ask.html", values)


@login_required
@require_POST
def plan(request: HttpRequest, name: str) -> HttpResponse:
    """Answer with the plan of a form as a part of a page."""
    template = get_object_or_404(Template, name=name, withdrawn=False)
    return render(request, "portal/plan.html", _planned(template.newest.offer, request.POST))


def _choices(offer: Offer, given: Mapping[str, Any]) -> dict[str, str]:
    return {each.path: given[each.path] for each in offer.fields if each.path in given}


def _planned(offer: Offer, given: Mapping[str, Any]) -> dict[str, Any]:
    hours, choices = given.get("hours", str(offer.hours)), _choices(offer, given)
    fields = [
        {"field": each, "value": str(choices.get(each.path, each.default)), "numbers": each.least is not None}
        for each in offer.fields
    ]
    return {"plan": propose(offer, choices, hours), "hours": hours, "fields": fields, "name": given.get("name", "")}


def _of_cluster(page: Callable[[HttpRequest, Cluster], HttpResponse]) -> Page:
    """Give a page its cluster; 404 for one that the person may not see."""

    @login_required
    @wraps(page)
    def found(request: HttpRequest, name: str) -> HttpResponse:
        return page(request, get_object_or_404(access.clusters(access.person(request)).distinct(), name=name))

    return found


@require_GET
@_of_cluster
def cluster(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Show one cluster."""
    return render(request, "portal/cluster.html", _shown(request, found))


@require_GET
@_of_cluster
def progress(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Answer with the part of the cluster's page that changes."""
    return render(request, "portal/progress.html", _shown(request, found))


def _shown(request: HttpRequest, found: Cluster) -> dict[str, Any]:
    offer = found.version.offer
    job = found.jobs.first()
    return {
        "cluster": found,
        "job": job,
        "runs": bool(job and job.state in Job.OPEN),
        "plan": propose(offer, found.choices, found.hours, found.name) if found.name.isascii() else None,
        "events": Event.objects.filter(subject=found.name, team=found.team.name)[:30],
        "may_decide": found.state == Cluster.State.ASKED and access.may_decide(access.person(request), found),
    }


def _action(act: Callable[[HttpRequest, Cluster], None]) -> Page:
    """Return the page of an action: it runs the action, and shows the cluster's page with the result."""

    @require_POST
    @_of_cluster
    def done(request: HttpRequest, found: Cluster) -> HttpResponse:
        try:
            act(request, found)
        except actions.NotPossible as error:
            messages.error(request, str(error))
        return redirect("cluster", name=found.name)

    return done


approve = _action(lambda request, found: actions.decide(access.person(request), found, approve=True))
refuse = _action(lambda request, found: actions.decide(access.person(request), found, approve=False))
extend = _action(lambda request, found: actions.extend(access.person(request), found, request.POST.get("hours", "")))
remove = _action(lambda request, found: actions.remove(access.person(request), found, request.POST.get("confirm", "")))
cancel = _action(lambda request, found: actions.cancel(access.person(request), found))
retry = _action(lambda request, found: actions.retry(access.person(request), found))


@login_required
@require_GET
def trail(request: HttpRequest) -> HttpResponseBase:
    """Download the audit trail as lines of JSON; for the platform team alone."""
    if not access.may_read_trail(access.person(request)):
        raise Http404
    answer = StreamingHttpResponse(audit.exported(), content_type="application/jsonl")
    answer["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return answer
