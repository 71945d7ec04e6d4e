"""tools/go_programs.py: where the program of a pinned Go module is kept."""

from pathlib import Path

import pytest

from lab.go_toolchain import GoError
from tools import go_programs, pipeline_lint


@pytest.mark.parametrize(
    ("pins", "program"), [(go_programs.YAML_HOST, "pulumi-language-yaml"), (pipeline_lint.PINS, "actionlint")]
)
def test_each_version_has_a_place_of_its_own(pins: Path, program: str) -> None:
    place = go_programs.place(pins)
    assert place.name == program
    assert place.parent.name.startswith("v1.")


def test_a_program_that_is_built_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = go_programs.place(go_programs.YAML_HOST)
    program.parent.mkdir(parents=True)
    program.touch()
    said: list[str] = []
    assert go_programs.built(go_programs.YAML_HOST, said.append) == program
    assert said == []


def test_a_tool_without_its_module_is_an_error_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module a\n\ntool example.com/b/cmd/c\n")
    with pytest.raises(GoError, match=r"go get -tool example\.com/b/cmd/c"):
        go_programs.place(tmp_path)
