"""Pages. They show only what `access` lets the person see; anything else answers 404."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from components.stack_files.stack import CLUSTER
from portal import access, actions, audit, changes, inquiries, spending
from portal.models import Cluster, Event, Inquiry, Job, Template
from portal.planning import Offer, propose
from portal.rates import PerMinute
from portal.refusals import NotPossible

Page = Callable[..., HttpResponseBase]
CHANGES = PerMinute("page-changes", lambda request: str(request.user.pk), settings.API_CHANGES_A_MINUTE)


def refuse_hurry(request: HttpRequest) -> None:
    """Raise NotPossible if a person changes more on pages in a minute than a token may in the API."""
    if not CHANGES.allow_request(request):
        raise NotPossible("These are too many changes in one minute; wait a minute.")


def _is_stale(request: HttpRequest, field: str, now: str, what: str) -> bool:
    """Return whether a form was shown before what it changes became what it is now; then it must be shown anew."""
    if request.POST.get(field, now) == now:
        return False
    messages.error(request, f"{what} has changed since this page was shown; look at it again.")
    return True


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
            refuse_hurry(request)
            if _is_stale(request, "version", str(template.newest.number), f"The template {name}"):
                return redirect("ask", name=name)
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
        except NotPossible as error:
            messages.error(request, str(error))
    shown = {"template": template, "version": template.newest.number, "offer": offer, "teams": teams}
    values = {**shown, **_planned(offer, given)}
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
    shown = {"hours": hours, "fields": _fields(offer, choices), "name": given.get("name", "")}
    return {"plan": propose(offer, choices, hours), **shown}


def _fields(offer: Offer, choices: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a form with their values."""
    return [
        {"field": each, "value": str(choices.get(each.path, each.default)), "numbers": each.least is not None}
        for each in offer.fields
    ]


def of_cluster(page: Callable[..., HttpResponse]) -> Page:
    """Give a page its cluster; 404 for one that the person may not see."""

    @login_required
    @wraps(page)
    def found(request: HttpRequest, name: str, **rest: Any) -> HttpResponse:
        return page(request, get_object_or_404(access.clusters(access.person(request)).distinct(), name=name), **rest)

    return found


@require_GET
@of_cluster
def cluster(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Show one cluster."""
    return render(request, "portal/cluster.html", _shown(request, found))


@require_GET
@of_cluster
def progress(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Answer with the part of the cluster's page that changes."""
    return render(request, "portal/progress.html", _shown(request, found))


def _shown(request: HttpRequest, found: Cluster) -> dict[str, Any]:
    offer, user = found.version.offer, access.person(request)
    job, plan = found.jobs.first(), propose(offer, found.choices, found.hours, found.name)
    asked = access.inquiries(user, found).exclude(kind=Inquiry.Kind.KUBECONFIG)
    newest = [each for kind in ("verify", "logs") if (each := asked.filter(kind=kind).first())]
    is_built = bool(found.built_at and found.state in inquiries.BUILT)
    job_runs = bool(job and job.state in Job.OPEN)
    return {
        "cluster": found,
        "job": job,
        "job_runs": job_runs,
        "runs": job_runs or any(each.state in Inquiry.OPEN for each in newest),
        "plan": plan,
        "cost": spending.of(found, plan),
        "kubeconfig": offer.kubeconfig if is_built else None,
        "role": offer.kubeconfig and offer.kubeconfig.of(is_approver=access.is_approver(user, found.team)),
        "is_built": is_built,
        "newest": newest,
        "connect": is_built and user.is_platform and plan.config.get(CLUSTER, {}).get("access") == "session",
        "events": Event.objects.filter(subject=found.name, team=found.team.name)[:30],
        "may_decide": found.state == Cluster.State.ASKED and access.may_decide(user, found),
    }


def action(act: Callable[[HttpRequest, Cluster], object]) -> Page:
    """Return the page of an action: it runs the action, and shows the cluster's page with the result."""

    @require_POST
    @of_cluster
    def done(request: HttpRequest, found: Cluster) -> HttpResponse:
        try:
            refuse_hurry(request)
            act(request, found)
        except NotPossible as error:
            messages.error(request, str(error))
        return redirect("cluster", name=found.name)

    return done


@of_cluster
def change(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Show the form of a change with its plan; change the cluster when it is posted."""
    if request.method == "POST":
        try:
            refuse_hurry(request)
            if _is_stale(request, "seen", changes.seen(found), found.name):
                return redirect("change", name=found.name)
            changes.change(access.person(request), found, _choices(found.version.offer, request.POST))
            return redirect("cluster", name=found.name)
        except NotPossible as error:
            messages.error(request, str(error))
    return render(request, "portal/change.html", _changed(found, request.POST))


@require_POST
@of_cluster
def change_plan(request: HttpRequest, found: Cluster) -> HttpResponse:
    """Answer with the plan of a change as a part of a page."""
    return render(request, "portal/plan.html", _changed(found, request.POST))


def _changed(found: Cluster, given: Mapping[str, Any]) -> dict[str, Any]:
    offer = found.version.offer
    choices = {**found.choices, **_choices(offer, given)}
    shown = {"cluster": found, "changing": True, "fields": _fields(offer, choices), "seen": changes.seen(found)}
    return {"plan": changes.proposed(found, choices), **shown}


approve = action(lambda request, found: actions.decide(access.person(request), found, approve=True))
refuse = action(lambda request, found: actions.decide(access.person(request), found, approve=False))
extend = action(lambda request, found: actions.extend(access.person(request), found, request.POST.get("hours", "")))
remove = action(lambda request, found: actions.remove(access.person(request), found, request.POST.get("confirm", "")))
cancel = action(lambda request, found: actions.cancel(access.person(request), found))
retry = action(lambda request, found: actions.retry(access.person(request), found))


@login_required
@require_GET
def trail(request: HttpRequest) -> HttpResponseBase:
    """Download the audit trail as lines of JSON; for the platform team alone."""
    if not access.may_read_trail(access.person(request)):
        raise Http404
    answer = StreamingHttpResponse(audit.exported(), content_type="application/jsonl")
    answer["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return answer
