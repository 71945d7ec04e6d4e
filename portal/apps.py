"""The application's entry in Django."""

from datetime import timedelta
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils import timezone


class PortalConfig(AppConfig):
    """Label `portal`: prefix of the tables and of the permissions."""

    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """End each session at a fixed time after its sign-in."""
        user_logged_in.connect(_limit, dispatch_uid="portal.session-end")


def _limit(request: HttpRequest, **_: Any) -> None:
    """Set the time at which a session ends. Without it each change of the session would put its end off."""
    request.session.set_expiry(timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))
