"""Labels: their rules (Resource Manager, "Labels overview"), and the properties that the provider writes them to."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud import Tagging
from sandbox.shapes import Failure
from sandbox.values import UNKNOWN

LIMIT = 64
_KEY, _VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")


def _check(labels: Mapping[str, Any]) -> Iterator[Failure]:
    if len(labels) > LIMIT:
        yield Failure("labels", f"{len(labels)} labels; at most {LIMIT}")
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            yield Failure(f"labels.{key}", "a key has 1 to 63 lower-case letters, digits, _ and -, a letter first")
        if value not in (UNKNOWN, None) and not _VALUE.fullmatch(value):
            yield Failure(f"labels.{key}", "a value has at most 63 lower-case letters, digits, _ and -")


TAGGING = Tagging(
    "labels",
    {"pulumiLabels": {}, "effectiveLabels": {"goog-pulumi-provisioned": "true"}},
    ("defaultLabels",),
    _check,
)
