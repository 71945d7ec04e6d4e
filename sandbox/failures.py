"""Errors that a cloud's API returns without a mistake of the caller, and how often the provider retries them."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Retried:
    """An error that the provider retries: code, message, first and longest wait, most tries, and seconds in all."""

    code: str
    message: str
    first: float
    longest: float
    tries: int
    within: float

    def waits(self) -> Iterator[float]:
        """Yield the seconds before each retry until the provider gives up."""
        total = 0.0
        for number in range(self.tries):
            wait = min(self.longest, self.first * 2**number)
            total += wait
            if total > self.within:
                return
            yield wait


@dataclass(frozen=True)
class Failures:
    """Errors of one cloud.

    internal: code and message of an internal error. throttle: error of too many calls. unseen: error while a new
    identity is not visible to other services; unseen_by: class name of the type whose calls get it. capacity: error of
    a machine without capacity. reserved: error of an interface that is reserved for an ended machine (Azure alone).
    """

    internal: tuple[str, str]
    throttle: Retried
    unseen: Retried
    unseen_by: str
    capacity: Retried
    reserved: Retried | None = None

    def answer(self, kind: str) -> Retried:
        """Return the error of a fault kind in faults.RETRIED. Raises ValueError if the cloud has no such error."""
        answers = {"throttle": self.throttle, "unseen": self.unseen, "capacity": self.capacity}
        if answer := {**answers, "reserved": self.reserved}[kind]:
            return answer
        raise ValueError(f"this cloud has no error {kind!r}")
