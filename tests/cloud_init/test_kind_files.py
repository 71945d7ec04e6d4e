"""Files of step kinds: a kind is in the file of the same name in the table, in Python and in PowerShell."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from components.machine.bundle import CLOUD_INIT
from components.node import kinds

TABLE = Path(kinds.__file__).parent
LINUX = CLOUD_INIT / "linux" / "kinds"
WINDOWS = CLOUD_INIT / "windows" / "kinds"


def files_of_the_table() -> dict[str, str]:
    """Return by kind the file's name without its ending."""
    row = re.compile(r'^    "([a-z-]+)": Kind\(', re.MULTILINE)
    return {kind: path.stem for path in TABLE.glob("*.py") for kind in row.findall(path.read_text())}


def files_on_linux() -> dict[str, str]:
    """Return by kind the module of its functions in the Linux executor's table."""
    row = re.compile(r'^    "([a-z-]+)": Kind\(\s*(\w+)\.', re.MULTILINE)
    return dict(row.findall((LINUX / "__init__.py").read_text()))


def files_on_windows() -> dict[str, str]:
    """Return by kind the file of Test-<Noun>Step."""
    function = re.compile(r"^function Test-(\w+)Step ", re.MULTILINE)
    nouns = {noun: path.stem for path in WINDOWS.glob("*.ps1") for noun in function.findall(path.read_text())}
    kind_of = {"".join(part.capitalize() for part in kind.split("-")): kind for kind in kinds.KINDS}
    return {kind_of[noun]: stem for noun, stem in nouns.items()}


def test_the_table_names_each_kind_in_one_file() -> None:
    assert files_of_the_table().keys() == kinds.KINDS.keys()


@pytest.mark.parametrize(("system", "files"), [("linux", files_on_linux()), ("windows", files_on_windows())])
def test_a_kind_is_in_the_file_of_the_table(system: str, files: Mapping[str, str]) -> None:
    table = files_of_the_table()
    assert files == {kind: table[kind] for kind, row in kinds.KINDS.items() if system in row.systems}


def test_each_file_of_kinds_has_a_kind() -> None:
    assert {path.stem for path in LINUX.glob("*.py")} == {"__init__", *files_on_linux().values()}
    assert {path.stem for path in WINDOWS.glob("*.ps1")} == set(files_on_windows().values())
