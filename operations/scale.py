"""`mullion scale`: change one number in the user's stack file, and nothing else in it."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from components.plan import plan_cluster
from components.spec.stack import CLUSTER, read_stack, stack_file_config
from operations import plan as planning
from operations import runs, stacks, worlds
from operations.against import compare, from_plan
from operations.editing import node_at, write_whole
from operations.exits import Exit, Stop


def scale(name: str, pool: str, count: int, *, sandbox: bool, yes: bool) -> None:
    """Set a pool's number of machines in the stack file, say what it changes, and make it so.

    The file stays as it was where the spec that results has errors, and where the engine's run does not begin.
    """
    path = stacks.file(name)
    original, mode, began = path.read_bytes(), path.stat().st_mode, worlds.began(name)
    change = _edit(name, pool, count, path)
    try:
        for kind in ("added", "removed"):
            print(f"{kind + ':':<9}{', '.join(change[kind]) or 'none'}")
        runs.up(name, sandbox=sandbox, yes=yes)
    except BaseException:
        if worlds.began(name) == began:
            write_whole(path, original, mode)
            print(f"mullion: nothing was started; {path.name} is as it was", file=sys.stderr)
        else:
            print(f"mullion: {path.name} keeps count {count}; `mullion up {name}` goes on", file=sys.stderr)
        raise


def _edit(name: str, pool: str, count: int, path: Path) -> dict[str, Any]:
    """Change the file, once what results has no errors. Return what `plan --against` would say."""
    before = stacks.load(name)
    if pool not in before.spec.pools:
        there = ", ".join(before.spec.pools) or "none"
        raise Stop(Exit.USAGE, f"stack {name} has no pool {pool!r}; its pools: {there}")
    content = path.read_bytes()
    edited = with_count(content.decode(), pool, count, path).encode()
    with tempfile.TemporaryDirectory() as scratch:
        tried = Path(scratch) / path.name
        tried.write_bytes(edited)
        after = read_stack(name, stack_file_config(tried))
    old, new = (planning.document(each, plan_cluster(name, each.spec)) for each in (before, after))
    if edited != content:
        write_whole(path, edited, path.stat().st_mode)
    return compare(new, from_plan(old))


def with_count(text: str, pool: str, count: int, path: Path) -> str:
    """Return the stack file's text with another count of one pool; every other character as it was."""
    node = node_at(yaml.compose(text, Loader=yaml.SafeLoader), "config", CLUSTER, "pools", pool)
    if not isinstance(node, yaml.MappingNode):
        raise Stop(Exit.USAGE, f"{path.name}: pool {pool} cannot be edited in place; set its count by hand")
    value = node_at(node, "count")
    if value is None:
        raise Stop(Exit.USAGE, f"{path.name}: pool {pool} has no count; add to it: count: {count}")
    # An alias or a merge would change another place: the value must stand inside the pool itself.
    inside = node.start_mark.index <= value.start_mark.index and value.end_mark.index <= node.end_mark.index
    if not isinstance(value, yaml.ScalarNode) or not inside:
        raise Stop(Exit.USAGE, f"{path.name}: the count of pool {pool} is no plain number; set it by hand")
    return text[: value.start_mark.index] + str(count) + text[value.end_mark.index :]
