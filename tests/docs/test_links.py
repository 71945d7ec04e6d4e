"""Links between pages resolve, and every page can be reached from the index."""

from pathlib import Path

import pytest

from tests.docs import pages


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_relative_links_and_anchors_of_a_page_exist(page: Path) -> None:
    broken = []
    for link in pages.LINK.findall(pages.CODE.sub("", pages.prose(page))):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            broken.append(link)
    assert broken == []


def test_index_lists_every_page_of_docs() -> None:
    index = pages.ROOT / "docs" / "README.md"
    linked = {link.partition("#")[0] for link in pages.LINK.findall(pages.prose(index))}
    assert {path.name for path in (pages.ROOT / "docs").glob("*.md")} - {"README.md"} <= linked


def test_readme_is_short() -> None:
    assert len((pages.ROOT / "README.md").read_text("utf-8").splitlines()) <= 115
