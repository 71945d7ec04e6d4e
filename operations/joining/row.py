"""A result of a check of an existing cluster, and the commands that mend it."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from components.rollout.plain_text import plain


class State(str, Enum):
    """What a check found."""

    OK = "ok"
    MEND = "mend"
    """The row's commands mend it."""
    REFUSED = "refused"
    """No command can mend it; the row says why."""
    UNKNOWN = "unknown"
    """The API does not show it; the row says where to look."""


@dataclass(frozen=True)
class Command:
    """A kubectl command."""

    words: tuple[str, ...]
    manifest: Mapping[str, Any] | None = None
    """Object for its standard input."""

    @property
    def text(self) -> str:
        """Return the command for a shell, without control characters of names that the API gave."""
        line = plain(shlex.join(("kubectl", *self.words)))
        return line if self.manifest is None else f"{line} <<'END'\n{json.dumps(self.manifest)}\nEND"


@dataclass(frozen=True)
class Row:
    """The result of one check."""

    check: str
    """Id of the check."""
    state: State
    found: str
    """What the cluster has; not OK: also what Windows nodes need, and why."""
    commands: tuple[Command, ...] = ()


def ok(check: str, found: str) -> Row:
    """Return a row without a fault."""
    return Row(check, State.OK, found)


def refused(check: str, found: str) -> Row:
    """Return a row with a fault that no command of this program mends."""
    return Row(check, State.REFUSED, found)


def unknown(check: str, found: str) -> Row:
    """Return a row about what the API does not show."""
    return Row(check, State.UNKNOWN, found)


def patch(kind: str, namespace: str, name: str, body: Mapping[str, Any], how: str = "strategic") -> Command:
    """Return the command that patches an object. how: strategic or merge."""
    return Command(("patch", kind, name, "--namespace", namespace, "--type", how, "--patch", json.dumps(body)))


def apply(manifest: Mapping[str, Any]) -> Command:
    """Return the command that applies an object."""
    return Command(("apply", "--filename", "-"), manifest)
