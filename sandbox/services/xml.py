"""XML in the format of S3 and EC2, from nested values: a dict is a set of elements, a list repeats one element."""

from typing import Any
from xml.sax.saxutils import escape

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def document(root: str, values: dict[str, Any], namespace: str = "") -> bytes:
    """Return a whole document. namespace: XML namespace of the root element."""
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
