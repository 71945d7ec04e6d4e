"""Stacks that `mullion run` creates for one run: their files are deleted with their clusters."""

import json
import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import yaml

from components.checks.api import ON_PRIVATE
from components.spec import expiry
from components.spec.report import SpecError
from components.spec.wording import shown
from components.stack_files.stack import CLUSTER, Stack, read_stack
from operations.console.exits import Exit, Stop
from operations.stacks import stack_files, target

PID = "run.pid"
"""File in a stack's folder with the process id of its `mullion run`; ci/remove.sh waits for that process."""
_LETTERS = "bcdfghjklmnpqrstvwxz23456789"
"""Letters and digits of the random end of a name; without vowels, so they form no words."""
_HEAD = "# Written by `mullion run` from {template} for one run; deleted with its cluster.\n"


def _memory(name: str) -> Any:
    return target.folder(name) / "run.json"


def is_made(name: str) -> bool:
    """Return whether `mullion run` created this stack in this clone."""
    return bool(target.STACK_NAME.fullmatch(name)) and _memory(name).is_file()


def names() -> list[str]:
    """Return the stacks of this clone that `mullion run` created and that still exist."""
    return sorted(path.parent.name for path in target.root().glob("*/run.json"))


def ends(name: str) -> datetime | None:
    """Return the expiry in the file of a run's stack; None if the file has none or cannot be read."""
    try:
        cluster = stack_files.written(name).get(CLUSTER)
    except (Stop, SpecError):
        return None
    return expiry.moment(str(cluster.get("expires"))) if isinstance(cluster, dict) else None


def new_name(template: str) -> str:
    """Return a name for a run without --name: the template's, shortened, and six random letters."""
    return f"{template[:19].rstrip('-')}-{''.join(secrets.choice(_LETTERS) for _ in range(6))}"


def document(template: str, settings: Sequence[str], expires: str) -> dict[str, Any]:
    """Return the stack file of a run: the template's without its encryption keys, with these settings and expiry.

    settings: PATH=VALUE or PATH+=LIST below mullion:cluster; the value is YAML. Raises Stop if one is malformed.
    """
    whole = yaml.safe_load(stack_files.copied(template, "a run needs a template without them"))
    cluster = whole["config"].get(CLUSTER)
    if isinstance(cluster, dict):
        for setting in settings:
            _set(cluster, setting)
        cluster["expires"] = expires
    return whole


def _set(cluster: dict[str, Any], setting: str) -> None:
    path, equals, text = setting.partition("=")
    longer = path.endswith("+")
    keys = path.removesuffix("+").split(".")
    if not equals or not all(keys):
        raise Stop(Exit.USAGE, f"--set {setting} is not PATH=VALUE, such as pools.web.count=2 (mullion explain)")
    if keys == ["expires"]:
        raise Stop(Exit.USAGE, f"--set {setting}: the expiry of a run is --ttl; write --ttl 2h")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Stop(
            Exit.USAGE, f"--set {setting}: the value is not YAML ({str(error).splitlines()[0]}); quote it"
        ) from None
    pools = cluster.get("pools")
    if keys[0] == "pools" and len(keys) > 2 and isinstance(pools, dict) and keys[1] not in pools:
        raise Stop(
            Exit.USAGE,
            f"--set {setting}: the template has no pool {keys[1]}, and a part of an option makes none. Its pools:"
            f" {', '.join(map(str, pools))} (in pipelines the option `pool` names the Windows pool). Write a new pool"
            f' whole: --set "pools.{keys[1]}={{os: windows-2022, count: 1}}"',
        )
    at = cluster
    for count, key in enumerate(keys[:-1], 1):
        at = at.setdefault(key, {})
        if not isinstance(at, dict):
            where = ".".join(keys[:count])
            raise Stop(Exit.USAGE, f"--set {setting}: {where} is {shown(at)}, which has no {keys[count]}")
    if longer:
        listed = at.get(keys[-1], [])
        if not isinstance(listed, list) or not isinstance(value, list):
            raise Stop(Exit.USAGE, f"--set {setting}: += appends a list to a list; write PATH=VALUE for other options")
        value = [*listed, *value]
    at[keys[-1]] = value


def read(name: str, whole: Mapping[str, Any], settings: Sequence[str]) -> Stack:
    """Read the stack of a run. Raises SpecError; says before that what a pipeline with a private template writes."""
    try:
        return read_stack(name, whole["config"])
    except SpecError as error:
        private = ON_PRIVATE in {each.id for each in error.problems}
        if private and any(each.startswith("api.allow") for each in settings):
            print(
                f"mullion: the API of {name} is private, and pipelines add their runner's public address to api.allow:"
                " write allow_runner: false (GitLab CI: ALLOW_RUNNER, Azure Pipelines: allowRunner)",
                file=sys.stderr,
            )
        raise


def write(name: str, template: str, whole: Mapping[str, Any]) -> None:
    """Write the stack file of a run, and record that `mullion run` created it. Raises Stop if the file exists."""
    path = stack_files.folder() / f"Pulumi.{name}.yaml"
    text = _HEAD.format(template=template) + yaml.safe_dump(dict(whole), sort_keys=False)
    try:
        with path.open("x", encoding="utf-8") as file:
            target.write(_memory(name), json.dumps({"template": template}) + "\n")
            target.write(target.folder(name) / PID, f"{os.getpid()}\n")
            file.write(text)
    except FileExistsError:
        raise Stop(Exit.REFUSED, taken(name, f"stacks/{path.name} exists")) from None


def taken(name: str, why: str) -> str:
    """Return the message that a name is in use."""
    return f"{why}, so a run cannot be called {name}; nothing was changed. Choose another --name, or leave it out"


def forget(name: str, *, sandbox_too: bool = True) -> None:
    """Delete all files of a stack that `mullion run` created: stack file, kubeconfig, sandbox."""
    if not is_made(name):
        return
    (stack_files.folder() / f"Pulumi.{name}.yaml").unlink(missing_ok=True)
    if sandbox_too:
        shutil.rmtree(target.sandbox_folder(name), ignore_errors=True)
    shutil.rmtree(target.folder(name), ignore_errors=True)
