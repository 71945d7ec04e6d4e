"""Pages of sign-in by OpenID Connect: the way to the provider, and back."""

import logging
from typing import Any

import requests
from authlib.integrations.django_client import OAuthError
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET
from joserfc.errors import JoseError

from portal import oidc
from portal.actions import NotPossible

BACKEND = "django.contrib.auth.backends.ModelBackend"
FAULTS = (OAuthError, JoseError, requests.RequestException, ValueError, KeyError, RuntimeError)
"""Errors of Authlib for missing and invalid answers of the provider."""
_log = logging.getLogger(__name__)


class SignIn(LoginView):
    """The page for signing in by password, with a link to the provider if one is configured."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Tell the page whether there is a provider."""
        return {**super().get_context_data(**kwargs), "oidc": bool(settings.OIDC.get("ISSUER"))}


@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Redirect the browser to the provider."""
    if (found := oidc.configured()) is None:
        raise Http404
    try:
        return oidc.client(found).authorize_redirect(request, request.build_absolute_uri(reverse("oidc-callback")))
    except FAULTS as error:
        return _failed(request, error)


@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Sign in the person whom the provider names."""
    if (found := oidc.configured()) is None:
        raise Http404
    try:
        token = oidc.client(found).authorize_access_token(request, claims_options=oidc.claims(found))
        said = dict(token["userinfo"])
    except FAULTS as error:
        return _failed(request, error)
    try:
        user = oidc.person(found, said)
    except NotPossible as error:
        return render(request, "portal/no_entry.html", {"reason": str(error)}, status=403)
    login(request, user, backend=BACKEND)
    return redirect("home")


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """Show that the sign-in failed; the log has the kind of the error, and no token."""
    _log.warning("sign-in by OpenID Connect failed: %s", getattr(error, "error", "") or type(error).__name__)
    reason = "The sign-in at the provider did not succeed; try again."
    return render(request, "portal/no_entry.html", {"reason": reason}, status=403)
