"""Which account a stack's provider uses, for questions to the cloud's command line."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.rollout.session_commands import OWN_CREDENTIALS


@dataclass(frozen=True)
class Identity:
    """The account and credentials of a provider, as far as its settings name them."""

    options: tuple[str, ...] = ()
    """Options that make the command line use the provider's account."""
    account: str = ""
    """Subscription or project that the settings name; empty if only the command line knows."""
    certain: bool = True
    """False if the provider may use other credentials than the command line, and thus another account."""


_OWN_CREDENTIALS = {
    "aws": OWN_CREDENTIALS,
    "azure-native": ("clientId", "useMsi", "useOidc", "useDefaultAzureCredential"),
}
"""Prefixes of provider settings that choose credentials the command line does not use (the providers' schemas)."""

_OWN_VARIABLES = ("ARM_CLIENT_ID", "ARM_USE_MSI", "ARM_USE_OIDC")
"""Environment variables that choose other credentials for azure-native."""


def of_provider(package: str, settings: Mapping[str, Any]) -> Identity:
    """Return the identity of a provider: aws, azure-native or gcp. settings: values by name, such as `profile`."""
    own = any(key.startswith(_OWN_CREDENTIALS.get(package, ())) for key, value in settings.items() if value)
    if package == "aws":
        profile = _text(settings, "profile")
        return Identity(("--profile", profile) if profile else (), "", certain=not own)
    if package == "gcp":
        project = _text(settings, "project")
        return Identity(("--project", project) if project else (), project)
    subscription = (_text(settings, "subscriptionId") or os.environ.get("ARM_SUBSCRIPTION_ID", "")).lower()
    if subscription:
        return Identity(("--subscription", subscription), subscription)
    return Identity(certain=not own and not any(os.environ.get(name) for name in _OWN_VARIABLES))


def of_stack(cloud: str, config: Mapping[str, Any]) -> Identity:
    """Return the identity that a stack's configuration chooses. config: values by full key, such as `aws:profile`."""
    package = "azure-native" if cloud == "azure" else cloud
    settings = {key.partition(":")[2]: value for key, value in config.items() if key.startswith(f"{package}:")}
    return of_provider(package, settings)


def _text(settings: Mapping[str, Any], name: str) -> str:
    """Return a setting; empty if it is missing or encrypted."""
    value = settings.get(name)
    return value if isinstance(value, str) else ""
