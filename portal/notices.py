"""Tell people what waits for them: a request for approval, its decision, a job that failed, an expiry that is near.

Actions write rows of `Notice` in their transaction; workers send them. So nothing is told that did not happen, a mail
server that does not answer delays no page, and a killed worker loses no notice. It may send one twice.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from portal import access, notice_ways
from portal.models import Cluster, Membership, Notice, User
from portal.notice_ways import FAULTS, MAIL, WEBHOOK, Ways

MOST_TRIES = 6
RETRY = timedelta(minutes=1)
"""Time to the second try; each further one waits twice as long as the one before."""
AT_ONCE = 20
"""Notices that a worker sends before it looks again."""
KEPT = timedelta(days=30)
"""How long a notice that could not be sent stays visible in /admin/."""
NEAR = timedelta(hours=2)
"""Time before its expiry at which the person who asked for a cluster is told."""
_log = logging.getLogger(__name__)


def waits(cluster: Cluster) -> None:
    """Tell who may decide about a request that it waits."""
    roles = Q(is_platform=True) | Q(memberships__team=cluster.team, memberships__role=Membership.Role.APPROVER)
    people = [each for each in User.objects.filter(roles).distinct() if access.may_decide(each, cluster)]
    who = f"{cluster.asked_by.username} of team {cluster.team.name}"
    told = f"{who} asks for the cluster {cluster.name} (USD {cluster.month} a month). It waits for approval, because"
    _write(people, cluster, f"{cluster.name} waits for approval", f"{told} {cluster.reason}.")


def decided(cluster: Cluster, who: str, *, approved: bool) -> None:
    """Tell the person who asked what was decided."""
    word = "approved" if approved else "refused"
    _write(_asker(cluster), cluster, f"{cluster.name} is {word}", f"{who} has {word} the cluster {cluster.name}.")


def failed(cluster: Cluster, kind: str) -> None:
    """Tell the person who asked that a job failed."""
    text = f"The job `{kind}` of the cluster {cluster.name} has failed. Its page shows why."
    _write(_asker(cluster), cluster, f"{cluster.name}: {kind} failed", text)


def expiring() -> list[Cluster]:
    """Tell the people who asked for clusters whose expiry is near, once for each expiry. Return these clusters."""
    now = timezone.now()
    near = Cluster.objects.select_related("team", "asked_by").filter(
        state__in=(Cluster.State.READY, Cluster.State.FAILED), expires__gt=now, expires__lt=now + NEAR
    )
    found = list[Cluster]()
    for each in near.exclude(told_expiry=F("expires")):
        with transaction.atomic():
            same = Cluster.objects.filter(pk=each.pk, expires=each.expires).exclude(told_expiry=each.expires)
            if same.update(told_expiry=each.expires):
                text = f"The cluster {each.name} expires at {each.expires:%Y-%m-%d %H:%M} UTC and is then removed."
                _write(_asker(each), each, f"{each.name} expires soon", text)
                found.append(each)
    return found


def _asker(cluster: Cluster) -> list[User]:
    """Return the person who asked for a cluster, unless they may not see it any more; for a service its makers."""
    asked = cluster.asked_by
    people = User.objects.filter(pk__in=asked.tokens.values("made_by")) if asked.is_service else [asked]
    return [each for each in people if access.may_change(each, cluster)]


def _write(people: Iterable[User], cluster: Cluster, subject: str, text: str) -> None:
    """Write the rows of a notice, for each configured way. Call it inside the transaction of what it tells."""
    ways, now = notice_ways.configured(), timezone.now()
    text = f"{text}\n{notice_ways.link(cluster.name)}"
    to = sorted({each.email for each in people if each.is_active and _is_address(each.email)})
    for address in to if ways.mail else ():
        Notice.objects.create(way=MAIL, to=address, subject=subject, text=text, due=now)
    if ways.webhook:
        Notice.objects.create(way=WEBHOOK, subject=subject, text=text, due=now)


def _is_address(text: str) -> bool:
    """Return whether a text is one mail address: a provider of OpenID Connect may send anything."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def send() -> int:
    """Send notices that are due, by the ways that this process has, and return their number. One worker takes each."""
    sent, ways = 0, notice_ways.configured()
    mine = [way for way, has in ((MAIL, ways.mail), (WEBHOOK, ways.webhook)) if has]
    Notice.objects.filter(tries=MOST_TRIES, due__lt=timezone.now() - KEPT).delete()
    for notice in Notice.objects.filter(due__lte=timezone.now(), tries__lt=MOST_TRIES, way__in=mine)[:AT_ONCE]:
        later = timezone.now() + RETRY * 2**notice.tries
        taken = Notice.objects.filter(pk=notice.pk, tries=notice.tries).update(tries=F("tries") + 1, due=later)
        if taken and _sent(notice, ways):
            sent += 1
    return sent


def _sent(notice: Notice, ways: Ways) -> bool:
    try:
        if ways.mail and notice.way == MAIL:
            notice_ways.send_mail(ways.mail, notice.to, notice.subject, notice.text)
        else:
            notice_ways.send_webhook(ways.webhook, notice.text)
    except FAULTS as error:
        told = _told(error)
        Notice.objects.filter(pk=notice.pk).update(error=told)
        _log.warning("notice %s by %s was not sent: %s", notice.pk, notice.way, told)
        return False
    Notice.objects.filter(pk=notice.pk).delete()
    return True


def _told(error: Exception) -> str:
    """Return an error without what is secret: the texts of requests name the webhook's URL, except for our own."""
    own = type(error).__module__ == "requests.exceptions" and str(error).startswith("it answered ")
    text = str(error) if own else str(getattr(error, "smtp_code", "") or getattr(error, "strerror", "") or "")
    return f"{type(error).__name__} {text}".strip()[:200]
