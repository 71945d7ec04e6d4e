"""Model of a kind of step: its fields with JSON types, what it does, and where a power failure can interrupt it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Type = dict[str, Any]
"""A JSON schema (draft 2020-12) of one value, with only the keywords that components/node/kinds/check.py implements."""

BOTH = ("linux", "windows")


class OnChange(str, Enum):
    """Effect of a change on running machines."""

    REPLACE = "replace"
    """Workers are replaced, wave by wave."""
    AGENT = "agent"
    """The control-plane agent applies the change in the running cluster."""
    NEW_NODES = "new_nodes"
    """Only new machines get the change."""


class Cut(str, Enum):
    """Points where a power failure can interrupt a step. After each of them the next run completes the step."""

    BEFORE_SET = "before-set"
    """The test failed; nothing is written yet."""
    DURING_DOWNLOAD = "during-download"
    """Part of the file is downloaded; the file beside the target is incomplete."""
    DURING_UNPACK = "during-unpack"
    """Some files of the archive are in the target, others are not."""
    BEFORE_RENAME = "before-rename"
    """The new file is complete beside the target, but not yet renamed."""
    HALF_SET = "half-set"
    """The first of several places is written, or the first of several programs has run; the next is not."""
    AFTER_SET = "after-set"
    """Everything is written; the step is neither tested again nor recorded."""


@dataclass(frozen=True)
class Field:
    """One field of a kind."""

    type: Type
    meaning: str
    required: bool = True
    on_change: OnChange | None = None
    """Effect of a change of this field; None: the kind's."""
    systems: tuple[str, ...] = BOTH


@dataclass(frozen=True)
class When:
    """Additional types of fields if another field has the value, or if it is absent (None)."""

    field: str
    value: str | bool | None
    types: dict[str, Type]


@dataclass(frozen=True)
class Kind:
    """One kind of step."""

    meaning: str
    fields: dict[str, Field]
    compares: str
    """What the test compares."""
    sets: str
    """What the step does if the test fails."""
    undo: str = "nothing"
    """What it removes of an earlier state."""
    cuts: tuple[Cut, ...] = (Cut.BEFORE_SET, Cut.AFTER_SET)
    systems: tuple[str, ...] = BOTH
    on_change: OnChange = OnChange.REPLACE
    """Effect of a change of the step, and of fields without on_change."""
    image: bool = True
    """Whether an image may contain it; false if it belongs to one machine or is secret."""
    seconds: int = 120
    """Time limit of one attempt in seconds, unless the step has timeout_seconds."""
    whens: tuple[When, ...] = field(default=())
