"""`mullion repair`: watch the workers, and replace those that stay not ready.

The engine replaces them as `mullion roll` does, with gates and drains. A machine that still boots is given its time.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from components.plan import ClusterPlan, plan_cluster
from components.rollout.gates import BOOT_SECONDS
from components.spec.quantities import duration_seconds
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, roll, up_and_down, wait
from operations.commands.wait import MachineReport
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.stacks import stack_files, target


def repair(name: str, after: str, *, sandbox: bool, yes: bool) -> None:
    """Watch the machines for `after` (90s, 10m), then replace the workers that are not ready.

    Raises Stop if the control plane is not ready, if most workers of a pool are not (a fault of something that they
    share is more likely), or if a new machine is not ready.
    """
    try:
        seconds = duration_seconds(after)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"--after {error}") from error
    if not sandbox:
        kubeconfig.refuse_unbuilt(name)
    plan = plan_cluster(name, stack_files.load(name).spec)
    with kubeconfig.built(name) as run:
        ages = _ages(state.resources(run))
    reports = wait.watch(name, seconds)
    _refuse_control_plane(name, reports)
    lost = [each for each in reports if each.gone]
    broken = lost or [each for each in reports if is_broken(each, ages, plan)]
    for each in reports:
        if each.problem and each not in broken:
            print(f"not repaired: {each.expected.name}: {each.problem}", file=sys.stderr)
    if not broken:
        print(f"{name}: no worker has to be replaced")
        return
    _refuse_most(name, plan, broken)
    for line in wait.problems(broken):
        print(f"to be replaced: {line}")
    machines = sorted(each.expected.name for each in broken)
    gone = up_and_down.up(
        name, sandbox=sandbox, yes=yes, replaced=lambda resources: state.machine_urns(resources, name, machines)
    )
    roll.check(name, machines, gone)
    if lost and len(lost) < len(wait.problems(reports)):
        print(f"Other machines are not ready: run {target.command('repair', name)} again")


def is_broken(report: MachineReport, ages: Mapping[str, float], plan: ClusterPlan) -> bool:
    """Return whether a worker has to be replaced. ages: seconds since each machine was created, by name.

    Not broken: a machine that may still boot, and one that only has another version of Kubernetes.
    """
    machine = report.expected
    if not report.problem or report.only_agent:
        return False
    version = report.record.get("kubernetes")
    if report.state in machine.enough and version not in (None, machine.kubernetes):
        return False
    family = next(group.family for group in plan.machine_groups if group.name == _pool(plan, machine.name))
    return report.gone or ages.get(machine.name, 0.0) >= BOOT_SECONDS[family]


def _pool(plan: ClusterPlan, machine: str) -> str:
    return next(group.name for group in plan.machine_groups if machine in [each.name for each in group.machines])


def _refuse_control_plane(name: str, reports: Iterable[MachineReport]) -> None:
    """Raise Stop if a machine of the control plane is not ready: then no worker may be judged by its Node."""
    ill = [each for each in reports if each.expected.control_plane and not each.only_agent]
    if missing := wait.problems(ill):
        way = target.command("replace-control-plane", name)
        head = f"no worker is replaced while the control plane is not ready ({way} replaces one of its machines):"
        raise Stop(Exit.REFUSED, "\n".join([head, *missing]))


def _refuse_most(name: str, plan: ClusterPlan, broken: list[MachineReport]) -> None:
    """Raise Stop if more than half of a pool's workers, and more than one, are broken."""
    counts = Counter(_pool(plan, each.expected.name) for each in broken)
    sizes = {group.name: len(group.machines) for group in plan.machine_groups}
    for pool, count in counts.items():
        if count > max(1, sizes[pool] // 2):
            head = (
                f"{count} of {sizes[pool]} machines of pool {pool} are not ready. A fault that they share is more "
                f"likely than as many broken machines: look for it first ({target.command('logs', name)} MACHINE). "
                f"To replace them anyway: {target.command('roll', name)} {pool} --machine MACHINE"
            )
            raise Stop(Exit.REFUSED, "\n".join([head, *wait.problems(broken)]))


def _ages(resources: state.State) -> dict[str, float]:
    """Return the seconds since each machine was created, by name; a machine whose state has no time is left out."""
    cloud, now, ages = cloud_tables.of(resources), time.time(), dict[str, float]()
    for resource in filter(cloud.is_machine, resources):
        cluster = cloud.tag(resource.get("outputs", {}), "cluster")
        if created := state.created(resource):
            ages[resource["urn"].rpartition("::")[2].removeprefix(f"{cluster}-")] = now - created.timestamp()
    return ages
