"""Errors that a cloud's API returns without a mistake of the caller, and how often the provider retries them."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Retried:
    """An answer after which the real provider asks again: first and longest wait, and how long in all (seconds)."""

    code: str
    message: str
    first: float
    longest: float
    tries: int
    within: float

    def waits(self) -> Iterator[float]:
        """The waits until it gives up."""
        total = 0.0
        for number in range(self.tries):
            wait = min(self.longest, self.first * 2**number)
            total += wait
            if total > self.within:
                return
            yield wait


@dataclass(frozen=True)
class Failures:
    """What a cloud says when it fails by itself.

    internal: code and message of a failure of its own. throttle: of too many calls. unseen: of something new that other
    services do not see yet; unseen_by: class name of the type whose calls meet that.
    """

    internal: tuple[str, str]
    throttle: Retried
    unseen: Retried
    unseen_by: str

    def answer(self, kind: str) -> Retried:
        """The answer of a kind of RETRIED."""
        return {"throttle": self.throttle, "unseen": self.unseen}[kind]
