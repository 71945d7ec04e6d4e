"""Outputs that docs/ci.md shows, and what of them differs between runs."""

import re

from tests.docs import pages

NAME = "ci-4711"
PAGE = pages.ROOT / "docs" / "ci.md"
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z"), "TIME"),
    (re.compile(r"\d+\.\d s\b"), "SECONDS"),
    (re.compile(r'time="[\d.]+"'), "SECONDS"),
    (re.compile(r"\b(\d+d \d\dh|\d+h \d\dm|\d+m|\d+s)(?=\s| \|)"), "SPAN"),
    (re.compile(r"USD [\d.,]+"), "USD"),
    (re.compile(r"\b\d{12}\b"), "ACCOUNT"),
    (re.compile(r" +"), " "),
)
"""What differs between runs: moments, durations, sums that grow with them, the sandbox's account, widths of columns."""


def lines(text: str) -> list[str]:
    """Return a text's lines without what differs between runs."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return [line.strip() for line in text.splitlines()]


def shown(beginning: str) -> list[str]:
    """Return the output that the page shows below a command, or in the block that begins with this text."""
    [block] = [text for _, text in pages.fences(PAGE) if text.lstrip().startswith(beginning)]
    found = lines(block)
    return found[1:] if beginning.startswith("$ ") else found


def lacking(page: list[str], printed: str) -> list[str]:
    """Return the lines of the page that are not printed, in this order; lines of progress may be between them."""
    left = iter(lines(printed))
    return [line for line in page if line and line not in left]
