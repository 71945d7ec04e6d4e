"""Unexpected exceptions: prints one line, and writes the traceback without secrets to a file."""

import json
import os
import re
import tempfile
import traceback
from pathlib import Path

_PATTERNS = Path(__file__).resolve().parents[2] / "cloud-init" / "redaction.json"
"""Patterns of secrets; machines redact their logs by the same file."""

_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIAL|ACCESS_KEY", re.IGNORECASE)
"""Names of environment variables whose values are secret."""


def report(error: BaseException) -> str:
    """Return a message that names the exception and a new file (0600, in the temp folder) with its traceback."""
    what = redacted("".join(traceback.format_exception_only(error)).strip())
    try:
        text = redacted("".join(traceback.format_exception(error)))
        handle, path = tempfile.mkstemp(prefix="mullion-fault-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except (OSError, RecursionError, MemoryError) as failure:
        return f"this is a fault in mullion: {what}; the details could not be written: {type(failure).__name__}"
    return f"this is a fault in mullion: {what}; the details are in {path}"


def redacted(text: str) -> str:
    """Return the text without secrets of the environment and without text that matches a pattern of secrets."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) > 5:
            text = text.replace(value, "[secret]")
    for row in json.loads(_PATTERNS.read_text("utf-8"))["patterns"]:
        text = re.sub(row["pattern"], r"\1[secret]", text)
    return text
