"""Permissions: who may see and change what. Every page and every call of the API uses these functions.

A call with a token is limited to its scope, the token's team: for such a call nothing outside the team exists, whatever
else the person may do on the pages.
"""

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from portal.models import Cluster, Inquiry, Membership, Team, Token, User


def person(request: HttpRequest) -> User:
    """Return the person who is signed in. Raises PermissionDenied without one."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def clusters(user: User) -> QuerySet[Cluster]:
    """Return the clusters that a person may see: those of the person's teams; all for the platform team."""
    found = Cluster.objects.select_related("team", "version__template", "asked_by")
    if user.scope is not None:
        found = found.filter(team=user.scope)
    return found if user.is_platform else found.filter(team__memberships__user=user)


def teams(user: User) -> QuerySet[Team]:
    """Return the teams for which a person may ask for clusters."""
    found = Team.objects.filter(memberships__user=user).order_by("name")
    return found if user.scope is None else found.filter(pk=user.scope.pk)


def may_change(user: User, cluster: Cluster) -> bool:
    """Return whether a person may extend and remove a cluster."""
    return _within(user, cluster.team) and (user.is_platform or _is(user, cluster.team))


def may_decide(user: User, cluster: Cluster) -> bool:
    """Return whether a person may decide about a request: never an own one, nor one by a service token they made."""
    own = cluster.asked_by == user or Token.objects.filter(user=cluster.asked_by, made_by=user).exists()
    if own or not _within(user, cluster.team):
        return False
    return is_approver(user, cluster.team)


def is_member(user: User, team: Team) -> bool:
    """Return whether a person is in a team, with any role."""
    return _is(user, team)


def is_approver(user: User, team: Team) -> bool:
    """Return whether a person is an approver of a team, or of the platform team."""
    return user.is_platform or _is(user, team, Membership.Role.APPROVER)


def inquiries(user: User, cluster: Cluster) -> QuerySet[Inquiry]:
    """Return the inquiries about a visible cluster whose answers a person may read: of kubeconfigs only the own."""
    others = ~Q(kind=Inquiry.Kind.KUBECONFIG)
    found = Inquiry.objects.filter(Q(asked_by=user) | others, cluster=cluster)
    return found.exclude(pk__in=Inquiry.outdated()).defer("archive")


def may_make_tokens(user: User, team: Team, *, service: bool) -> bool:
    """Return whether a person may make a personal or a service's token for a team. Calls with a token may not."""
    if user.scope is not None:
        return False
    return user.is_platform or _is(user, team, *([Membership.Role.APPROVER] if service else []))


def may_read_trail(user: User) -> bool:
    """Return whether a person may read the audit trail, which names all teams."""
    return user.is_platform and user.scope is None


def to_decide(user: User) -> list[Cluster]:
    """Return the requests that wait for a decision of this person, the oldest first."""
    waiting = clusters(user).filter(state=Cluster.State.ASKED).order_by("asked_at")
    return [cluster for cluster in waiting if may_decide(user, cluster)]


def _within(user: User, team: Team) -> bool:
    return user.scope is None or user.scope == team


def _is(user: User, team: Team, *roles: str) -> bool:
    """Return whether a person has one of these roles in a team; without roles: any."""
    found = team.memberships.filter(user=user)
    return (found.filter(role__in=roles) if roles else found).exists()
