"""Requests to the clouds' management APIs: what is tried again, and how an API refuses."""

import time
from collections.abc import Callable

import httpx

from operations.console.exits import Exit, Stop

SECONDS = 60
"""Timeout of a connection and of each read."""
ATTEMPTS = 5
"""Attempts of one request that the cloud throttles or fails to answer, with pauses of 1, 2, 4 and 8 s."""
_AGAIN = frozenset({429, 500, 502, 503, 504})


class ApiError(Exception):
    """A refusal by a cloud's API. status: of HTTP. code: the API's own error code."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.status = status
        self.code = code


class Sender:
    """Sends requests, and sends those again that the cloud throttles or fails to answer."""

    def __init__(
        self,
        refusal: Callable[[httpx.Response], ApiError],
        throttled: Callable[[ApiError], bool] = lambda _: False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """refusal: reads an answer that is no success. throttled: whether a refusal with another status is worth a
        further attempt.
        """
        self._refusal, self._throttled, self._pause = refusal, throttled, pause
        self._client = httpx.Client(timeout=SECONDS)

    def send(self, make: Callable[[], httpx.Request]) -> httpx.Response:
        """Return the answer to a request. make: builds the request anew for each attempt, because a signature contains
        the time.

        Raises ApiError if the API refuses, Stop if it cannot be reached.
        """
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1
            request = make()
            try:
                answer = self._client.send(request)
            except httpx.HTTPError as error:
                if last:
                    raise Stop(Exit.FAILED, f"{request.url.host} cannot be reached: {error}") from error
            else:
                if answer.is_success:
                    return answer
                error = self._refusal(answer)
                if last or not (answer.status_code in _AGAIN or self._throttled(error)):
                    raise error
            self._pause(2.0**attempt)
        raise AssertionError

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
