"""Recovery after an interrupted run: deletes dead locks and resolves unfinished creations.

The engine would create those resources a second time. Mullion looks each up in the cloud, adds existing ones to the
state and drops the others, which the next run creates.
"""

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine import locks, state_key
from operations.engine.process import EngineCommand
from operations.engine.workspace import Run, backend, existing, export
from operations.recovery import state_check
from operations.recovery.lookup import Lookup, Resource, given, is_tagged

BEGUN = ("creating", "importing")
"""Kinds of pending operations after which the cloud may have a resource that the state lacks. After other kinds
(updating, deleting, reading) the state still has the resource, and the next run repeats the operation."""


MASKED = "[secret]"
"""Placeholder for a secret, or its ciphertext, in the engine's events. In a state it would make the engine read every
secret as null, without an error."""


def ready(
    name: str, workspace: auto.LocalWorkspace, lookup: Lookup | None, *, removal: bool = False
) -> tuple[Run | None, dict[str, Any]]:
    """Return a stack, ready for the next run, and its exported state. Prints what was recovered.

    lookup: None for a real account. removal: the run creates nothing, so creations without a recorded result do not
    hinder it; they stay in the state. Returns None and an empty state if there is no stack yet. Raises Stop if the user
    must act first, or if the stack file names another key for the state than the state has.
    """
    for lock in locks.cancel_dead(name, backend()):
        _say(f"deleted the lock of a run that has ended ({lock})")
    run = existing(name, workspace)
    exported = export(run) if run else {"deployment": {}}
    if lookup is None:
        state_key.refuse_other(name, exported["deployment"])
    if run is None or (removal and lookup is None):
        return run, exported
    return run, _recovered(run, exported, lookup)


def _recovered(run: auto.Stack, exported: dict[str, Any], lookup: Lookup | None) -> dict[str, Any]:
    deployment = exported["deployment"]
    asked = unknown(deployment)
    if asked and lookup is None:
        raise Stop(Exit.REFUSED, by_hand(run.name, asked))
    adopted: list[Resource] = []
    if lookup:
        deployment["resources"] = deployment.get("resources") or []
        adopted = adopt(deployment["resources"], asked, lookup)
        state_check.keep(run.name, deployment["resources"])
    pending = deployment.pop("pending_operations", None) or []
    for each in pending:
        if each["resource"] not in adopted:
            _say(f"{each['type']} {named(each['resource'])} was interrupted; the next run repeats it if still needed")
    if pending:
        write(run, exported)
    return exported


def settle(run: auto.Stack, failed: list[auto.StepEventMetadata], lookup: Lookup) -> None:
    """After a failed run, add resources to the state that the cloud created nevertheless.

    If a provider ends without an answer, the engine treats the creation as failed and does not record it.
    """
    asked = unanswered(failed)
    if not asked:
        return
    exported = export(run)
    if adopt(exported["deployment"]["resources"], asked, lookup):
        write(run, exported)


def unanswered(failed: list[auto.StepEventMetadata]) -> list[Resource]:
    """Return the resources whose creation failed, in the form of a state, without secrets."""
    return [
        {
            "urn": step.urn,
            "type": step.type,
            "custom": True,
            "parent": step.new.parent,
            "provider": step.provider,
            "inputs": {name: value for name, value in (step.new.inputs or {}).items() if not _masked(value)},
        }
        for step in failed
        if step.op.value.startswith("create") and step.new
    ]


def _masked(value: Any) -> bool:
    """Return whether a value, or any part of it, is masked."""
    if isinstance(value, dict):
        return any(map(_masked, value.values()))
    return any(map(_masked, value)) if isinstance(value, list) else value == MASKED


def unknown(deployment: Mapping[str, Any]) -> list[Resource]:
    """Return the resources whose creation has no recorded result."""
    pending = deployment.get("pending_operations") or []
    begun = [each["resource"] for each in pending if each["type"] in BEGUN]
    return [each for each in begun if not each["type"].startswith(state_check.BUILT_IN)]


def adopt(resources: list[dict[str, Any]], asked: list[Resource], lookup: Lookup) -> list[Resource]:
    """Add to a state's resources those of `asked` that the cloud has, and return them."""
    adopted: list[Resource] = []
    for creation in asked:
        older = [at for at, one in enumerate(resources) if one["urn"] == creation["urn"] and not one.get("delete")]
        # deleted before its replacement was created; the replacement may have the same name, and so the same id
        gone = {at for at in older if resources[at].get("pendingReplacement")}
        alike = (one for at, one in enumerate(resources) if one["type"] == creation["type"] and at not in gone)
        found = lookup(creation, {one["id"] for one in alike if "id" in one})
        if found is None:
            continue
        place = older[0] if older else len(resources)
        for at in reversed(older):
            if at in gone:
                del resources[at]
            else:
                resources[at]["delete"] = True  # being replaced: the engine deletes it at the end of the next run
        # before the older one, because later resources depend on the URN
        entry = {**creation, "id": found.id, "inputs": found.inputs, "outputs": found.outputs}
        resources.insert(place, entry)
        adopted.append(creation)
        _say(f"added to the state a resource that an interrupted run had created: {named(creation)} {found.id}")
    return adopted


def by_hand(stack: str, asked: list[Resource]) -> str:
    """Return a message: how to look up each creation in a real account, and how to tell the engine the result."""
    lines = [
        f"a run of stack {stack} was interrupted while creating {len(asked)} resources. Whether they exist is not",
        "recorded, and Mullion cannot query a real account yet. Please search for each:",
    ]
    lines += _searches(stack, asked)
    lines += [
        f"If none of the others exists: pulumi refresh --stack {stack} --clear-pending-creates",
        "Then run this again. Without these steps, existing resources would be created twice; nothing was changed",
    ]
    return "\n".join(lines)


def by_hand_after_removal(stack: str, asked: list[Resource]) -> str:
    """Return a message: everything in the state is deleted, and the result of these creations is unknown."""
    lines = [
        f"all resources in the state of {stack} are deleted. A run was interrupted while creating {len(asked)} others;",
        "whether they exist is not recorded. Please search for each:",
        *_searches(stack, asked),
        f"If none of the others exists: pulumi refresh --stack {stack} --clear-pending-creates",
        "Then run this again; it removes what you imported",
    ]
    return "\n".join(lines)


def _searches(stack: str, asked: list[Resource]) -> list[str]:
    lines = list[str]()
    for creation in asked:
        lines += [f"  {named(creation)}", f"    search:     {_look(creation)}"]
        lines += [
            f"    if found:   pulumi refresh --stack {stack} --import-pending-creates {shlex.quote(creation['urn'])} ID"
        ]
    return lines


def _look(resource: Resource) -> str:
    if is_tagged(resource):
        return cloud_tables.of_type(resource["type"]).search_for(resource)
    return "it has no tags; its properties: " + ", ".join(f"{name} {value}" for name, value in given(resource).items())


def named(resource: Resource) -> str:
    """Return a resource's name and type for a message."""
    return f"{resource['urn'].rpartition('::')[2]} ({resource['type']})"


def write(run: auto.Stack, exported: dict[str, Any]) -> None:
    """Import a changed state through standard input, never a file: looked-up secrets are in plain text in it."""
    command = run.workspace.pulumi_command
    assert isinstance(command, EngineCommand)  # noqa: S101 - workspace.opened sets no other
    command.run(["stack", "import", "--stack", run.name], run.workspace.work_dir, {}, given=json.dumps(exported))


def _say(line: str) -> None:
    print(f"mullion: {line}", file=sys.stderr, flush=True)
