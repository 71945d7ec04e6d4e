"""The `config:` part of a stack file, read without Pulumi."""

from pathlib import Path
from typing import Any, cast

import yaml

from components.spec.explain import shown
from components.spec.form import FORMS
from components.spec.report import Problem, SpecError


class _Loader(yaml.SafeLoader):
    """Safe loading that remembers keys which stand twice; plain YAML lets the last one win in silence."""

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
    """Full keys to plain values, as `read_stack` takes them. SpecError with the line where YAML is wrong.

    OSError when the file cannot be read.
    """
    content = path.read_bytes()
    try:
        loader = _Loader(content)
        document: Any = loader.get_single_data()
    except (yaml.YAMLError, ValueError) as failure:  # ValueError: a date that is none
        mark = getattr(failure, "problem_mark", None)
        what, line = getattr(failure, "problem", None) or str(failure), mark.line + 1 if mark else 1
        raise SpecError(path.name, [FORMS["yaml-syntax"].problem(path.name, what=what, line=line)]) from failure
    if loader.doubles:
        raise SpecError(path.name, loader.doubles)
    config: Any = cast(dict[str, Any], document).get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        wrong = FORMS["wrong-type"].problem("config", value=shown(config), expected="config: with keys below it")
        raise SpecError(path.name, [wrong])
    return {str(key): value for key, value in cast(dict[Any, Any], config).items()}
