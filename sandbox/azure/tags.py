"""Tags (Resource Manager, "Use tags to organize your Azure resources": limitations)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud import Tagging
from sandbox.shapes import Failure
from sandbox.values import UNKNOWN

LIMIT = 50
_FORBIDDEN = re.compile(r"[<>%&\\?/]")


def _check(tags: Mapping[str, Any]) -> Iterator[Failure]:
    if len(tags) > LIMIT:
        yield Failure("tags", f"{len(tags)} tags; at most {LIMIT}")
    for key, value in tags.items():
        if _FORBIDDEN.search(key):
            yield Failure(f"tags.{key}", "a key has none of < > % & \\ ? /")
        if key.lower().startswith(("microsoft", "azure", "windows")):
            yield Failure(f"tags.{key}", "keys that begin with microsoft, azure or windows are reserved")
        if not 1 <= len(key) <= 512 or (value not in (UNKNOWN, None) and len(value) > 256):
            yield Failure(f"tags.{key}", "a key has 1 to 512 characters, a value at most 256")


TAGGING = Tagging("tags", {}, (), _check)
