"""What services say about tags that pass the checks of all."""

import re

from sandbox.cloud import Refusal, Request, Rule

_LETTERS = re.compile(r"[\w\s.:/=+\-@]*")


def tag_rule(code: str, limit: int = 50) -> Rule:
    """Keys and values of letters, digits, spaces and _.:/=+-@ only (IAM, S3, load balancers; EC2 takes anything)."""

    def rule(request: Request) -> None:
        tags = {**request.place.default_tags, **(request.inputs.get("tags") or {})}
        if len(tags) > limit:
            raise Refusal("BadRequest", f"Object tags cannot be greater than {limit}; these are {len(tags)}")
        for key, value in tags.items():
            if not _LETTERS.fullmatch(key) or not _LETTERS.fullmatch(value):
                raise Refusal(code, f"The tag {key} has characters other than letters, digits, spaces and _.:/=+-@")

    return rule
