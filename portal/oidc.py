"""Sign-in by OpenID Connect: who a person is, and the roles of the person's groups.

Authlib runs the protocol (authorization code with PKCE, nonce, state, the signature of the identity token). Its client
compares the audience only if it is given, so `claims` gives issuer and audience.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction
from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import ValidationError as Malformed

from portal import audit
from portal.models import Membership, Team, User
from portal.refusals import NotPossible

TIMEOUT = 10
"""Timeout in seconds of a call to the provider."""


class Role(BaseModel):
    """Rights of the members of a provider's group: those of the platform team, or of a role in a team."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    platform: bool = False
    team: str = ""
    role: Membership.Role = Membership.Role.MEMBER

    @model_validator(mode="after")
    def _one_of_both(self) -> "Role":
        if self.platform == bool(self.team):
            raise ValueError("give either `platform: true`, or `team`")
        if self.team:
            Team(name=self.team).clean_fields()
        return self


@dataclass(frozen=True)
class Settings:
    """Settings of sign-in by OpenID Connect. roles: by the names of groups."""

    issuer: str
    client: str
    secret: str
    scope: str
    name_claim: str
    groups_claim: str
    roles: dict[str, Role]


def read(given: dict[str, str]) -> Settings:
    """Return the settings from environment variables without their prefix. Raises ImproperlyConfigured."""
    issuer = given["ISSUER"].rstrip("/")
    if not issuer.startswith("https://") and not issuer.startswith(("http://127.0.0.1:", "http://localhost:")):
        raise ImproperlyConfigured(f"MULLION_PORTAL_OIDC_ISSUER: {issuer} must begin with https://")
    lacking = [name for name in ("CLIENT", "SECRET_FILE", "ROLES_FILE") if not given.get(name)]
    if lacking:
        names = ", ".join(f"MULLION_PORTAL_OIDC_{name}" for name in lacking)
        raise ImproperlyConfigured(f"MULLION_PORTAL_OIDC_ISSUER also needs {names}; see docs/portal.md")
    try:
        secret = Path(given["SECRET_FILE"]).read_text("utf-8").strip()
        rows = yaml.safe_load(Path(given["ROLES_FILE"]).read_text("utf-8"))
        roles = {str(name): Role.model_validate(row) for name, row in rows.items()}
    except (OSError, yaml.YAMLError, AttributeError, Malformed, ValidationError) as error:
        raise ImproperlyConfigured(f"MULLION_PORTAL_OIDC_ROLES_FILE or _SECRET_FILE: {error}") from error
    return Settings(
        issuer=issuer,
        client=given["CLIENT"],
        secret=secret,
        scope=given.get("SCOPE") or "openid profile email",
        name_claim=given.get("NAME_CLAIM") or "preferred_username",
        groups_claim=given.get("GROUPS_CLAIM") or "groups",
        roles=roles,
    )


def configured() -> Settings | None:
    """Return the settings; None if people sign in by passwords alone."""
    return read(settings.OIDC) if settings.OIDC.get("ISSUER") else None


def client(found: Settings) -> Any:
    """Return Authlib's client of the provider."""
    registry = OAuth()
    return registry.register(
        "oidc",
        server_metadata_url=f"{found.issuer}/.well-known/openid-configuration",
        client_id=found.client,
        client_secret=found.secret,
        client_kwargs={"scope": found.scope, "code_challenge_method": "S256", "default_timeout": TIMEOUT},
    )


def claims(found: Settings) -> dict[str, Any]:
    """Return the claims that the identity token must have."""
    return {
        "iss": {"essential": True, "values": [found.issuer, f"{found.issuer}/"]},
        "aud": {"essential": True, "values": [found.client]},
        "nonce": {"essential": True},
    }


def person(found: Settings, said: dict[str, Any]) -> User:
    """Return the person of verified claims, with the roles of the groups. Raises NotPossible.

    Issuer and subject identify the person, not the name: so nobody takes over an account that has the same name.
    """
    groups = said.get(found.groups_claim)
    names = {groups} if isinstance(groups, str) else {str(each) for each in groups or ()}
    roles = [found.roles[name] for name in sorted(names & found.roles.keys())]
    if not roles:
        raise NotPossible("None of your groups may use this portal; ask the platform team.")
    subject = f"{found.issuer} {said['sub']}"
    with transaction.atomic():
        user = User.objects.select_for_update().filter(subject=subject).first() or _new(found, said, subject)
        if not user.is_active:
            raise NotPossible("Your account is switched off; ask the platform team.")
        _assign(user, roles)
    return user


def _new(found: Settings, said: dict[str, Any], subject: str) -> User:
    name = str(said.get(found.name_claim) or "")
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise NotPossible(f"The provider sent no usable name (claim {found.name_claim}).") from None
    if not name or len(name) > 60 or name.startswith("service-"):
        raise NotPossible(f"The provider sent no usable name (claim {found.name_claim}).")
    if User.objects.filter(username__iexact=name).exists():
        raise NotPossible(f"There is another account called {name}; ask the platform team to rename it.")
    user = User(username=name, subject=subject, email=str(said.get("email") or "")[:254])
    user.set_unusable_password()
    user.save()
    audit.record(name, "person.new", name)
    return user


def _assign(user: User, roles: list[Role]) -> None:
    """Give a person exactly these roles; of two roles in a team, approver."""
    platform = any(each.platform for each in roles)
    wanted: dict[str, Membership.Role] = {}
    for each in roles:
        if each.team and wanted.get(each.team) != Membership.Role.APPROVER:
            wanted[each.team] = each.role
    held = {each.team.name: each.role for each in Membership.objects.select_related("team").filter(user=user)}
    if held == {name: role.value for name, role in wanted.items()} and user.is_platform == platform:
        return
    user.is_platform = user.is_staff = user.is_superuser = platform
    user.save(update_fields=["is_platform", "is_staff", "is_superuser"])
    Membership.objects.filter(user=user).exclude(team__name__in=wanted).delete()
    for name, role in wanted.items():
        team, _ = Team.objects.get_or_create(name=name)
        Membership.objects.update_or_create(user=user, team=team, defaults={"role": role})
    detail = {"platform": platform, "teams": {name: role.value for name, role in wanted.items()}}
    audit.record(user.username, "person.roles", user.username, detail=detail)
