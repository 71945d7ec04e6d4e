"""Types that all services share: a request, an answer, and a refusal that each service words in its own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Call:
    """One request. path and query are percent-encoded as sent; header names are lower case.

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
    """One answer. hops: IP time to live of its packets (None: the system's default)."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hops: int | None = None


class Refused(Exception):
    """A refusal by the service.

    why: key of the service's table of codes, or an error code. message: for people. status: HTTP status if no table has
    it.
    """

    def __init__(self, why: str, message: str, status: int = 0) -> None:
        super().__init__(f"{why}: {message}")
        self.why = why
        self.message = message
        self.status = status


Codes = Mapping[str, tuple[int, str]]
"""HTTP status and error code by reason; every service has the same reasons for credentials and signatures."""


def worded(refused: Refused, codes: Codes) -> tuple[int, str]:
    """Return status and code of a refusal, by the table of one service."""
    return codes.get(refused.why) or (refused.status or 400, refused.why)


METADATA = "metadata"
"""The service that every cloud has. It knows a machine by its address; all others know it by a token or a signature."""


@dataclass(frozen=True)
class Target:
    """The service and resource of a request. region is empty if only the signature names it; bucket and key belong to
    stores.
    """

    service: str
    region: str = ""
    bucket: str = ""
    key: str = ""


class Front(Protocol):
    """The services of one cloud, on one cloud state."""

    def target(self, call: Call) -> Target:
        """Return the service of a request, by its Host header or its path."""
        ...

    def caller(self, call: Call, to: Target, now: float) -> tuple[str, Any]:
        """Return the id of the machine whose identity signs the call (empty: anonymous), and the data that `serve`
        needs of it.
        """
        ...

    def serve(self, call: Call, to: Target, caller: Any, now: float) -> Answer:
        """Return the answer. Raises Refused if the service refuses the call."""
        ...

    def refusal(self, to: Target, refused: Refused) -> tuple[Answer, str]:
        """Return a refusal in the service's format, and its error code."""
        ...
