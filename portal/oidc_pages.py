"""Pages of sign-in by OpenID Connect: the way to the provider, and back."""

import hashlib
import logging
import unicodedata
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
from portal.rates import PerMinute
from portal.refusals import NotPossible

BACKEND = "django.contrib.auth.backends.ModelBackend"
FAULTS = (OAuthError, JoseError, requests.RequestException, ValueError, KeyError, RuntimeError)
"""Errors of Authlib for missing and invalid answers of the provider."""


def _name(request: HttpRequest) -> str:
    """Return a digest of the name in the form, as Django reads it (NFKC): a key of the cache has a limited length."""
    name = unicodedata.normalize("NFKC", request.POST.get("username", "").strip()[:LONGEST_NAME]).casefold()
    return hashlib.sha256(name.encode()).hexdigest()


BY_NAME = PerMinute("names", _name, settings.SIGN_INS_OF_A_NAME_A_MINUTE)
BY_ADDRESS = PerMinute("addresses", lambda request: request.META.get("REMOTE_ADDR", ""), settings.SIGN_INS_A_MINUTE)
TOO_OFTEN = "There were too many sign-ins with this name or from this address; wait a minute."
LONGEST_NAME = 150
_log = logging.getLogger(__name__)


class SignIn(LoginView):
    """The page for signing in by password, with a link to the provider if one is configured."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check name and password, unless a name or an address has tried too often in this minute."""
        if not (BY_ADDRESS.allow_request(request) and BY_NAME.allow_request(request)):
            return render(request, "portal/no_entry.html", {"reason": TOO_OFTEN}, status=429)
        return super().post(request, *args, **kwargs)

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
