"""JSON requests with a bearer token: the management APIs of Azure and Google Cloud."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx

from operations.clouds.api import ApiError, Sender
from operations.console.exits import Exit, Stop


def printed(command: tuple[str, ...], missing: str) -> Any:
    """Return the JSON that a cloud's command line prints.

    Raises Stop if it fails. missing: message if it is not installed.
    """
    if not shutil.which(command[0]):
        raise Stop(Exit.USAGE, missing)
    try:
        done = _ran(command)
    except subprocess.TimeoutExpired:
        raise Stop(Exit.USAGE, f"{' '.join(command[:3])}: no answer in 60 s") from None
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip() or "it printed no JSON").splitlines()[-1]
        raise Stop(Exit.USAGE, f"{' '.join(command[:3])}: {last}") from None


def succeeded(command: Sequence[str]) -> bool:
    """Run a command of a cloud's command line, and return whether it succeeded; false if it is not installed."""
    if not shutil.which(command[0]):
        return False
    try:
        return _ran(command).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of an installed command line. Raises TimeoutExpired."""
    words = [shutil.which(command[0]) or command[0], *command[1:]]
    return subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


_RATES = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"})
"""Reasons of Google's refusals because of too many requests: those that googleapiclient tries again, and that of
google.rpc.ErrorInfo."""


class Requests:
    """Requests of one account. renewed: returns a new token, once an API no longer accepts the last one: a removal may
    take longer than the hour of a token. endpoint: URL of all services in a test; else each request's own host.
    """

    def __init__(self, token: str, endpoint: str = "", renewed: Callable[[], str] | None = None) -> None:
        self._token, self._renewed, self._endpoint = token, renewed, endpoint.rstrip("/")
        self._sender = Sender(_refusal)
        self.close = self._sender.close

    def call(self, method: str, host: str, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Any:
        """Return the JSON of an answer; an empty object if it has no body."""
        url = (self._endpoint or f"https://{host}") + path

        def make() -> httpx.Request:
            headers = {"authorization": f"Bearer {self._token}"}
            return httpx.Request(method, url, params=query or None, headers=headers, json=body)

        try:
            answer = self._sender.send(make)
        except ApiError as error:
            if error.status != httpx.codes.UNAUTHORIZED or not self._renewed:
                raise
            self._token = self._renewed()
            answer = self._sender.send(make)
        return answer.json() if answer.content.strip() else {}

    def pages(self, host: str, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        """Yield all pages of a list of Google Cloud."""
        more: dict[str, str] = {}
        while True:
            page = self.call("GET", host, path, {**query, **more})
            yield page
            if not (following := page.get("nextPageToken")):
                return
            more = {"pageToken": following}

    def values(self, host: str, path: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the items of a list of Azure; the next page has an address of its own."""
        page = self.call("GET", host, path, query)
        while True:
            yield from page.get("value") or []
            if not (link := page.get("nextLink")):
                return
            url = httpx.URL(link)
            page = self.call("GET", host, url.path, dict(url.params))


def _refusal(answer: httpx.Response) -> ApiError:
    """Read code and message of a refusal; Google's newer APIs have a status, its older ones a reason.

    Compute Engine and Cloud Storage throttle with 403, by the reason alone.
    """
    try:
        error = answer.json()["error"]
        reasons = [each.get("reason") for each in (*(error.get("errors") or []), *(error.get("details") or []))]
        rate = next((each for each in reasons if each in _RATES), "")
        code = rate or error.get("status") or next(filter(None, reasons), "") or error.get("code")
        message = str(error.get("message") or "")
        return ApiError(answer.status_code, str(code or answer.status_code), message, throttled=bool(rate))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(answer.status_code, str(answer.status_code), answer.text[:200])
