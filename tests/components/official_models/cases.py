"""What the clouds' models judge: every custom resource of every stack and of stacks with other options."""

from typing import Any

from sandbox.values import Asset, Unknown
from tools.golden.cases import Body, bodies

__all__ = ["Body", "bodies", "content"]


def content(value: Any) -> Any:
    """Return a value in the form of JSON: the text of a file, or its path, instead of the file."""
    if isinstance(value, Asset):
        return value.text if value.text is not None else str(value.path)
    assert not isinstance(value, Unknown), "an update knows every input"
    return value
