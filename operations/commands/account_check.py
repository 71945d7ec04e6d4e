"""What the account allows, asked before the first resource of a cluster: limits and enabled services."""

from collections.abc import Iterator

from components.clouds import CLOUDS
from components.plan import ClusterPlan
from components.stack_files.stack import PROJECT
from operations.clouds import account_state
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files, target


def findings(name: str, planned: ClusterPlan, region: str, *, sandbox: bool, built: bool) -> Iterator[tuple[str, str]]:
    """Yield a line and a fault, empty if there is none, for each limit and service that could be asked for."""
    cloud = planned.spec.cloud.value
    if sandbox:
        found = account_state.in_sandbox(target.cloud_state_file(name), cloud, region)
        yield from account_state.compared(planned, found, built=built)
        return
    project = str(stack_files.config(name).get(PROJECT) or "")
    found = account_state.quotas(planned, region, project)
    yield from account_state.compared(planned, found, built=built)
    if not found:
        title = CLOUDS[cloud].title
        yield f"limits of the account: not known, because the command line of {title} does not print them here", ""
    for command in account_state.disabled(cloud, project):
        yield "a service that the cluster needs is not enabled", f"run: {command}"


def refuse_short(name: str, planned: ClusterPlan, region: str, *, sandbox: bool, built: bool) -> None:
    """Raise Stop if the account's limits do not suffice for a new cluster, or if it lacks a service.

    built: the cluster exists already, so nothing is asked.
    """
    if built:
        return
    wrong = [each for each in findings(name, planned, region, sandbox=sandbox, built=False) if each[1]]
    if wrong:
        listed = "".join(f"\n  {line}\n    {fault}" for line, fault in wrong)
        raise Stop(Exit.REFUSED, f"the account does not allow cluster {name}; nothing was changed:{listed}")
