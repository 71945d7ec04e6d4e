"""Pages of the first run: their stack file, and what `mullion plan` and `mullion cost` print about it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from operations.__main__ import app
from operations.clouds import cloud_tables
from tests import clones
from tests.docs import pages

CLOUDS = ("aws", "azure", "gcp")
ENTRY = pages.ROOT / "docs" / "first-run.md"
HOUR = re.compile(r"(at least )?USD (\d+\.\d{4}) an hour")


def page(cloud: str) -> Path:
    return pages.ROOT / "docs" / f"first-run-{cloud}.md"


def stack_file(cloud: str) -> str:
    [text] = [text for language, text in pages.fences(page(cloud)) if language == "yaml"]
    return text


def outputs(cloud: str) -> dict[str, list[str]]:
    """Return the lines that a page shows below each command, without those that stand for more."""
    shown: dict[str, list[str]] = {}
    for _, text in pages.fences(page(cloud)):
        for part in re.split(r"^\$ mullion ", text, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            shown[command] = [line for line in lines if line != "..."]
    return shown


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Return a function: what a command prints about the stack file of a cloud's page."""
    clones.work_in(tmp_path, monkeypatch)

    def run(cloud: str, command: str) -> str:
        clones.write(tmp_path, "first", stack_file(cloud))
        ran = CliRunner().invoke(app, command.split())
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    return run


@pytest.mark.parametrize("command", ["plan first", "cost first"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_page_shows_what_plan_and_cost_print(cloud: str, command: str, printed: Callable[[str, str], str]) -> None:
    shown = outputs(cloud)[command]
    assert shown
    left = iter(printed(cloud, command).splitlines())
    assert [line for line in shown if line not in left] == []


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_page_and_the_entry_say_what_an_hour_and_a_day_cost(cloud: str, printed: Callable[[str, str], str]) -> None:
    found = HOUR.search(printed(cloud, "cost first").splitlines()[0])
    assert found
    bound, hour = found[1] or "", float(found[2])
    words = [f"{bound}USD {hour:.4f}", f"{bound}USD {hour * 24:.2f}"]
    assert f"**Cost**: {words[0]} an hour, {words[1]} a day" in " ".join(page(cloud).read_text("utf-8").split())
    [row] = [line for line in ENTRY.read_text("utf-8").splitlines() if f"({page(cloud).name})" in line]
    assert [cell.strip() for cell in row.split("|")[3:5]] == words


@pytest.mark.parametrize("cloud", CLOUDS)
def test_machines_of_a_page_are_counted_and_named_by_the_entry(cloud: str, printed: Callable[[str, str], str]) -> None:
    plan = printed(cloud, "plan first")
    machines = re.findall(r"^  [a-z-]+-0 .*$", plan, re.MULTILINE)
    assert f"`first: all {len(machines)} machines are ready`" in page(cloud).read_text("utf-8")
    sizes = [line.split()[3] for line in machines]
    [row] = [line for line in ENTRY.read_text("utf-8").splitlines() if f"({page(cloud).name})" in line]
    assert row.split("|")[2].strip() == f"2 x {sizes[0]}, {sizes[2]}" and sizes[0] == sizes[1]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_page_ends_with_the_commands_that_find_what_is_left(cloud: str) -> None:
    text = page(cloud).read_text("utf-8").partition("## 6. ")[2]
    assert f"mullion ls --by-tags {cloud}" in text
    assert f"\n{cloud_tables.CLOUDS[cloud].search_all}" in text


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_stack_file_of_a_page_ends_by_itself_and_is_open_to_one_address(cloud: str) -> None:
    cluster = yaml.safe_load(stack_file(cloud))["config"]["mullion:cluster"]
    assert (cluster["cloud"], cluster["expires"]) == (cloud, "2d")
    assert cluster["api"] == {"access": "public", "allow": ["203.0.113.7/32"]}
