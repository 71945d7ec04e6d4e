"""Changes to the user's own files: the one place that is meant, and the file whole or not at all."""

import os
from pathlib import Path

import yaml


def write_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write the file whole or not at all, with its mode; None: as the system gives it to a new file."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        if mode is not None:
            partial.chmod(mode)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def node_at(node: yaml.Node | None, *keys: str) -> yaml.Node | None:
    """Return the node below these keys, or None."""
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for name, value in node.value if name.value == key), None)
    return node
