"""What a kind of step is: its fields with their JSON types, what it does, and where power can go while it does it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Type = dict[str, Any]
"""A JSON schema (draft 2020-12) of one value, made of the keywords that components/node/kinds/check.py judges."""

BOTH = ("linux", "windows")


class OnChange(str, Enum):
    """What a change means for machines that already run."""

    REPLACE = "replace"
    """Workers are made anew, wave by wave."""
    AGENT = "agent"
    """The control-plane agent reconciles it in the running cluster."""
    NEW_NODES = "new_nodes"
    """Only machines made from now on take it."""


class Cut(str, Enum):
    """Places where power can go. After each, the next run makes the step true."""

    BEFORE_SET = "before-set"
    """The test said no; nothing is written yet."""
    DURING_DOWNLOAD = "during-download"
    """Some bytes have come, others not; the file beside the target is not whole."""
    DURING_UNPACK = "during-unpack"
    """Some files of the archive are in the target, others not."""
    BEFORE_RENAME = "before-rename"
    """The new file lies whole beside the target, not yet under its name."""
    HALF_SET = "half-set"
    """The first of the places or programs that the kind needs is done, the next is not."""
    AFTER_SET = "after-set"
    """All is written; the step is neither tested again nor recorded."""


@dataclass(frozen=True)
class Field:
    """One field of a kind."""

    type: Type
    meaning: str
    required: bool = True
    on_change: OnChange | None = None
    """None: as the kind."""
    systems: tuple[str, ...] = BOTH


@dataclass(frozen=True)
class When:
    """Fields have these types besides their own when another field has the value; None: when it is not there."""

    field: str
    value: str | None
    types: dict[str, Type]


@dataclass(frozen=True)
class Kind:
    """One kind of step."""

    meaning: str
    fields: dict[str, Field]
    compares: str
    """What the test looks at."""
    sets: str
    """What it does when the test says no."""
    undo: str = "nothing"
    """What of an earlier state it takes away."""
    cuts: tuple[Cut, ...] = (Cut.BEFORE_SET, Cut.AFTER_SET)
    systems: tuple[str, ...] = BOTH
    on_change: OnChange = OnChange.REPLACE
    """Of fields that say nothing else, and of the step as such."""
    image: bool = True
    """Whether an image may hold it: not what belongs to one machine or is secret."""
    seconds: int = 120
    """One try may take so long unless the step says timeout_seconds."""
    whens: tuple[When, ...] = field(default=())
