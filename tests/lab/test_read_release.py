"""tools/read_release.py compared with the tables that exist: two minors, read from their Go modules."""

import pytest

from tools import read_release
from tools.read_release import Modules

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module", params=["1.36.3", "1.37.1"])
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def found(version: str) -> Modules:
    return Modules(version)


def test_tables_agree_with_the_sources(found: Modules, version: str) -> None:
    assert list(read_release.errors(found, version.rpartition(".")[0])) == []


def test_rows_for_a_minor_are_those_that_the_tables_gained_with_it(found: Modules, version: str) -> None:
    minor = version.rpartition(".")[0]
    before = f"1.{int(minor[2:]) - 1}"
    for table in read_release.tables(found, minor):
        printed = set[tuple[str, str, str, str]]()
        for row in table.changes(before, minor):
            head, _, names = row.partition(": ")
            kind, _, minors = head.rpartition(" ")
            first, _, last = minors.partition("-")
            printed |= {(kind, first, last, name) for name in names.split()}
        held = {
            (span.kind, span.first, before if span.last == before else "", name)
            for span in table.rows
            for name in span.names
            if span.first == minor or span.last == before
        }
        assert printed == held, f"{table.module}, {table.name}"


def test_a_name_that_a_table_lacks_is_an_error(found: Modules, version: str) -> None:
    minor = version.rpartition(".")[0]
    for table in read_release.tables(found, minor):
        lacking = read_release.Table(table.module, table.name, table.rows[1:], table.read)
        gone = table.held(minor).keys() - lacking.held(minor).keys()
        assert {error.split()[1] for error in lacking.errors(minor)} == gone
