"""JSON answers and errors in the format of Key Vault and Resource Manager."""

import json
from typing import Any

from sandbox.services.calls import Answer, Codes, Refused, worded

JSON = {"content-type": "application/json; charset=utf-8"}


def answer(value: Any) -> Answer:
    """Return a JSON document as an answer."""
    return Answer(200, json.dumps(value).encode(), JSON)


def refusal(refused: Refused, codes: Codes, challenge: str) -> tuple[Answer, str]:
    """Return a refusal with a service's codes. challenge: WWW-Authenticate header for a missing or bad token."""
    status, code = worded(refused, codes)
    headers = JSON | ({"retry-after": "1"} if status in (429, 503) else {})
    headers |= {"www-authenticate": challenge} if status == 401 else {}
    return Answer(status, json.dumps({"error": {"code": code, "message": refused.message}}).encode(), headers), code
