"""Tags: limits of all services (50 tags, keys of 128 and values of 256 characters), and of some services besides."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud import Refusal, Request, Rule, Tagging
from sandbox.shapes import Failure
from sandbox.values import UNKNOWN

_LETTERS = re.compile(r"[\w\s.:/=+\-@]*")


def tag_rule(code: str, limit: int = 50) -> Rule:
    """Return a rule that allows only letters, digits, spaces and _.:/=+-@ (IAM, S3, load balancers; EC2 allows
    anything).
    """

    def rule(request: Request) -> None:
        tags = {**request.place.default_tags_of(request.inputs), **(request.inputs.get("tags") or {})}
        if len(tags) > limit:
            raise Refusal("BadRequest", f"Object tags cannot be greater than {limit}; these are {len(tags)}")
        for key, value in tags.items():
            if not _LETTERS.fullmatch(key) or not _LETTERS.fullmatch(value):
                raise Refusal(code, f"The tag {key} has characters other than letters, digits, spaces and _.:/=+-@")

    return rule


def _check(tags: Mapping[str, Any]) -> Iterator[Failure]:
    if len(tags) > 50:
        yield Failure("tags", f"{len(tags)} tags; at most 50")
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            yield Failure(f"tags.{key}", "keys that begin with aws: are reserved")
        if not 1 <= len(key) <= 128 or (value is not UNKNOWN and value is not None and len(value) > 256):
            yield Failure(f"tags.{key}", "a key has 1 to 128 characters, a value at most 256")


TAGGING = Tagging("tags", {"tagsAll": {}}, ("defaultTags", "tags"), _check)
