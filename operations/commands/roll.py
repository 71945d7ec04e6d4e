"""`mullion roll`: replace the machines of one pool, wave by wave, without a change of the stack file.

The engine replaces them with the usual gates, drains and waves. A file lists the remaining machines until the roll is
complete: after an interruption, the same command continues with them.
"""

import json
import sys
from pathlib import Path
from typing import Any

from components.rollout import gates
from operations.clouds import cloud_tables
from operations.commands import kubeconfig, up_and_down, wait
from operations.console.command_line import continued_by
from operations.console.exits import Exit, Stop
from operations.engine import pauses, state
from operations.engine.state import State
from operations.stacks import stack_files, target

SETTLE_SECONDS = 60.0
"""Longest wait for the new Nodes after `up`; its gates have already waited for the machines."""
BOOT_SECONDS = max(gates.BOOT_SECONDS.values())
"""Longest wait if the cloud no longer had some of the machines: their successors are plain creations, without gates."""


def roll(name: str, pool: str, machine: str | None, *, sandbox: bool, yes: bool) -> None:
    """Replace a pool's machines, or one of them. Raises Stop if one is unknown, or if a new machine is not ready."""
    pools = stack_files.load(name).spec.pools
    if pool not in pools:
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {', '.join(pools) or 'none'}")
    if not sandbox:
        kubeconfig.refuse_unbuilt(name)
    flag = " --sandbox" if sandbox else ""
    remaining = _Remaining(name, f"{pool}/{machine}" if machine else pool)
    chosen: list[str] = []

    def choose(resources: State) -> list[str]:
        chosen[:] = remaining.of(_instances(resources, name, pool, machine))
        if not chosen:
            built = sorted(_machine(name, urn) for urn in _instances(resources, name, pool, None))
            if machine and built:
                raise Stop(Exit.USAGE, f"pool {pool} has no machine {machine}; its machines: {', '.join(built)}")
            raise Stop(Exit.USAGE, f"stack {name} has no machine of pool {pool} yet; mullion up {name}{flag}")
        return chosen

    try:
        gone = up_and_down.up(name, sandbox=sandbox, yes=yes, replaced=choose)
    except Stop as end:
        if end.code in (Exit.REFUSED, Exit.LOCKED) and remaining.begun:
            remaining.forget()  # nothing was replaced: the next roll starts from the beginning
        if end.code is Exit.FAILED and chosen:
            raise Stop(end.code, f"{end}\n{_progress(name, pool, machine, remaining, chosen)}") from None
        raise
    remaining.forget()
    check(name, [_machine(name, urn) for urn in chosen], gone)


def pause(name: str) -> None:
    """Ask the run in progress to stop before the next worker. Raises Stop if no run of this clone is in progress."""
    stack_files.file(name)
    if not pauses.ask(name):
        raise Stop(Exit.REFUSED, f"no run of {name} is in progress in this clone, so there is nothing to pause")
    print(f"{name}: the run in progress finishes the workers that it has begun, and deletes no more. To go on then:")
    print(f"  {target.command('roll', name, '--resume')}")


def resume(name: str, *, sandbox: bool, yes: bool) -> None:
    """Run `up`, and replace the remaining machines of all unfinished rolls.

    Raises Stop if a new machine is not ready.
    """
    stack_files.file(name)
    if not sandbox:
        kubeconfig.refuse_unbuilt(name)
    chosen: list[str] = []

    def choose(resources: State) -> list[str]:
        for what in unfinished:
            pool, _, machine = what.partition("/")
            chosen.extend(_Remaining(name, what).old(_instances(resources, name, pool, machine or None)))
        chosen[:] = sorted(set(chosen))
        return chosen

    unfinished = _Remaining(name, "").all()
    print(
        f"mullion: unfinished rolls: {', '.join(unfinished) or 'none'}; `up` makes the other changes",
        file=sys.stderr,
    )
    gone = up_and_down.up(name, sandbox=sandbox, yes=yes, replaced=choose)
    for what in unfinished:
        _Remaining(name, what).forget()
    if chosen:
        check(name, [_machine(name, urn) for urn in chosen], gone)


