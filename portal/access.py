"""Who may see and do what. Every page and every call of the API asks here."""

from django.db.models import QuerySet

from portal.models import Cluster, Membership, Team, User


def clusters(user: User) -> QuerySet[Cluster]:
    """Return the clusters that a person may see: those of the person's teams; all for the platform team."""
    found = Cluster.objects.select_related("team", "version__template", "asked_by")
    return found if user.is_platform else found.filter(team__memberships__user=user)


def teams(user: User) -> QuerySet[Team]:
    """Return the teams for which a person may ask for clusters."""
    return Team.objects.filter(memberships__user=user).order_by("name")


def may_change(user: User, cluster: Cluster) -> bool:
    """Return whether a person may extend and remove a cluster."""
    return user.is_platform or cluster.team.memberships.filter(user=user).exists()


def may_decide(user: User, cluster: Cluster) -> bool:
    """Return whether a person may approve or refuse a request: never one's own."""
    if cluster.asked_by == user:
        return False
    role = Membership.Role.APPROVER
    return user.is_platform or cluster.team.memberships.filter(user=user, role=role).exists()


def to_decide(user: User) -> list[Cluster]:
    """Return the requests that wait for a decision of this person, the oldest first."""
    waiting = clusters(user).filter(state=Cluster.State.ASKED).order_by("asked_at")
    return [cluster for cluster in waiting if may_decide(user, cluster)]
