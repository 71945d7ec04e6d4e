"""Text for messages: values as YAML on one line and without secrets, and the known word nearest to a typing mistake."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from enum import Enum
from typing import Any, cast

LONGEST = 60
"""Characters of a value that a message shows."""

_PLAIN = re.compile(r"[A-Za-z_./$*-][\w./:$%@+*=-]*(?<!:)")
"""Text that needs no quotes inside YAML's brackets."""


def shown(value: Any) -> str:
    """Return a value as YAML of at most LONGEST characters, without a URL's user and query, which may be secrets."""
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return "an empty value"
    if isinstance(value, bytes):
        return "a binary value"
    if isinstance(value, str):
        if value.startswith(("http://", "https://")):
            value = re.sub(r"(?<=//)[^/@]*@", "...@", re.sub(r"\?.*", "?...", value))
        text = f"'{value}'" if value.isprintable() and "'" not in value else json.dumps(value, ensure_ascii=False)
    else:
        text = yaml_text(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def yaml_text(value: Any) -> str:
    """Return a value in YAML's flow style: true, null, 2026-12-24, [a, b], {key: value}."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, datetime):
        utc = value.utcoffset() is not None and not value.utcoffset()
        return value.replace(tzinfo=None).isoformat() + "Z" if utc else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return "{" + ", ".join(f"{yaml_text(key)}: {yaml_text(item)}" for key, item in items) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "[" + ", ".join(map(yaml_text, cast(Sequence[Any], value))) + "]"
    if isinstance(value, str):
        reserved = value.lower() in ("true", "false", "null", "yes", "no", "on", "off", "~")
        return value if _PLAIN.fullmatch(value) and not reserved else json.dumps(value, ensure_ascii=False)
    return str(value)


READABLE = 40
"""The most words that a message lists: kubelet and kube-apiserver know hundreds of flags and gates."""


def nearest(word: str, known: Sequence[str], cutoff: float = 0.6) -> str | None:
    """Return the known word most like this one, or None. Ignores case.

    Words with the same number of digits must have the same digits: windows-1803 is no misspelling of windows-2019.
    """
    digits = _digits(word)
    alike = [other for other in known if _digits(other) == digits or len(_digits(other)) != len(digits)]
    lower = {other.lower(): other for other in alike}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=cutoff)
    return lower[close[0]] if close else None


def _digits(word: str) -> list[str]:
    return sorted(filter(str.isdigit, word))


def known_words(word: str, known: Sequence[str]) -> str:
    """Say what to write instead of an unknown word: the nearest known one, else all of them, up to READABLE."""
    near = nearest(word, known)
    if near:
        return f"write {near}, or remove it"
    return f"remove it; known here: {', '.join(known)}" if len(known) <= READABLE else "remove it"