def check(name: str, machines: list[str], gone: list[str]) -> None:
    """Print that the new machines are ready. Raises Stop with the reason for each that is not.

    gone: URNs of machines that the cloud no longer had before the run.
    """
    with continued_by(lambda: target.command("wait", name)):  # the roll is complete: it would replace all of them again
        reports = wait.watch(name, BOOT_SECONDS if gone else SETTLE_SECONDS, only=machines)
    if missing := wait.problems(reports):
        head = f"{', '.join(machines)} replaced, but {len(missing)} of {len(machines)} not ready:"
        raise Stop(Exit.FAILED, "\n".join([head, *missing, f"`mullion wait {name}` waits for the rest"]))
    print(f"{name}: {', '.join(machines)} replaced and ready")


def _progress(name: str, pool: str, machine: str | None, remaining: "_Remaining", chosen: list[str]) -> str:
    """Return a line that says which machines a stopped roll has replaced, and which are left."""
    try:
        with kubeconfig.built(name) as run:
            instances = _instances(state.resources(run), name, pool, machine)
    except Stop as error:
        return f"which machines were replaced is unknown: {error}"
    old = remaining.old(instances)
    groups = {
        "replaced": [urn for urn in chosen if urn in instances and urn not in old],
        "deleted and not created yet": [urn for urn in chosen if urn not in instances],
        "not replaced": [urn for urn in chosen if urn in old],
    }
    lines = [f"{group}: {', '.join(_machine(name, urn) for urn in urns)}" for group, urns in groups.items() if urns]
    return "; ".join([*lines, "run the same command to continue"])


def _machine(name: str, urn: str) -> str:
    return urn.rpartition("::")[2].removeprefix(f"{name}-")


def _instances(resources: State, name: str, pool: str, machine: str | None) -> dict[str, str]:
    """Return the ids of a pool's instances, or of one of them, by URN."""
    cloud, ids = cloud_tables.of(resources), dict[str, str]()
    for resource in filter(cloud.is_machine, resources):
        same = machine is None or resource["urn"].endswith(f"::{name}-{machine}")
        if same and cloud.tag(resource.get("inputs", {}), "pool") == pool:
            # a resource's id may be a name, which its replacement has again
            own = cloud.instance == "id"
            ids[resource["urn"]] = str(resource.get("id", "") if own else resource["outputs"][cloud.instance])
    return ids


class _Remaining:
    """The machines that a roll still has to replace, by a file with the instance ids of the time it began."""

    def __init__(self, stack: str, what: str) -> None:
        self._stack, self._what, self.begun = stack, what, False
        self._file: Path = target.folder(stack) / "rolls.json"

    def of(self, instances: dict[str, str]) -> list[str]:
        """Return the URNs of the machines to replace: those an interrupted roll left, else all. ids by URN."""
        old = self.old(instances)
        if old:
            print(f"mullion: continuing the roll of {self._what}: {len(old)} of {len(instances)} left", file=sys.stderr)
            return sorted(old)
        self.begun = True
        self._write({**self._rolls(), self._what: instances})
        return sorted(instances)

    def old(self, instances: dict[str, str]) -> set[str]:
        """Return the URNs of the machines that are the same instances as when the roll began. ids by URN."""
        ids = self._rolls().get(self._what, {})
        return {urn for urn, instance in instances.items() if ids.get(urn) == instance}

    def all(self) -> list[str]:
        """Return all unfinished rolls of the stack, by pool or by pool and machine."""
        return sorted(self._rolls())

    def forget(self) -> None:
        """Remove the roll from the file."""
        self._write({what: ids for what, ids in self._rolls().items() if what != self._what})

    def _rolls(self) -> dict[str, dict[str, str]]:
        """Return the unfinished rolls: by pool or machine, instance ids by URN. Raises Stop if the file is damaged."""
        try:
            content: Any = json.loads(self._file.read_text("utf-8"))
            return {what: dict(ids) for what, ids in content.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise Stop(
                Exit.REFUSED,
                f"{self._file} cannot be read ({error}), so the machines that an interrupted roll left are unknown. "
                "Remove the file to start the roll again with all machines",
            ) from None

    def _write(self, rolls: dict[str, dict[str, str]]) -> None:
        if rolls:
            target.write(self._file, json.dumps(rolls))
        else:
            self._file.unlink(missing_ok=True)
