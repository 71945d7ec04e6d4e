"""`mullion sandbox`: plan faults, change resources outside of Pulumi, show what blocks machines."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.engine.workspace import prepare
from operations.stacks import boot_site, stack_files, target
from operations.stacks.target import cloud_state_file
from sandbox import clouds, faults, interruptions, tamper
from sandbox.cloud_state import CloudState
from sandbox.faults import KINDS
from sandbox.records import Record


@contextmanager
def opened(stack: str) -> Iterator[CloudState]:
    """Yield the cloud state of a stack's sandbox. Raises Stop if there is none yet."""
    file = cloud_state_file(stack)
    if not file.exists():
        raise Stop(Exit.USAGE, f"stack {stack} has no sandbox yet; run: mullion up {stack} --sandbox")
    with closing(CloudState(file)) as cloud_state:
        yield cloud_state


@contextmanager
def created(stack: str) -> Iterator[CloudState]:
    """Yield the cloud state of a stack's sandbox; create the sandbox if there is none."""
    prepare(target.sandbox_folder(stack))
    with closing(CloudState(cloud_state_file(stack))) as cloud_state:
        yield cloud_state


def plan(stack: str, wanted: dict[str, tuple[int, float]], kind_of: str | None, times: int) -> None:
    """Plan faults. wanted: kind -> number of the call, amount. Raises Stop if it is empty or a type is unknown."""
    if not wanted:
        raise Stop(
            Exit.USAGE, "choose a fault: --fail N, --throttle N, --die-before N, --die-after N, --slow S, --late S"
        )
    with opened(stack) as cloud_state:
        types = _types(cloud_state)
        short = {token.rsplit(":", 1)[-1] for token in types}
        if kind_of is not None and kind_of not in short and kind_of not in types:
            raise Stop(Exit.USAGE, f"the sandbox has no type {kind_of!r}; it has: {', '.join(sorted(short))}")
        for kind, (nth, amount) in wanted.items():
            try:
                faults.plan(cloud_state, kind, nth, type=kind_of, amount=amount, times=times)
            except ValueError as error:
                raise Stop(Exit.USAGE, str(error)) from None
    show(stack)


def _types(cloud_state: CloudState) -> list[str]:
    """Return the type tokens of the sandbox's cloud; of all clouds if the sandbox is empty."""
    first = next(iter(cloud_state.resources()), None)
    candidates = [clouds.of_type(first.type)] if first else [clouds.of(name) for name in clouds.CLOUDS]
    return [token for cloud in candidates for token in cloud.types]


def show(stack: str) -> None:
    """Print the planned faults."""
    with opened(stack) as cloud_state:
        waiting = faults.planned(cloud_state)
    if not waiting:
        print(f"no fault is planned in the sandbox of {stack}")
        return
    rows = [
        [fault.kind, str(fault.nth), fault.type or "any", f"{fault.amount:g}", str(fault.times)] for fault in waiting
    ]
    print(table(["fault", "at call", "type", "amount", "times"], rows))
    print("\n".join(f"{kind}: {KINDS[kind]}" for kind in dict.fromkeys(fault.kind for fault in waiting)))


def clear(stack: str) -> None:
    """Delete the planned faults."""
    with opened(stack) as cloud_state:
        faults.clear(cloud_state)
    show(stack)


def change(stack: str, name: str, settings: Sequence[str]) -> None:
    """Change a resource outside of Pulumi. settings: PROPERTY=VALUE, with the value as JSON or plain text."""
    changes = dict(_setting(setting) for setting in settings)
    with opened(stack) as cloud_state:
        record = _find(cloud_state, stack, name)
        wrong = [*_unchangeable(record, changes), *_misshapen(record, changes)]
        if wrong:
            raise Stop(Exit.USAGE, "\n".join([f"{_named(record)} was not changed:", *wrong]))
        tamper.change(cloud_state, record, changes)
    print(f"changed {_named(record)}: {', '.join(settings)}")


