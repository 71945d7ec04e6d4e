"""What the services share: a call as it came, an answer, and a refusal that each service words in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


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


METADATA = "metadata"
"""The service that every cloud has: it knows a machine by its address, all others by a token or a signature."""


@dataclass(frozen=True)
class Target:
    """What a request is for. region is empty where only its signature says it; bucket and key are a store's."""

    service: str
    region: str = ""
    bucket: str = ""
    key: str = ""


class Front(Protocol):
    """The services of one cloud, over one world."""

    def target(self, call: Call) -> Target:
        """The service of a request, by its Host or by itself."""
        ...

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, Any]:
        """Id of the machine whose identity the call shows (empty: nobody's), and what `serve` takes of it."""
        ...

    def serve(self, call: Call, to: Target, caller: Any, now: float) -> Answer:
        """The answer; Refused where the service says no."""
        ...

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """A refusal in the service's own words, and its code."""
        ...
