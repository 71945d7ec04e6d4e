"""`mullion extend`: move the expiry of a temporary cluster."""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from pulumi import automation as auto

from components.plan import plan_cluster
from components.spec import expiry
from components.spec.quantities import duration_seconds
from components.stack_files.stack import Stack
from operations.commands import plan_against, stack_change
from operations.commands.kubeconfig import built
from operations.commands.plan import document
from operations.console.exits import Exit, Stop
from operations.engine import clusters, failures, locate, workspace
from operations.recovery import recovery
from operations.stacks import stack_files, target

MOST_SECONDS = 366 * 86400
"""Longest duration, a year: a longer one probably has the wrong unit."""


def extend(name: str, duration: str, *, sandbox: bool, yes: bool) -> None:
    """Move the expiry by a duration (30m, 2h), from now if it has passed: in the stack file, then by `up`.

    A missing stack file is written anew from the backend. Raises Stop if the cluster has no expiry, or one that cannot
    be read, or if `up` would change anything else.
    """
    later = timedelta(seconds=seconds("the duration", duration))
    missing = target.STACK_NAME.fullmatch(name) and name not in stack_files.names()
    if missing and not sandbox and workspace.has_backend():
        _restore(name)
    stack = stack_files.load(name)
    with built(name) as run:
        deployment = recovery.export(run)["deployment"]
    facts = clusters.read(name, "", deployment)
    if facts is None or facts.unreadable:
        raise Stop(Exit.REFUSED, f"{name}: {facts.unreadable if facts else 'it has no resources'}; nothing was changed")
    if facts.expires is None:
        raise Stop(Exit.REFUSED, f"{name} does not expire, so there is nothing to extend; nothing was changed")
    if others := list(_others(stack, deployment.get("resources") or [])):
        lines = [f"{name}: `up` would change more than the expiry, so nothing was changed:", *others]
        fix = f"make these changes first (`{target.command('up', name)}`), or remove them from the stack file"
        raise Stop(Exit.REFUSED, "\n  ".join(lines) + f"\n{fix}")
    expire(name, max(facts.expires, expiry.now()) + later, sandbox=sandbox, yes=yes)


def _restore(name: str) -> None:
    """Write the stack file as the last finished `up` read it: on the runner that had it, it is lost. Raises Stop if the
    backend has no such stack, or no finished `up` of it.
    """
    path = stack_files.folder() / f"Pulumi.{name}.yaml"
    with workspace.opened(name, locate.find(), sandbox=False) as space, failures.reported(name):
        try:
            space.pulumi_command.run(["config", "refresh", "--stack", name], space.work_dir, {})
        except auto.CommandError as error:
            raise Stop(
                Exit.USAGE,
                f"there is no stacks/{path.name}, and the backend does not give it: {failures.reason(error)}."
                " Copy the file from the clone that built the cluster, or from the artifacts of its run",
            ) from None
    print(f"mullion: wrote stacks/{path.name} as the last `up` of {name} read it", file=sys.stderr, flush=True)


def _others(stack: Stack, resources: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each change by `up` other than the expiry: options, machines, the control plane's bundle."""
    earlier = plan_against.from_state(resources, f"state of {stack.name}")
    difference = plan_against.compare(document(stack, plan_cluster(stack.name, stack.spec)), earlier)
    if difference["options"] is None:
        yield "the options of the built cluster are unknown: another version of Mullion wrote the state"
    for option in difference["options"] or ():
        if option["path"] != "expires":
            yield f"{option['path']}: {option.get('built', 'none')} -> {option.get('now', 'none')}"
    for kind in ("added", "removed", "replaced"):
        if difference[kind]:
            yield f"machines {kind}: {', '.join(difference[kind])}"
    if difference["control_plane"]:
        yield "the control plane gets another bundle"


def expire(name: str, at: datetime, *, sandbox: bool, yes: bool) -> None:
    """Write an expiry to the stack file, and bring it into the state and the tags with `up`."""
    text = expiry.written(at)
    stack = stack_files.load(name)
    stack_change.change(stack, ("expires",), f'"{text}"', f"{name} expires at {text}", sandbox=sandbox, yes=yes)


def seconds(what: str, duration: str) -> int:
    """Return a duration (90s, 30m, 2h, 3d) in seconds. Raises Stop if it is malformed, zero or longer than a year."""
    try:
        found = duration_seconds(duration)
    except ValueError as error:
        raise Stop(Exit.USAGE, f"{what}: {error}") from None
    if not 0 < found <= MOST_SECONDS:
        raise Stop(Exit.USAGE, f"{what}: {duration} is not between 1s and 366d; write 30m, 2h or 3d")
    return found
