"""The page of tokens: makes tokens, shows each new one once, and revokes tokens."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from portal import access, actions
from portal import tokens as making
from portal.models import Team

DAYS = 30
"""Days that the form proposes."""


@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List tokens; on POST make one, and show it in this answer alone."""
    user, made = access.person(request), ""
    teams = Team.objects.order_by("name") if user.is_platform else access.teams(user)
    if request.method == "POST":
        given = request.POST
        team = get_object_or_404(teams, name=given.get("team", ""))
        try:
            _, made = making.make(
                user, team, given.get("name", ""), given.get("days", ""), service=given.get("kind") == "service"
            )
        except actions.NotPossible as error:
            messages.error(request, str(error))
    values = {"teams": teams, "made": made, "tokens": making.visible(user)[:200], "days": DAYS, "now": timezone.now()}
    return render(request, "portal/tokens.html", values)


@login_required
@require_POST
def revoke(request: HttpRequest, number: int) -> HttpResponse:
    """Revoke a token."""
    user = access.person(request)
    try:
        making.revoke(user, get_object_or_404(making.visible(user), pk=number))
    except actions.NotPossible as error:
        messages.error(request, str(error))
    return redirect("tokens")
