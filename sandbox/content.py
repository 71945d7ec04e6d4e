"""Content of objects that a program puts into a store."""

import base64
from pathlib import Path
from typing import Any

from sandbox.cloud import Refusal
from sandbox.values import Asset


def content(inputs: dict[str, Any]) -> bytes:
    """Return the bytes of an object, from text, base64, or a file. Raises Refusal if the file does not exist."""
    source = inputs.get("source")
    if isinstance(source, Asset):
        if source.text is not None:
            return source.text.encode()
        if source.path is None or not Path(source.path).is_file():
            raise Refusal("InvalidRequest", f"The sandbox takes objects from texts and files; no file {source.path}")
        return Path(source.path).read_bytes()
    if inputs.get("contentBase64"):
        return base64.b64decode(inputs["contentBase64"])
    return inputs.get("content", "").encode()
