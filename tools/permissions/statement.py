"""Statement of a policy of IAM."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Statement:
    """A statement. takes: patterns of its actions. resources: ARNs. condition: in IAM's form."""

    sid: str
    takes: tuple[str, ...]
    resources: tuple[str, ...] = ("*",)
    condition: dict[str, Any] = field(default_factory=dict[str, Any])
