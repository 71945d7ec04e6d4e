"""Bootstrap tokens: the join secret always holds one that the cluster knows for at least half of its life.

The same step as the founder's plan has, made true again and again: so the first token and the thousandth come from one
place. kube-controller-manager's tokencleaner deletes those that have expired.
"""

from kinds import cluster
from run import Run

from agent.configuration import Configuration


def reconcile(run: Run, configuration: Configuration) -> None:
    """Mint and publish one when half of the last one's life is over. The token is in no argument and no message."""
    step = configuration["token"]
    run.stored.pop(step["secret"], None)  # another agent may have written it
    if not cluster.token_holds(run, step):
        cluster.make_token(run, step)
