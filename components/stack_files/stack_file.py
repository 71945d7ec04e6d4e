"""Reading the `config:` part of a stack file, without Pulumi."""

from pathlib import Path
from typing import Any, cast

import yaml

from components.spec.form import FORMS
from components.spec.report import Problem, SpecError
from components.spec.wording import shown

ENCRYPTION = ("encryptionsalt", "encryptedkey", "secretsprovider")
"""Keys of a stack file that the engine writes: encryption of this stack's values."""
MOST = 100_000
"""Most values of a file, counted with aliases written out."""


class _Loader(yaml.SafeLoader):
    """A safe loader that records keys written twice; YAML would silently take the last one."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.doubles: list[Problem] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = getattr(key_node, "value", None)
            if isinstance(key, str) and key in seen and key != "<<":
                line = key_node.start_mark.line + 1
                self.doubles.append(FORMS["duplicate-key"].problem(f"line {line}", key=key, line=line))
            seen.add(key if isinstance(key, str) else id(key_node))
        return super().construct_mapping(node, deep)


def stack_file_config(path: Path) -> dict[str, Any]:
    """Return the file's configuration for `read_stack`: full keys -> values.

    Raises SpecError with the line if the YAML is wrong, and OSError if the file cannot be read.
    """
    content = path.read_bytes()
    try:
        loader = _Loader(content)
        node: Any = cast(Any, loader).get_single_node()
        count = _written_out(node, {})
        if count > MOST:
            raise SpecError(path.name, [FORMS["yaml-too-large"].problem(path.name, count=f"{count:.3g}", limit=MOST)])
        document: Any = cast(Any, loader).construct_document(node) if node else None
    except RecursionError as failure:
        raise SpecError(path.name, [FORMS["yaml-too-deep"].problem(path.name)]) from failure
    except (yaml.YAMLError, ValueError) as failure:  # ValueError: a date that does not exist
        mark = getattr(failure, "problem_mark", None)
        what, line = getattr(failure, "problem", None) or str(failure), mark.line + 1 if mark else 1
        raise SpecError(path.name, [FORMS["yaml-syntax"].problem(path.name, what=what, line=line)]) from failure
    if loader.doubles:
        raise SpecError(path.name, loader.doubles)
    keys = [str(key) for key in cast(dict[Any, Any], document)] if isinstance(document, dict) else []
    if others := [key for key in keys if key not in ("config", *ENCRYPTION)]:
        # `environment` imports settings of Pulumi ESC: credentials, variables and options of the providers
        row, known = FORMS["stack-file-key"], ", ".join(ENCRYPTION)
        raise SpecError(path.name, [row.problem(key, key=key, known=known) for key in others])
    config: Any = cast(dict[str, Any], document).get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        wrong = FORMS["wrong-type"].problem("config", value=shown(config), expected="config: with keys below it")
        raise SpecError(path.name, [wrong])
    return {str(key): value for key, value in cast(dict[Any, Any], config).items()}


def _written_out(node: Any, counted: dict[int, int]) -> int:
    """Return how many values a node has with its aliases written out. Visits each node once."""
    if id(node) not in counted:
        counted[id(node)] = 1  # for an alias that contains itself
        inside: list[Any] = node.value if isinstance(node, yaml.CollectionNode) else []
        parts: list[Any] = []
        for item in inside:
            parts += cast(list[Any], item) if isinstance(item, tuple) else [item]
        counted[id(node)] = min(1 + sum(_written_out(part, counted) for part in parts), 10**18)
    return counted[id(node)]