def remove(stack: str, name: str) -> None:
    """Delete a resource outside of Pulumi."""
    with opened(stack) as cloud_state:
        record = _find(cloud_state, stack, name)
        tamper.remove(cloud_state, record)
    print(f"removed {_named(record)}")


def interrupt(stack: str, name: str, seconds: float | None) -> None:
    """Announce to a spot machine that the cloud takes it back, and delete it after `seconds`.

    None: after the time that the cloud gives, or at once if the sandbox does not boot the machine.
    """
    cloud = stack_files.load(stack).spec.cloud
    with opened(stack) as cloud_state:
        machines = cloud_state.resources(cloud_tables.CLOUDS[cloud.value].machine)
        record = next((each for each in machines if each.name in (name, f"{stack}-{name}")), None)
        if record is None or not interruptions.is_spot(record):
            spot = ", ".join(each.name for each in machines if interruptions.is_spot(each)) or "none"
            raise Stop(Exit.USAGE, f"{name} is no machine with spot capacity (pools.<pool>.spot); those are: {spot}")
        if seconds is None:
            seconds = cloud.facts.spot_notice_seconds if boot_site.api(stack) else 0
        interruptions.announce(cloud_state, record, time.time() + seconds)
        print(f"{_named(record)} was told that it ends in {seconds:g} s", flush=True)
        time.sleep(seconds)
        tamper.remove(cloud_state, record)
        interruptions.withdraw(cloud_state, record)
    print(f"{_named(record)} no longer exists; {target.command('up', stack)} creates it again")


def boots(stack: str) -> None:
    """Print the boot progress of each machine, and what blocks it."""
    with opened(stack) as cloud_state:
        rows = [[boot.machine or "?", boot.instance, boot.state, boot.at, boot.reason] for boot in cloud_state.boots()]
    print(table(["machine", "instance", "state", "since", "blocked by"], rows))


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise Stop(Exit.USAGE, f"{text!r} is not PROPERTY=VALUE, such as instanceType=m6i.xlarge or tags.owner=me")
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value


def _find(cloud_state: CloudState, stack: str, name: str) -> Record:
    """Return the resource with this logical name or id, or TYPE/NAME; the prefix STACK- may be left out.

    Raises Stop if there is none, or if several types have the name.
    """
    found = _with_name(cloud_state, name) or _with_name(cloud_state, f"{stack}-{name}")
    if "/" in name and not found:
        found = _with_name(cloud_state, name.replace("/", f"/{stack}-", 1))
    if len(found) == 1:
        return found[0]
    if not found:
        raise Stop(Exit.USAGE, f"there is no {name!r} in the sandbox; `mullion up` prints all names")
    raise Stop(Exit.USAGE, f"{name!r} names several resources; say which: {', '.join(map(_named, found))}")


def _with_name(cloud_state: CloudState, name: str) -> list[Record]:
    return [record for record in cloud_state.resources() if name in (record.name, record.id, _named(record))]


def _named(record: Record) -> str:
    return f"{record.type.rsplit(':', 1)[-1]}/{record.name}"


def _unchangeable(record: Record, changes: dict[str, Any]) -> list[str]:
    """Return a line for each property that the cloud cannot change in place."""
    immutable = clouds.of_type(record.type).types[record.type].immutable
    tops = [path.split(".")[0] for path in changes]
    return [f"{top} cannot be changed in place; remove the resource instead" for top in tops if top in immutable]


def _misshapen(record: Record, changes: dict[str, Any]) -> list[str]:
    inputs = tamper.changed(record, changes).inputs
    changed = {path.split(".")[0] for path in changes}
    failures = clouds.of_type(record.type).shapes.check(record.type, inputs)
    return [
        f"{each.property}: {each.reason}" for each in failures if each.property.split(".")[0].split("[")[0] in changed
    ]
