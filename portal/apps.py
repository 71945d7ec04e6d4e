"""The application's entry in Django."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    """Label `portal`: prefix of the tables and of the permissions."""

    name = "portal"
    default_auto_field = "django.db.models.BigAutoField"
