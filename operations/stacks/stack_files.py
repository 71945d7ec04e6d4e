"""Stacks of this clone: `stacks/Pulumi.<name>.yaml`, one file each."""

import difflib
import re
from pathlib import Path
from typing import Any

import yaml

from components.stack_files.stack import Stack, read_stack, stack_file_config
from components.stack_files.stack_file import ENCRYPTION
from operations.console.exits import Exit, Stop
from operations.stacks import boot_overlay, target
from operations.stacks.paths import REPOSITORY

_OF_ONE_STACK = re.compile(rf"^({'|'.join(ENCRYPTION)}):.*\n?", re.MULTILINE)
"""Lines with the encryption keys of one stack."""

_FILE = re.compile(r"Pulumi\.(.+)\.yaml")


def folder() -> Path:
    """Return the folder of the stack files: `stackConfigDir` of Pulumi.yaml."""
    return REPOSITORY / "stacks"


def names() -> list[str]:
    """Return the names of all stacks."""
    return sorted(match[1] for each in folder().glob("Pulumi.*.yaml") if (match := _FILE.fullmatch(each.name)))


def file(name: str) -> Path:
    """Return the file of a stack. Raises Stop with the most similar name and all others if there is none."""
    # a name becomes part of a path only if it is in the list, so `../x` leads nowhere
    known = names()
    if name in known:
        return folder() / f"Pulumi.{name}.yaml"
    of_file = _FILE.fullmatch(Path(name).name)  # the user wrote the file instead of the name
    near = [of_file[1]] if of_file and of_file[1] in known else difflib.get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]}?" if near else "."
    form = (
        ""
        if (of_file and near) or target.STACK_NAME.fullmatch(name)
        else f" A stack's name is made of {target.NAME_RULE}."
    )
    new = f"mullion new {name if target.STACK_NAME.fullmatch(name) else 'NAME'} --cloud aws"
    there = f"Stacks here: {', '.join(known)}." if known else "There are no stacks here."
    raise Stop(Exit.USAGE, f"there is no stack {name!r}{meant}{form} {there} To write a new one: {new}")


def gone(name: str) -> bool:
    """Return whether a stack's file is deleted but the stack is still built, so `down` can remove it."""
    return name not in names() and bool(target.STACK_NAME.fullmatch(name)) and target.recall(name) is not None


def config(name: str) -> dict[str, Any]:
    """Return the configuration of a stack, plain values by full key; empty if its file is deleted."""
    return {} if gone(name) else boot_overlay.over(name, written(name))


def written(name: str) -> dict[str, Any]:
    """Return the configuration in a stack's file, without the bootable overlay."""
    return stack_file_config(file(name))


def secrets_provider(name: str) -> str:
    """Return `secretsprovider` of a stack file; empty if the backend's default applies."""
    return _of_engine(name, "secretsprovider")


def encrypted_key(name: str) -> str:
    """Return `encryptedkey` of a stack file: the state's data key, encrypted by the provider; empty without one."""
    return _of_engine(name, "encryptedkey")


def _of_engine(name: str, key: str) -> str:
    whole = yaml.safe_load(file(name).read_bytes())
    return str(whole.get(key) or "") if isinstance(whole, dict) else ""


def load(name: str) -> Stack:
    """Return a stack for planning. Raises Stop if there is none, SpecError with all its errors."""
    return read_stack(name, boot_overlay.over(name, written(name)))


def copied(source: str, instead: str) -> str:
    """Return the text of a stack's file without what belongs to that stack alone.

    Raises Stop if it has encrypted values, which only that stack can decrypt. instead: advice in that message.
    """
    path = file(source)
    stack_file_config(path)
    text = _OF_ONE_STACK.sub("", path.read_text("utf-8"))
    secrets = [
        key for key, value in yaml.safe_load(text)["config"].items() if isinstance(value, dict) and "secure" in value
    ]
    if secrets:
        raise Stop(
            Exit.USAGE,
            f"{path.name} contains encrypted values ({', '.join(secrets)}), which only stack {source} can decrypt; "
            + instead,
        )
    return text
