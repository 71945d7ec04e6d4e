"""Edits of the user's files: only the given value changes, and a file is written whole or not at all."""

import os
from pathlib import Path

import yaml

from operations.console.exits import Exit, Stop


def write_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file whole or not at all. mode: its permissions, or None for the system's default."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        if mode is not None:
            partial.chmod(mode)
        partial.replace(path)
    except OSError as error:
        if error.errno:
            error.filename = str(path)  # a failed write names no file, other calls name the temporary file
        raise
    finally:
        partial.unlink(missing_ok=True)


def text_of(path: Path) -> str:
    """Return the text of a file that is edited in place. Raises Stop if it is not UTF-8; YAML may also be UTF-16."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise Stop(Exit.USAGE, f"{path} is not UTF-8 ({error}), so it cannot be edited; save it as UTF-8") from None


def node_at(node: yaml.Node | None, *keys: str) -> yaml.Node | None:
    """Return the node below these keys, or None."""
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for name, value in node.value if name.value == key), None)
    return node
