"""docs/requirements.md has a row for every requirement id that the repository cites."""

import re

from tools import requirements_page as page


def test_every_cited_id_has_a_row() -> None:
    missing = {name: files for name, files in page.citations().items() if name not in page.requirements()}
    assert missing == {}


def test_every_row_has_a_known_state_and_one_sentence() -> None:
    for name, row in page.requirements().items():
        assert row.keys() == {"state", "text"}, name
        assert row["state"] in page.STATES, name
        assert row["text"].endswith("."), name


def test_every_working_requirement_is_cited_except_those_listed() -> None:
    uncited = {name for name, row in page.requirements().items() if row["state"] == "works"} - page.citations().keys()
    assert uncited == {"NET-07", "OPS-11", "OS-08", "RUN-04"}


def test_ids_of_a_group_are_sorted() -> None:
    for rows in page.groups().values():
        assert list(rows) == sorted(rows)
        assert len({re.sub(r"-\d+", "", name) for name in rows}) == 1
