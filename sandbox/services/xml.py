"""XML as S3 and EC2 write it, from nested values: a dict is elements, a list is the same element again."""

from typing import Any
from xml.sax.saxutils import escape

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def document(root: str, values: dict[str, Any], namespace: str = "") -> bytes:
    """A whole document; namespace is that of the root."""
    start = f'{root} xmlns="{namespace}"' if namespace else root
    return f"{HEAD}<{start}>{_inside(values)}</{root}>".encode()


def _inside(values: dict[str, Any]) -> str:
    found: list[str] = []
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            text = _inside(each) if isinstance(each, dict) else _text(each)
            found.append(f"<{name}>{text}</{name}>")
    return "".join(found)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else escape(str(value))
