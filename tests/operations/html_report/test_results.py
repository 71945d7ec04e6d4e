"""Results of tests that the HTML report reads."""

from pathlib import Path

from operations.html_report import results
from operations.verification.verdicts import as_json, as_junit
from tests.operations.commands.pages import ROWS


def test_junit_and_json_of_one_verify_give_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.xml").write_text(as_junit("small", ROWS))
    (tmp_path / "rows.json").write_text(as_json(ROWS))
    by_junit, by_json = (results.read(tmp_path / name) for name in ("rows.xml", "rows.json"))
    assert by_junit.rows == by_json.rows
    assert by_junit.counts == {"passed": 1, "failed": 1, "known limit": 1}
