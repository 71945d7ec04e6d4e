"""Descriptions of options: the docstrings below the fields of a model.

They are read from the source when somebody asks for them. pydantic's `use_attribute_docstrings` reads them whenever the
classes are imported, which took a tenth of the time of `mullion plan`.
"""

import ast
import inspect
import sys
from functools import cache

from pydantic import BaseModel


@cache
def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return field -> docstring, also of fields that the model has from its base classes.

    Raises OSError if the source of the model's module is missing.
    """
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found.update(_of_module(base.__module__)[base.__name__])
    return found


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Return class -> field -> docstring."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {each.name: dict(_of_class(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _of_class(definition: ast.ClassDef) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found.append((name, inspect.cleandoc(words)))
            case _:
                pass
    return found
