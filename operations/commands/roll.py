"""`mullion roll`: replace the machines of one pool, wave by wave, without a change of the stack file.

The engine is told to replace them, so gates, drains and waves are those of any roll. What is left to do is remembered
until it is done: a roll that was cut off goes on with the machines that are still the old ones.
"""

import json
import sys
from pathlib import Path
from typing import Any

from operations.clouds import cloud_tables
from operations.commands import up_and_down
from operations.console.exits import Exit, Stop
from operations.engine.state import State
from operations.stacks import stack_files, target


def roll(name: str, pool: str, machine: str | None, *, sandbox: bool, yes: bool) -> None:
    """Replace a pool's machines, or one of them. Stop where the stack has no such pool or machine."""
    there = stack_files.load(name).spec.pools
    if pool not in there:
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {', '.join(there) or 'none'}")
    left = _Left(name, f"{pool}/{machine}" if machine else pool)

    def chosen(state: State) -> list[str]:
        old = left.of(_instances(state, name, pool, machine))
        if not old:
            raise Stop(Exit.USAGE, f"stack {name} has no machine {machine or 'of pool ' + pool} yet; mullion up {name}")
        return old

    try:
        up_and_down.up(name, sandbox=sandbox, yes=yes, replaced=chosen)
    except Stop as end:
        if end.code is Exit.REFUSED and left.begun:  # nothing of it was done: the next one is a whole one again
            left.done()
        raise
    left.done()


def _instances(state: State, name: str, pool: str, machine: str | None) -> dict[str, str]:
    """Ids of a pool's instances, or of one of them, by URN."""
    cloud, found = cloud_tables.of(state), dict[str, str]()
    for each in filter(cloud.is_machine, state):
        same = machine is None or each["urn"].endswith(f"::{name}-{machine}")
        if same and cloud.tag(each.get("inputs", {}), "pool") == pool:
            # a resource's own id may be a name, which its successor has again
            found[each["urn"]] = str(each.get("id", "") if cloud.instance == "id" else each["outputs"][cloud.instance])
    return found


class _Left:
    """What is left of a roll: the ids that its machines had when it began."""

    def __init__(self, stack: str, what: str) -> None:
        self._stack, self._what, self.begun = stack, what, False
        self._file: Path = target.folder(stack) / "rolls.json"

    def of(self, instances: dict[str, str]) -> list[str]:
        """The machines that are still the old ones; those of a roll that was cut off, if there was one."""
        rolls = self._rolls()
        old = {urn for urn, now in instances.items() if rolls.get(self._what, {}).get(urn) == now}
        if old:
            print(
                f"mullion: going on with the roll of {self._what}: {len(old)} of {len(instances)} left", file=sys.stderr
            )
            return sorted(old)
        self.begun = True
        self._write({**rolls, self._what: instances})
        return sorted(instances)

    def done(self) -> None:
        """Forget the roll."""
        self._write({what: ids for what, ids in self._rolls().items() if what != self._what})

    def _rolls(self) -> dict[str, dict[str, str]]:
        """Ids by URN, by what is rolled; Stop where the file is damaged."""
        try:
            found: Any = json.loads(self._file.read_text("utf-8"))
            return {what: dict(ids) for what, ids in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise Stop(
                Exit.REFUSED,
                f"{self._file} cannot be read ({error}), so what is left of a roll that was cut off is not known. "
                "Remove the file, and the roll begins anew with all machines",
            ) from None

    def _write(self, rolls: dict[str, dict[str, str]]) -> None:
        if rolls:
            target.write(self._file, json.dumps(rolls))
        else:
            self._file.unlink(missing_ok=True)
