"""docs/windows-witnesses.md: each step of every Windows plan has one row, each row its witnesses or a reason."""

from collections import Counter

from tools import witnesses_page


def test_each_step_of_every_windows_plan_stands_in_exactly_one_row_and_no_row_names_another() -> None:
    named = Counter(name for row in witnesses_page.rows() for name in row.steps)
    assert sorted(named) == sorted(witnesses_page.steps())
    assert not [name for name, count in named.items() if count > 1]


def test_each_row_says_what_for_and_has_witnesses_or_the_reason_why_there_are_none() -> None:
    for row in witnesses_page.rows():
        assert row.does, row.steps
        assert row.witnesses or row.differs, row.steps


def test_each_witness_is_a_file_of_a_repository_whose_commit_was_read() -> None:
    used = {repository for row in witnesses_page.rows() for repository, _, _ in row.witnesses}
    assert used == set(witnesses_page.repositories())
    for row in witnesses_page.rows():
        for _, path, text in row.witnesses:
            assert "." in path.rpartition("/")[2], f"{path} is no file"
            assert text.strip(), path
