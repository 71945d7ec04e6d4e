"""Policies of IAM, of buckets and of endpoints as JSON."""

import json
from collections.abc import Sequence
from typing import Any


def document(statements: Sequence[dict[str, Any]]) -> str:
    """Return a policy (IAM user guide, "Grammar of the IAM JSON policy language")."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
