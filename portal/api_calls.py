"""What all calls of the API share: limits, refusals, the caller, the cluster."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from portal import access
from portal.api_documents import Problem
from portal.models import Cluster, User
from portal.rates import PerMinute

FAILURES = PerMinute("failures", lambda request: request.META.get("REMOTE_ADDR", ""), settings.API_FAILURES_A_MINUTE)
CALLS = PerMinute("calls", lambda request: caller(request).token_key, settings.API_CALLS_A_MINUTE)
CHANGES = PerMinute("changes", lambda request: caller(request).token_key, settings.API_CHANGES_A_MINUTE)
REFUSALS: Any = dict.fromkeys((401, 404, 409, 429), Problem)


def caller(request: HttpRequest) -> User:
    """Return the person of the call's token."""
    return request.auth  # type: ignore[attr-defined]  # set by the library after Bearer


def visible(user: User, name: str) -> Cluster:
    """Return a cluster that the caller may see; any other one does not exist (404)."""
    return get_object_or_404(access.clusters(user).distinct(), name=name)
