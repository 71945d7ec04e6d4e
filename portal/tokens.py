"""Tokens of the API: making, revoking, and finding the owner of one."""

import hashlib
import re
import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from portal import access, audit
from portal.models import Membership, Team, Token, User
from portal.refusals import NotPossible

PREFIX = "mullion_"
"""Prefix of each token, by which scanners for secrets recognise it."""
MOST_DAYS = 365
USED_SECONDS = 60
"""Minimum seconds between two writes of a token's last use."""
NAME = re.compile(r"[a-z][a-z0-9-]{0,28}[a-z0-9]")


def make(user: User, team: Team, name: str, days: Any, *, service: bool = False) -> tuple[Token, str]:
    """Make a token for one team. Return its row and its text, which is not stored. Raises NotPossible.

    service: an account of its own in the team owns the token, so that it outlives the person's membership.
    """
    if not access.may_make_tokens(user, team, service=service):
        raise NotPossible(
            f"An approver of team {team.name} or the platform team makes tokens of services."
            if service
            else f"You are not in team {team.name}, or this call has a token, which cannot make tokens."
        )
    if not NAME.fullmatch(name):
        raise NotPossible("Name: write 2 to 30 lower-case letters, digits and hyphens, starting with a letter.")
    if not str(days).isdecimal() or not 1 <= int(str(days)) <= MOST_DAYS:
        raise NotPossible(f"Days: write a whole number from 1 to {MOST_DAYS}.")
    text = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        whom = _service(team, name) if service else user
        token = Token.objects.create(
            user=whom,
            team=team,
            name=name,
            digest=_digest(text),
            made_by=user,
            expires=timezone.now() + timedelta(days=int(str(days))),
        )
        detail = {"token": token.pk, "name": name, "service": service, "expires": token.expires.isoformat()}
        audit.record(user.actor, "token.make", whom.username, team=team, detail=detail)
    return token, text


def _service(team: Team, name: str) -> User:
    """Return the account of a service: a member of the team that cannot sign in."""
    user, new = User.objects.get_or_create(username=f"service-{team.name}-{name}", defaults={"is_service": True})
    if not user.is_service:
        raise NotPossible(f"There is a person called {user.username}; choose another name.")
    if new:
        user.set_unusable_password()
        user.save()
    Membership.objects.get_or_create(user=user, team=team)
    return user


def revoke(user: User, token: Token) -> None:
    """Revoke a token. Raises NotPossible."""
    if user.scope is not None or token not in visible(user):
        raise NotPossible("There is no such token.")
    with transaction.atomic():
        if not Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            raise NotPossible("The token is revoked already.")
        detail = {"token": token.pk, "name": token.name}
        audit.record(user.actor, "token.revoke", token.user.username, team=token.team, detail=detail)


def visible(user: User) -> QuerySet[Token]:
    """Return the tokens that a person may see and revoke: own ones, and services' in teams where it is approver."""
    found = Token.objects.select_related("user", "team", "made_by")
    if user.is_platform:
        return found
    led = Membership.objects.filter(user=user, role=Membership.Role.APPROVER).values("team")
    return found.filter(Q(user=user) | Q(user__is_service=True, team__in=led))


def bearer(text: str) -> User | None:
    """Return a token's owner, with its team as scope; None if it is unknown, revoked or expired."""
    now = timezone.now()
    if (token := _valid().filter(digest=_digest(text)).first()) is None:
        return None
    if token.used_at is None or token.used_at < now - timedelta(seconds=USED_SECONDS):
        Token.objects.filter(pk=token.pk).update(used_at=now)
    return _scoped(token)


def owner(number: int) -> User | None:
    """Return the owner of the token with a number as `bearer` does; None if it is revoked or expired since."""
    token = _valid().filter(pk=number).first()
    return token and _scoped(token)


def _valid() -> QuerySet[Token]:
    """Return the tokens with which a call is answered."""
    found = Token.objects.select_related("user", "team")
    return found.filter(revoked_at=None, expires__gt=timezone.now(), user__is_active=True)


def _scoped(token: Token) -> User:
    user = token.user
    user.scope, user.token = token.team, token
    return user


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
