"""Changes one value in the stack file and applies it to the cluster: `mullion scale` and `mullion upgrade`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, Stack, read_stack, stack_file_config
from operations.commands import plan as planning
from operations.commands import up_and_down
from operations.commands.plan_against import compare, from_plan
from operations.console.command_line import continued_by, to_continue
from operations.console.exits import Exit, Stop
from operations.stacks import boot_overlay, stack_files, target
from operations.stacks.edit import node_at, text_of, write_whole

Keys = tuple[str, ...]
"""Keys of a value below mullion:cluster."""


def change(
    before: Stack,
    keys: Keys,
    value: str,
    heading: str = "",
    *,
    sandbox: bool,
    yes: bool,
    ask: Callable[[], None] = lambda: None,
) -> None:
    """Write a value (as YAML) to the stack file, print the heading and the machines that change, and run `up`.

    If the new spec has errors, or the engine's run does not begin, the file is restored. ask: called before the file
    is written, with a spec that has no errors; raises Stop if the cluster must not change.
    """
    name = before.name
    path = stack_files.file(name)
    original, mode, began = path.read_bytes(), path.stat().st_mode, target.began(name)
    edited, difference = _judged(before, keys, value, path)
    ask()
    if edited != original:
        write_whole(path, edited, mode)
    try:
        if heading:
            print(heading)
        for kind in ("added", "removed", "replaced"):
            if difference[kind] or kind != "replaced":
                print(f"{kind + ':':<10}{', '.join(difference[kind]) or 'none'}")
        same = to_continue()  # before the run begins: the file is restored then
        with continued_by(lambda: same if target.began(name) == began else target.command("up", name)):
            up_and_down.up(name, sandbox=sandbox, yes=yes)
    except BaseException:
        if target.began(name) == began:
            write_whole(path, original, mode)
            print(f"mullion: nothing was started; {path.name} is restored", file=sys.stderr)
        else:
            print(
                f"mullion: {path.name} keeps {keys[-1]} {value}; `{target.command('up', name)}` continues",
                file=sys.stderr,
            )
        raise


def _judged(before: Stack, keys: Keys, value: str, path: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the stack file with the new value, and the result of `plan_against.compare`.

    Raises SpecError if the new spec has errors.
    """
    edited = with_value(text_of(path), keys, value, path).encode()
    with tempfile.TemporaryDirectory() as scratch:
        tried = Path(scratch) / path.name
        tried.write_bytes(edited)
        after = read_stack(before.name, boot_overlay.over(before.name, stack_file_config(tried)))
    old, new = (planning.document(each, plan_cluster(each.name, each.spec)) for each in (before, after))
    return edited, compare(new, from_plan(old))


def with_value(text: str, keys: Keys, value: str, path: Path) -> str:
    """Return the stack file's text with only this value changed. Raises Stop if it cannot be edited in place."""
    where, last = ".".join(keys), keys[-1]
    node = node_at(yaml.compose(text, Loader=yaml.SafeLoader), "config", CLUSTER, *keys[:-1])
    if not isinstance(node, yaml.MappingNode):
        raise Stop(Exit.USAGE, f"{path.name}: {where} cannot be edited in place; set it by hand to {value}")
    found = node_at(node, last)
    if found is None:
        raise Stop(Exit.USAGE, f"{path.name}: there is no {where}; add {last}: {value}")
    # with an alias or a merge key, the edit would change another place: the value must be inside its own mapping
    inside = node.start_mark.index <= found.start_mark.index and found.end_mark.index <= node.end_mark.index
    if not isinstance(found, yaml.ScalarNode) or not inside:
        raise Stop(Exit.USAGE, f"{path.name}: {where} is not a plain value; set it by hand to {value}")
    return text[: found.start_mark.index] + value + text[found.end_mark.index :]
