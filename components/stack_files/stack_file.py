"""The `config:` part of a stack file, read without Pulumi."""

from pathlib import Path
from typing import Any, cast

import yaml

from components.spec.form import FORMS
from components.spec.report import Problem, SpecError
from components.spec.wording import shown

MOST = 100_000
"""Values of a file with aliases written out; nobody writes as many by hand."""


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
        node: Any = cast(Any, loader).get_single_node()
        count = _written_out(node, {})
        if count > MOST:
            raise SpecError(path.name, [FORMS["yaml-too-large"].problem(path.name, count=f"{count:.3g}", limit=MOST)])
        document: Any = cast(Any, loader).construct_document(node) if node else None
    except RecursionError as failure:
        raise SpecError(path.name, [FORMS["yaml-too-deep"].problem(path.name)]) from failure
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


def _written_out(node: Any, counted: dict[int, int]) -> int:
    """How many values a node makes once its aliases are copies; each node is visited once, so this is quick."""
    if id(node) not in counted:
        counted[id(node)] = 1  # for an alias that holds itself
        inside: list[Any] = node.value if isinstance(node, yaml.CollectionNode) else []
        each: list[Any] = []
        for item in inside:
            each += cast(list[Any], item) if isinstance(item, tuple) else [item]
        counted[id(node)] = min(1 + sum(_written_out(part, counted) for part in each), 10**18)
    return counted[id(node)]
