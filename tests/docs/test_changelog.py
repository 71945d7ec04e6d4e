"""CHANGELOG.md: a merge that keeps the lines of both sides can bring back an entry that was moved or rewritten."""

from collections import Counter

from tests.docs.pages import ROOT


def test_no_entry_of_the_changelog_appears_twice() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    entries = Counter(line for line in lines if line.startswith("- "))
    assert [entry for entry, count in entries.items() if count > 1] == []
