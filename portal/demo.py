"""The demo of a first start: two teams, a person in each, one of the platform team."""

from portal import catalogue_files, folders
from portal.models import Membership, Team, User

PEOPLE = {"alice": "red", "bob": "blue", "pat": ""}
"""Names of people and their teams; pat is of the platform team."""


def begin() -> str:
    """Write people, teams and templates into an empty database. Return how to sign in."""
    catalogue_files.load(catalogue_files.SHIPPED, "(demo)")
    password = folders.kept_secret("demo-password")[:16]
    for name, team in PEOPLE.items():
        if User.objects.filter(username=name).exists():
            continue
        user = User(username=name, is_platform=not team, is_staff=not team, is_superuser=not team)
        user.set_password(password)
        user.save()
        if team:
            Membership.objects.create(user=user, team=Team.objects.get_or_create(name=team)[0])
    return f"Sign in as alice (team red), bob (team blue) or pat (platform team); password: {password}"
