"""The demo of a first start: two teams, a person in each, one of the platform team."""

from django.db import transaction

from portal import catalogue_files, folders
from portal.models import Membership, Team, User

PEOPLE = {"alice": "red", "bob": "blue", "pat": ""}
"""Names of people and their teams; pat is of the platform team."""


def begin() -> str:
    """Write the templates, and people and teams into a database without people. Return how to sign in."""
    catalogue_files.load(catalogue_files.SHIPPED, "(demo)")
    password = folders.kept_secret("demo-password")[:16]
    with transaction.atomic():
        # a person of the demo who was deleted must not come back with the known password
        if not User.objects.exists():
            _people(password)
    if not User.objects.filter(username__in=PEOPLE).exists():
        return "Sign in with your account"
    return f"Sign in as alice (team red), bob (team blue) or pat (platform team); first password: {password}"


def _people(password: str) -> None:
    for name, team in PEOPLE.items():
        user = User(username=name, is_platform=not team, is_staff=not team, is_superuser=not team)
        user.set_password(password)
        user.save()
        if team:
            Membership.objects.create(user=user, team=Team.objects.get_or_create(name=team)[0])
