"""Limits of calls a minute, counted in the cache of this process: several web servers each count their own."""

import time
from collections.abc import Callable

from django.core.cache import cache
from django.http import HttpRequest
from ninja.throttling import BaseThrottle

MINUTE = 60


class PerMinute(BaseThrottle):
    """Refuses calls above `most` in one minute of the clock, for each key.

    The library's own classes keep the state of a call in an object that threads share, so a call can count for another
    key; this class uses only the cache.
    """

    def __init__(self, what: str, key: Callable[[HttpRequest], str], most: int) -> None:
        self.what, self.key, self.most = what, key, most

    def allow_request(self, request: HttpRequest) -> bool:
        """Count a call. Return whether it is within the limit."""
        key = f"rate:{self.what}:{self.key(request)}:{int(time.time() // MINUTE)}"
        cache.add(key, 0, MINUTE)
        try:
            return cache.incr(key) <= self.most
        except ValueError:  # the cache dropped the key after `add`
            return True

    def wait(self) -> float:
        """Return the seconds until the next minute of the clock."""
        return MINUTE - time.time() % MINUTE
