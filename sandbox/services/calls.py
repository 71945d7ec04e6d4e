"""What the services share: a call as it came, an answer, and a refusal that each service words in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Call:
    """One request. path and query are as sent (percent-encoded); names of headers are in lower case.

    machine: instance id that the listener belongs to, or empty. source: the caller's address.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    machine: str = ""
    source: str = ""


@dataclass(frozen=True)
class Answer:
    """What goes back. hops: how many routers its packets may pass (None: as many as the system says)."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hops: int | None = None


class Refused(Exception):
    """The service says no.

    why: a key of the service's table of codes, or a code itself. message: for people. status: where no table has it.
    """

    def __init__(self, why: str, message: str, status: int = 0) -> None:
        super().__init__(f"{why}: {message}")
        self.why = why
        self.message = message
        self.status = status


Codes = Mapping[str, tuple[int, str]]
"""Status and error code by reason; each service has the same reasons for credentials and signatures."""


def worded(refused: Refused, codes: Codes) -> tuple[int, str]:
    """Status and code of a refusal, as the service with these codes says it."""
    return codes.get(refused.why) or (refused.status or 400, refused.why)
