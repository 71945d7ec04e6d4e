"""Reading the Markdown pages of the repository."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
ANCHOR = re.compile(r'<a id="([^"]+)"')

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("tests/*.md"),
        *ROOT.glob("lab/**/*.md"),
    ]
)


def name(path: Path) -> str:
    """Return a page's path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """Return a page's text without fenced code blocks."""
    return FENCE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page as GitHub makes them from headings, and those written as <a id>."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {slug(heading) for heading in headings} | set(ANCHOR.findall(path.read_text("utf-8")))


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading: lower case, punctuation dropped, spaces as hyphens."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def fences(path: Path) -> list[tuple[str, str]]:
    """Return each fenced block of a page as (language, text)."""
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [(language, text) for language, text in blocks]
