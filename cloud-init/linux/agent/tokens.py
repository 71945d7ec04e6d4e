"""Bootstrap tokens: the join secret always has one that is valid for at least half of its lifetime.

This repeats a step of the founder's plan, so the same code creates all tokens. kube-controller-manager's tokencleaner
deletes expired ones.
"""

from kinds import cluster
from run import Run

from agent.configuration import Configuration


def reconcile(run: Run, configuration: Configuration) -> None:
    """Create and store a token when half of the last one's lifetime is over. It is in no argument and no message."""
    step = configuration["token"]
    run.stored.pop(step["secret"], None)  # another agent may have written it
    if not cluster.token_holds(run, step):
        cluster.make_token(run, step)
