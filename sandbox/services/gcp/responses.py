"""JSON answers and errors in the format of Google's APIs (google.rpc.Status over HTTP)."""

import json
from typing import Any

from sandbox.services.calls import Answer, Codes, Refused, worded

CODES: Codes = {
    "anonymous": (401, "UNAUTHENTICATED"),
    "bad-token": (401, "UNAUTHENTICATED"),
    "expired": (401, "UNAUTHENTICATED"),
    "scope": (403, "PERMISSION_DENIED"),
    "denied": (403, "PERMISSION_DENIED"),
    "throttled": (429, "RESOURCE_EXHAUSTED"),
    "failed": (500, "INTERNAL"),
    "unavailable": (503, "UNAVAILABLE"),
    "INVALID_ARGUMENT": (400, "INVALID_ARGUMENT"),
    "FAILED_PRECONDITION": (400, "FAILED_PRECONDITION"),
    "NOT_FOUND": (404, "NOT_FOUND"),
}
LATER = {"retry-after": "1"}


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Return a JSON document as an answer."""
    sent = {"content-type": "application/json; charset=UTF-8"} | (headers or {})
    return Answer(status, json.dumps(value).encode(), sent)


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal, and its code."""
    status, code = worded(refused, CODES)
    error: dict[str, Any] = {"code": status, "message": refused.message, "status": code}
    if refused.why == "scope":
        reason = {"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "domain": "googleapis.com"}
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason}]
    return answer({"error": error}, status, LATER if status in (429, 503) else None), code
