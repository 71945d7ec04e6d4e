"""`mullion new`: the file that it writes is valid and commented; what it refuses."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import Result

from components.stack_files.stack import EXAMPLES
from operations.commands.new import CLOUDS, WINDOWS
from operations.console.exits import Exit
from operations.stacks import target
from operations.stacks.paths import REPOSITORY
from operations.stacks.target import Target

Run = Callable[..., Result]
OPTIONS = ("mullion:cluster", "kubernetes", "owner", "protect", "network", "api", "control_plane", "linux", "windows")


def text_of(clone: Path, name: str) -> str:
    return (clone / "stacks" / f"Pulumi.{name}.yaml").read_text("utf-8")


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_new_writes_a_commented_file_that_can_be_planned(cloud: str, windows: str, clone: Path, mullion: Run) -> None:
    result = mullion("new", "team-a", "--cloud", cloud, "--windows", windows)
    assert result.exit_code == 0, result.output
    lines = text_of(clone, "team-a").splitlines()
    assert lines[0] == "# yaml-language-server: $schema=schema.json"
    for option in OPTIONS[1:]:
        [line] = [number for number, line in enumerate(lines) if line.strip().startswith(f"{option}:")]
        assert lines[line - 1].strip().startswith("#"), f"a comment stands above {option}"
    planned = mullion("plan", "team-a")
    assert planned.exit_code == 0, planned.output
    assert f"windows-{windows}" in planned.stdout
    warnings = re.findall(r"\[([a-z-]+)\]$", planned.stdout, re.MULTILINE)
    assert set(warnings) <= EXAMPLES or windows == "2019"


def test_new_takes_the_name_of_a_cloud_in_capitals(clone: Path, mullion: Run) -> None:
    assert mullion("new", "team-a", "--cloud", "AWS").exit_code == 0
    assert yaml.safe_load(text_of(clone, "team-a"))["config"]["mullion:cluster"]["cloud"] == "aws"


def test_new_prints_three_commands_for_the_new_stack(clone: Path, mullion: Run) -> None:
    printed = mullion("new", "team-a", "--cloud", "aws").stdout
    commands = [line.strip() for line in printed.splitlines() if line.startswith("  mullion ")]
    assert commands == ["mullion plan team-a", "mullion up team-a --sandbox", "mullion up team-a"]


def test_new_takes_version_and_region(clone: Path, mullion: Run) -> None:
    mullion("new", "team-a", "--cloud", "gcp", "--kubernetes", "1.36.4", "--region", "europe-north1")
    config = yaml.safe_load(text_of(clone, "team-a"))["config"]
    assert config["gcp:region"] == "europe-north1"
    assert config["mullion:cluster"]["kubernetes"] == "1.36.4"


@pytest.mark.parametrize("source", [path.stem.removeprefix("Pulumi.") for path in (REPOSITORY / "stacks").glob("*.y*")])
def test_new_copies_a_stack_with_its_comments_and_without_its_keys(source: str, clone: Path, mullion: Run) -> None:
    original = (REPOSITORY / "stacks" / f"Pulumi.{source}.yaml").read_text("utf-8")
    (clone / "stacks" / f"Pulumi.{source}.yaml").write_text(original + "encryptionsalt: v1:abc=\n")
    assert mullion("new", "team-a", "--from", source).exit_code == 0
    assert text_of(clone, "team-a") == original


def test_new_copies_a_stack_with_another_version_and_region(clone: Path, mullion: Run) -> None:
    mullion("new", "team-a", "--from", "small", "--kubernetes", "1.35.8", "--region", "us-east-1")
    config = yaml.safe_load(text_of(clone, "team-a"))["config"]
    assert (config["aws:region"], config["mullion:cluster"]["kubernetes"]) == ("us-east-1", "1.35.8")


def test_new_does_not_copy_encrypted_values(clone: Path, mullion: Run) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text() + "  aws:secretKey: {secure: abc}\n")
    result = mullion("new", "team-a", "--from", "small")
    assert result.exit_code == Exit.USAGE
    assert "aws:secretKey" in result.stderr


REFUSED = {
    "a name with capitals": (("Team", "--cloud", "aws"), "cluster-name"),
    "a name that is a path": (("../x", "--cloud", "aws"), "cluster-name"),
    "a name with a line break": (("a\n[", "--cloud", "aws"), "cluster-name"),
    "a version with a quote": (("team-a", "--cloud", "aws", "--kubernetes", '1"x'), "kubernetes"),
    "a region with a bracket": (("team-a", "--cloud", "aws", "--region", "[x"), "aws:region"),
    "an existing file": (("small", "--cloud", "aws"), "exists"),
    "no cloud": (("team-a",), "write --cloud aws"),
    "an unknown cloud": (("team-a", "--cloud", "ibm"), "--cloud ibm is unknown"),
    "an unknown Windows release": (("team-a", "--cloud", "aws", "--windows", "2016"), "--windows 2016 is unknown"),
    "an unknown version": (("team-a", "--cloud", "aws", "--kubernetes", "1.99.0"), "1.99.0"),
    "an impossible region": (("team-a", "--cloud", "aws", "--region", "Ireland"), "aws:region"),
    "a cloud beside a source": (("team-a", "--from", "small", "--cloud", "gcp"), "leave out --cloud"),
    "a source that does not exist": (("team-a", "--from", "smal"), "did you mean small"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_new_refuses_and_writes_nothing(case: str, clone: Path, mullion: Run) -> None:
    words, message = REFUSED[case]
    result = mullion("new", *words)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr
    assert [path.name for path in (clone / "stacks").iterdir()] == ["Pulumi.small.yaml"]


def test_new_refuses_the_name_of_a_stack_that_is_still_built(clone: Path, mullion: Run) -> None:
    target.remember("team-a", Target("sandbox"))
    result = mullion("new", "team-a", "--cloud", "aws")
    assert result.exit_code == Exit.REFUSED
    assert "mullion down team-a --sandbox" in result.stderr
