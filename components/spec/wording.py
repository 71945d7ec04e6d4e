"""Values and words in messages: shortened, without secrets, with the nearest known word."""

import re
from difflib import get_close_matches
from enum import Enum
from typing import Any

LONGEST = 60
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """A value in few words, without what may be a secret in a URL: a user, a query."""
    if value is None:
        return "an empty value"
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        value = re.sub(r"(?<=//)[^/@]*@", "...@", re.sub(r"\?.*", "?...", value))
    text = repr(value.value if isinstance(value, Enum) else value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


READABLE = 40
"""So many words can be read in one message; programs know hundreds of flags and gates."""


def nearest(word: str, known: list[str]) -> str | None:
    """The known word most like the one written, whatever the case, if any is."""
    lower = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return lower[close[0]] if close else None


def known_words(word: str, known: list[str]) -> str:
    """What to write instead of an unknown word: the nearest known one, or all of them where they can be read."""
    near = nearest(word, known)
    if near:
        return f"write {near}, or remove it"
    return f"remove it; known here: {', '.join(known)}" if len(known) <= READABLE else "remove it"
