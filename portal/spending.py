"""What a cluster has cost so far, by its plan: the same sum as `mullion ls` shows."""

from django.utils import timezone

from components.stack_files.stack import CLUSTER, read_stack
from operations.cost import so_far
from portal.models import Cluster
from portal.planning import Proposal


def of(cluster: Cluster, plan: Proposal) -> str:
    """Return USD since the first job began, as if the cluster had had its present machines all the time; empty before.

    plan: of the cluster's values. The first job is taken to begin when it is asked for, so the sum is rather too high.
    """
    first = cluster.jobs.filter(attempt__gt=0).order_by("id").first()
    if first is None or plan.problems:
        return ""
    last = cluster.jobs.first() if cluster.state == Cluster.State.REMOVED else None
    age = ((last.ended_at if last else None) or timezone.now()) - first.asked_at
    region = read_stack(cluster.name, plan.config).region
    found = so_far.so_far(cluster.name, plan.config[CLUSTER], region, age)
    return found.text if found else ""
