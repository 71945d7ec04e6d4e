"""Check of the account's limits, enabled services and routes, before the first resource of a cluster is created."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from components.checks.acknowledged import ACCOUNT
from components.clouds import CLOUDS
from components.plan import ClusterPlan
from components.spec.models import MachineAccess
from operations.clouds import account_offers, account_state, aws_account, google_ways, identity, organisation_policies
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files, target


@dataclass(frozen=True)
class AccountFinding:
    """One limit or service. fault: what to do; empty if it suffices. note: a warning; the line says what to do."""

    line: str
    fault: str = ""
    note: bool = False


def findings(name: str, planned: ClusterPlan, region: str, *, sandbox: bool, built: bool) -> Iterator[AccountFinding]:
    """Yield a finding for each limit, service and route that the cloud's command line, or the sandbox, reports.

    A fault becomes a warning if the stack file acknowledges it, or if the cluster may be built in another account.
    """
    cloud, accepted = planned.spec.cloud.value, planned.spec.acknowledge.get(ACCOUNT, "").strip()
    used = identity.Identity() if sandbox else identity.of_stack(cloud, stack_files.config(name))
    if sandbox:
        file = target.cloud_state_file(name)
        limits, ask = account_state.in_sandbox(file, cloud, region), google_ways.in_sandbox(file)
    else:
        limits, ask = account_state.quotas(planned, region, used), google_ways.by_command_line(used)
    rows = account_state.compared(planned, limits, built=built)
    rows += google_ways.rows(planned, ask)
    sessions, pods = planned.spec.access is MachineAccess.SESSION, planned.spec.pod_identity is not None
    services = [] if sandbox else account_state.disabled(cloud, used, sessions=sessions, pods=pods)
    if not sandbox:
        rows += account_offers.rows(planned, region, used, limits, built=built)
        rows += organisation_policies.rows(planned, used, region)
        rows += aws_account.account_plan(planned, used)
        closed, notes = ([], []) if built else aws_account.endpoint_zones(planned, region, used)
        rows += closed
        notes += aws_account.default_key(planned, region, used)
        yield from (AccountFinding(line, note=True) for line in notes)
    rows += [("a service that the cluster needs is not enabled", f"run: {command}") for command in services]
    for line, fault in rows:
        if fault and accepted:
            yield AccountFinding(f"{line}; acknowledged: {accepted}", note=True)
        elif fault and not used.certain:
            where = "by the account of the command line, which may not be that of the stack's own credentials"
            yield AccountFinding(f"{line}, {where}: {fault}", note=True)
        else:
            yield AccountFinding(line, fault)
    if not limits and not sandbox:
        title = CLOUDS[cloud].title
        yield AccountFinding(
            f"limits of the account: not known, because the command line of {title} does not print them here"
        )


def refuse_short(name: str, planned: ClusterPlan, region: str, *, sandbox: bool, built: bool) -> None:
    """Raise Stop if the account's limits do not suffice for a new cluster, or if it lacks a service. Print warnings.

    built: the cluster exists already, so nothing is asked.
    """
    if built:
        return
    wrong = list[AccountFinding]()
    for found in findings(name, planned, region, sandbox=sandbox, built=False):
        if found.note:
            print(f"warning: {found.line}", file=sys.stderr)
        elif found.fault:
            wrong.append(found)
    if wrong:
        listed = "".join(f"\n  {each.line}\n    {each.fault}" for each in wrong)
        raise Stop(
            Exit.REFUSED,
            f"the account does not allow cluster {name}; nothing was changed:{listed}\n"
            f"  To build it anyway, write in the stack file: acknowledge: {{{ACCOUNT}: WHY}}",
        )
