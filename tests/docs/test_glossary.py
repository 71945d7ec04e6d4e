"""Pages and messages use the words of docs/glossary.md and of Kubernetes, not those that they replaced."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, name
from tests.operations.test_printed_commands import FILES, printed

REPLACED = re.compile(r"\b(surge|left in place|keeper|(?<!-)members-serial|(?<![.:])Stash)\b")
"""Words that users had to guess; not in names of Pulumi's types and of resources."""
ELSEWHERE = {"docs/glossary.md": "members-serial", "docs/pki.md": "Stash"}
"""Pages that explain a name that Pulumi's output shows."""


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) != "docs/proof-log.md"], ids=name)
def test_a_page_uses_no_replaced_word(page: Path) -> None:
    found = set(REPLACED.findall(page.read_text("utf-8")))
    assert found <= {ELSEWHERE.get(name(page), "")}


def test_no_message_uses_a_replaced_word() -> None:
    assert not [
        f"{path.relative_to(ROOT)}: {text}" for path in FILES for text in printed(path) if REPLACED.search(text)
    ]
