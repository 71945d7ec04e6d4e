"""Requests to the clouds' management APIs: what is tried again, and how an API refuses."""

import random
import time
from collections.abc import Callable

import httpx

from operations.console.exits import Exit, Stop

SECONDS = 60
"""Timeout of a connection and of each read."""
ATTEMPTS = 5
"""Attempts of one request that the cloud fails to answer, with pauses of 1, 2, 4 and 8 s."""
THROTTLED_ATTEMPTS = 12
"""Attempts of one request that the cloud throttles: about three minutes, because Google counts requests by the minute
("Compute Engine API rate limits"), as does Azure Resource Manager for some providers."""
LONGEST_PAUSE = 20.0
"""Longest pause of our own, as botocore's in its standard mode, in seconds."""
LONGEST_WAIT = 300.0
"""Longest time in a Retry-After that is waited for, in seconds; a longer one ends the request."""
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a request that may succeed later: those of azure-core's RetryPolicy."""


class ApiError(Exception):
    """A refusal by a cloud's API. status: of HTTP. code: the API's own error code.

    throttled: it says nothing about what was asked for, so nothing may be concluded from it.
    """

    def __init__(self, status: int, code: str, message: str, *, throttled: bool = False) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.status = status
        self.code = code
        self.throttled = throttled or status == httpx.codes.TOO_MANY_REQUESTS


class Sender:
    """Sends requests, and sends those again that the cloud throttles or fails to answer."""

    def __init__(self, refusal: Callable[[httpx.Response], ApiError]) -> None:
        """refusal: reads an answer that is no success."""
        self._refusal, self._client = refusal, httpx.Client(timeout=SECONDS)

    def send(self, make: Callable[[], httpx.Request]) -> httpx.Response:
        """Return the answer to a request. make: builds the request anew for each attempt, because a signature contains
        the time.

        Raises ApiError if the API refuses, Stop if it cannot be reached.
        """
        attempt = 0
        while True:
            attempt += 1
            request = make()
            try:
                answer = self._client.send(request)
            except httpx.HTTPError as error:
                if attempt >= ATTEMPTS:
                    raise Stop(Exit.FAILED, f"{request.url.host} cannot be reached: {error}") from error
                time.sleep(_pause(attempt))
                continue
            if answer.is_success:
                return answer
            error = self._refusal(answer)
            wait = _asked(answer)
            most = THROTTLED_ATTEMPTS if error.throttled else ATTEMPTS if answer.status_code in _AGAIN else 1
            if attempt >= most or wait > LONGEST_WAIT:
                raise error
            time.sleep(max(wait, _pause(attempt)))

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _pause(attempt: int) -> float:
    """Return the seconds before the next attempt: of several reapers not all at once."""
    return min(2.0 ** (attempt - 1), LONGEST_PAUSE) * random.uniform(0.5, 1.0)  # noqa: S311 # nosec B311 - no secret


def _asked(answer: httpx.Response) -> float:
    """Return the seconds that an answer asks to wait; 0 if it names none. Clouds send no date."""
    for name, unit in (("retry-after", 1.0), ("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001)):
        text = answer.headers.get(name, "")
        if text.isascii() and text.isdigit():
            return int(text) * unit
    return 0.0
