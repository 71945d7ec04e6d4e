"""After a run that was cut off: dead locks, and creations of which the engine does not know how they ended.

The engine would make those a second time. So each is looked up in the cloud first: what is there is taken into the
state, the rest is forgotten, and the next run makes it.
"""

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine import locks
from operations.engine.process import EngineCommand
from operations.engine.workspace import Run, backend, existing
from operations.recovery import state_check
from operations.recovery.lookup import Lookup, Resource, given, is_tagged

BEGUN = ("creating", "importing")
"""Kinds of pending operations after which the cloud may have a thing that the state has not. After others (updating,
deleting, reading) the state still has it, and the next run does the same again."""


MASKED = "[secret]"
"""What the engine's events show in the place of a secret, also of its ciphertext. Brought back into a state as such, it
makes the engine take every secret there for null, without a word."""


def ready(name: str, workspace: auto.LocalWorkspace, lookup: Lookup | None) -> tuple[Run | None, dict[str, Any]]:
    """Return a stack that the next run can take, and its state as `export` gives it; say what was cleared up.

    None, and an empty state, where there is no stack yet. Stop where a person has to do something first.
    """
    for lock in locks.cancel_dead(name, backend()):
        _say(f"cancelled the lock of a run that is gone ({lock})")
    run = existing(name, workspace)
    return run, _recovered(run, lookup) if run else {"deployment": {}}


def _recovered(run: auto.Stack, lookup: Lookup | None) -> dict[str, Any]:
    exported = export(run)
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
            _say(f"{each['type']} {named(each['resource'])} was cut off; it is done again where it is still wanted")
    if pending:
        write(run, exported)
    return exported


def settle(run: auto.Stack, failed: list[auto.StepEventMetadata], lookup: Lookup) -> None:
    """After a run that failed: take over what the cloud made all the same.

    Where a provider ends without an answer, the engine takes the creation for not done, and forgets it.
    """
    asked = unanswered(failed)
    if not asked:
        return
    exported = export(run)
    if adopt(exported["deployment"]["resources"], asked, lookup):
        write(run, exported)


def unanswered(failed: list[auto.StepEventMetadata]) -> list[Resource]:
    """Return the resources whose creation failed, as a state would hold them, but for their secrets."""
    return [
        {
            "urn": each.urn,
            "type": each.type,
            "custom": True,
            "parent": each.new.parent,
            "provider": each.provider,
            "inputs": {name: value for name, value in (each.new.inputs or {}).items() if not _masked(value)},
        }
        for each in failed
        if each.op.value.startswith("create") and each.new
    ]


def _masked(value: Any) -> bool:
    """Whether a value, or any part of it, is not shown."""
    if isinstance(value, dict):
        return any(map(_masked, value.values()))
    return any(map(_masked, value)) if isinstance(value, list) else value == MASKED


def export(run: auto.Stack) -> dict[str, Any]:
    """Return a stack's state as the engine exports it, secrets encrypted (the Automation API's export opens them)."""
    words = ["stack", "export", "--stack", run.name]
    return json.loads(run.workspace.pulumi_command.run(words, run.workspace.work_dir, {}).stdout)


def unknown(deployment: Mapping[str, Any]) -> list[Resource]:
    """Return the resources that a cloud was asked for, with no answer recorded."""
    pending = deployment.get("pending_operations") or []
    begun = [each["resource"] for each in pending if each["type"] in BEGUN]
    return [each for each in begun if not each["type"].startswith(state_check.BUILT_IN)]


def adopt(resources: list[dict[str, Any]], asked: list[Resource], lookup: Lookup) -> list[Resource]:
    """Put into a state's resources those that were asked for and that the cloud has; return these."""
    adopted: list[Resource] = []
    for each in asked:
        older = [at for at, one in enumerate(resources) if one["urn"] == each["urn"] and not one.get("delete")]
        # deleted before its replacement came, which this is, and which may have its name, and so its id
        gone = {at for at in older if resources[at].get("pendingReplacement")}
        alike = (one for at, one in enumerate(resources) if one["type"] == each["type"] and at not in gone)
        found = lookup(each, {one["id"] for one in alike if "id" in one})
        if found is None:
            continue
        place = older[0] if older else len(resources)
        for at in reversed(older):
            if at in gone:
                del resources[at]
            else:
                resources[at]["delete"] = True  # being replaced: the engine removes it at the end of the next run
        # before the older one, because others that come after depend on the URN
        entry = {**each, "id": found.id, "inputs": found.inputs, "outputs": found.outputs}
        resources.insert(place, entry)
        adopted.append(each)
        _say(f"found what the run that was cut off had made, and took it over: {named(each)} {found.id}")
    return adopted


def by_hand(stack: str, asked: list[Resource]) -> str:
    """Say how a person finds out about each creation in a real account, and tells the engine."""
    lines = [
        f"a run of stack {stack} was cut off while creating {len(asked)} resources. Whether they exist is not",
        "recorded, and Mullion cannot look into a real account yet. Please look for each:",
    ]
    for each in asked:
        lines += [f"  {named(each)}", f"    look:       {_look(each)}"]
        lines += [
            f"    is there:   pulumi refresh --stack {stack} --import-pending-creates {shlex.quote(each['urn'])} ID"
        ]
    lines += [
        f"When none of the rest is there: pulumi refresh --stack {stack} --clear-pending-creates",
        "Then run this again. Without that, what is there would be made a second time; nothing was changed",
    ]
    return "\n".join(lines)


def _look(resource: Resource) -> str:
    if is_tagged(resource):
        cloud = cloud_tables.of_type(resource["type"])
        return cloud.search.format(shlex.quote(cloud.tag_of(resource["urn"])))
    return "it takes no tags; it was to have " + ", ".join(f"{name} {value}" for name, value in given(resource).items())


def named(resource: Resource) -> str:
    """Return a resource's name and type, as people know it."""
    return f"{resource['urn'].rpartition('::')[2]} ({resource['type']})"


def write(run: auto.Stack, exported: dict[str, Any]) -> None:
    """Give the engine a changed state, by no file: secrets that were looked up are plain in it."""
    command = run.workspace.pulumi_command
    assert isinstance(command, EngineCommand)  # noqa: S101 - the only kind there is (workspace.opened)
    command.run(["stack", "import", "--stack", run.name], run.workspace.work_dir, {}, given=json.dumps(exported))


def _say(line: str) -> None:
    print(f"mullion: {line}", file=sys.stderr, flush=True)
